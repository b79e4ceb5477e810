/** The Hugging Face cache: `models--ORG--NAME/refs/REVISION` has a commit id, and `snapshots/COMMIT/` has files. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { UserError } from '../../../base/errors.js';
import { readRegularFile } from '../../../base/files/regular-file.js';

export type EnvVars = Readonly<Record<string, string | undefined>>;

const hfScheme = 'hf:';

/** True if a path refers to a model in the cache rather than to a location on disk. */
export const isHfReference = (path: string): boolean => path.startsWith(hfScheme);

/** Parsed `hf:[ORG/]NAME[@REVISION][:FILE.gguf]`; a few old models have no organisation. */
export interface HfReference {
  readonly repository: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
  /** A GGUF file in the repository; undefined for its safetensors weights. */
  readonly file: string | undefined;
}

/** @throws UserError if the format is invalid */
export function parseHfReference(reference: string): HfReference {
  const match = /^hf:((?:[\w.-]+\/)?[\w.-]+)(?:@([\w./-]+))?(?::([^:]+\.gguf))?$/i.exec(reference);
  if (match === null || reference.split(/[/@:]/).some((part) => part === '..' || part === '.'))
    throw new UserError({
      field: 'model.path',
      value: reference,
      message: 'this is not the name of a Hugging Face model',
      alternatives: ['hf:ORG/NAME', 'hf:ORG/NAME@REVISION', 'hf:ORG/NAME:FILE.gguf'],
    });
  return { repository: match[1]!, revision: match[2] ?? 'main', file: match[3] };
}

/** Locates the cache folder as huggingface_hub does. */
export function hfCache(env: EnvVars): string {
  const { HF_HOME, HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, XDG_CACHE_HOME } = env;
  const home =
    HF_HOME ?? path.join(XDG_CACHE_HOME ?? path.join(env.HOME ?? homedir(), '.cache'), 'huggingface');
  return HF_HUB_CACHE ?? HUGGINGFACE_HUB_CACHE ?? path.join(home, 'hub');
}

export const repositoryFolder = (cache: string, repository: string): string =>
  path.join(cache, `models--${repository.replace('/', '--')}`);

/** Returns the directory or GGUF file of a cached model. @throws UserError if it isn't cached or its name is invalid */
export function hfModelPath(reference: string, env: EnvVars = process.env): string {
  const { repository, revision, file } = parseHfReference(reference);
  const cache = hfCache(env);
  const snapshot = snapshotOf(repositoryFolder(cache, repository), revision);
  const modelPath = snapshot && (file === undefined ? snapshot : path.join(snapshot, file));
  const requiredFile = file === undefined ? 'config.json' : '';
  if (modelPath !== undefined && existsSync(path.join(modelPath, requiredFile))) return modelPath;
  throw new UserError({
    field: 'model.path',
    value: reference,
    message: `the Hugging Face cache (${cache}) doesn't contain this model`,
    alternatives: listHfModels(env)
      .slice(0, 12)
      .map((model) => model.reference),
    hint: `download it: \`policyloop models pull ${reference}\`, or set HF_HUB_CACHE to the folder of the cache`,
  });
}

function snapshotOf(folder: string, revision: string): string | undefined {
  const ref = path.join(folder, 'refs', ...revision.split('/'));
  const isRef = statSync(ref, { throwIfNoEntry: false })?.isFile() ?? false;
  const commit = isRef ? readRegularFile(ref, 1000).toString('utf8').trim() : revision;
  const snapshot = path.join(folder, 'snapshots', commit);
  return /^[\w.-]+$/.test(commit) && existsSync(snapshot) ? snapshot : undefined;
}

export interface CachedModel {
  readonly reference: string;
  readonly path: string;
}

/** Lists cached models with safetensors weights or GGUF files, from the cached `main` revision of each repository. */
export function listHfModels(env: EnvVars): readonly CachedModel[] {
  const cache = hfCache(env);
  if (!existsSync(cache)) return [];
  return readdirSync(cache)
    .sort()
    .flatMap((name): CachedModel[] => {
      const match = /^models--(.+)$/.exec(name);
      const snapshot = match && snapshotOf(path.join(cache, name), 'main');
      if (!match || !snapshot) return [];
      const reference = hfScheme + match[1]!.replace('--', '/');
      const files = readdirSync(snapshot);
      const ggufs = files.filter((file) => /\.gguf$/i.test(file) && !/-0000[2-9]-of-/.test(file));
      const isModel = files.includes('config.json') && files.some((file) => file.endsWith('.safetensors'));
      return [
        ...(isModel ? [{ reference, path: snapshot }] : []),
        ...ggufs
          .sort()
          .map((file) => ({ reference: `${reference}:${file}`, path: path.join(snapshot, file) })),
      ];
    });
}
