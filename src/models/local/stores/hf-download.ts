/** Downloads Hugging Face models into the cache. */
import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { messageOf, redact, UserError } from '../../../base/errors.js';
import { replaceFile } from '../../../base/files/files.js';
import { parseJson } from '../../../base/files/json-depth.js';
import { requireShortNames } from '../../../base/files/regular-file.js';
import { type EnvVars, type HfReference, hfCache, parseHfReference, repositoryFolder } from './hf-cache.js';

export interface DownloadHooks {
  /** Called with the total size in bytes and the number of files to download, not counting files in the cache. */
  readonly onStart?: (bytes: number, files: number) => void;
  readonly onBytes?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** The hub's description of a revision. The commit becomes part of a path, so it must be a hash. */
const revisionSchema = z.looseObject({
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  siblings: z.array(z.looseObject({ rfilename: z.string(), size: z.int().min(0) })),
});
type HubFile = z.output<typeof revisionSchema>['siblings'][number];

/** Files that are downloaded along with a model's weights. */
const otherFiles =
  /^(config|generation_config|tokenizer|tokenizer_config|chat_template|model\.safetensors\.index)\.json$|^chat_template\.jinja$|^tokenizer\.model$/;

/** Downloads a model, and returns its directory or GGUF file. @throws UserError, or the signal's reason if it aborts */
export async function pullModel(
  reference: string,
  env: EnvVars,
  { onBytes, onStart, signal }: DownloadHooks = {},
): Promise<string> {
  const parsed = parseHfReference(reference);
  const { file, repository, revision } = parsed;
  rejectOffline(reference, env);
  const folder = repositoryFolder(hfCache(env), repository);
  requireShortNames(path.join(path.basename(folder), revision, file ?? ''), { field: 'model' });
  const endpoint = (env.HF_ENDPOINT || 'https://huggingface.co').replace(/(?<!\/)\/+$/, '');
  const get = async (address: string): Promise<Response> => {
    const headers = env.HF_TOKEN ? { authorization: `Bearer ${env.HF_TOKEN}` } : {};
    const response = await fetch(`${endpoint}/${address}`, { headers, ...(signal && { signal }) });
    if (response.ok) return response;
    throw downloadError(reference, `${endpoint} returned HTTP ${response.status}`, response.status);
  };
  try {
    const answer = await get(`api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`);
    const { sha, siblings } = revisionSchema.parse(parseJson(await answer.text()));
    const chosenFiles = filesOf(parsed, siblings);
    const snapshot = path.join(folder, 'snapshots', sha);
    const missingFiles = chosenFiles.filter(({ rfilename }) => !existsSync(path.join(snapshot, rfilename)));
    onStart?.(
      missingFiles.reduce((sum, { size }) => sum + size, 0),
      missingFiles.length,
    );
    let bytes = 0;
    for (const { rfilename, size } of missingFiles) {
      const target = path.join(snapshot, rfilename);
      mkdirSync(path.dirname(target), { recursive: true });
      const { body } = await get(`${repository}/resolve/${sha}/${rfilename}`);
      const end = bytes + size;
      const countBytes = async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          bytes += chunk.length;
          onBytes?.(bytes);
          yield chunk;
        }
        if (bytes !== end) throw new Error(`${rfilename} is incomplete`);
      };
      await pipeline(body!, countBytes, createWriteStream(`${target}.incomplete`));
      renameSync(`${target}.incomplete`, target);
    }
    mkdirSync(path.join(folder, 'refs', path.dirname(revision)), { recursive: true });
    if (revision !== sha) replaceFile(path.join(folder, 'refs', revision), sha);
    return file === undefined ? snapshot : path.join(snapshot, chosenFiles[0]!.rfilename);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof UserError) throw error;
    if (error instanceof z.ZodError || error instanceof SyntaxError)
      throw downloadError(reference, `${endpoint} sent an unusable response`);
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
    const message = `the download failed: ${messageOf(error)}${cause}`;
    throw downloadError(reference, redact(message, [env.HF_TOKEN ?? '']));
  }
}

function downloadError(reference: string, message: string, status?: number): UserError {
  const place = { field: 'model', value: reference };
  if (status === 404)
    return new UserError({ ...place, message: `${message}: there is no such model, revision or file` });
  const isRestricted = status === 401 || status === 403;
  return new UserError({
    ...place,
    message: isRestricted ? `${message}: the model is restricted, or doesn't exist` : message,
    hint: isRestricted
      ? 'check its name, accept the licence on its page, and set HF_TOKEN to your token'
      : 'try again (complete files are kept), or set HF_ENDPOINT to a server that you trust',
  });
}

/** Selects the weights and related files at the top level of the repository, or all parts of one GGUF file. */
function filesOf({ repository, file }: HfReference, files: readonly HubFile[]): readonly HubFile[] {
  const shardMatch = file && /^(.*-)\d{5}(-of-\d{5}\.gguf)$/.exec(file);
  const chosenFiles = files.filter(({ rfilename: name }) => {
    if (file === undefined) return otherFiles.test(name) || /^model(-\d+-of-\d+)?\.safetensors$/.test(name);
    if (name === file || !shardMatch) return name === file;
    const [, start, end] = shardMatch;
    return (
      name.startsWith(start!) &&
      name.endsWith(end!) &&
      /^\d{5}$/.test(name.slice(start!.length, -end!.length))
    );
  });
  if (chosenFiles.some(({ rfilename: name }) => /\.(safetensors|gguf)$/.test(name))) return chosenFiles;
  const ggufs = files.map(({ rfilename }) => rfilename).filter((name) => /\.gguf$/i.test(name));
  throw new UserError({
    field: 'model',
    value: `hf:${repository}${file === undefined ? '' : `:${file}`}`,
    message:
      file === undefined
        ? 'this repository has neither model.safetensors nor its shards'
        : 'the repository has no such file',
    alternatives: ggufs.slice(0, 12).map((name) => `hf:${repository}:${name}`),
  });
}

function rejectOffline(reference: string, { HF_HUB_OFFLINE: offline }: EnvVars): void {
  if (offline === undefined || /^(0|false|no|off)?$/i.test(offline)) return;
  throw new UserError({
    field: 'HF_HUB_OFFLINE',
    value: offline,
    message: `can't pull ${reference}, because this variable turns off downloads`,
    hint: 'unset it',
  });
}
