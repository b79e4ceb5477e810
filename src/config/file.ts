/** Finds and reads configs of every kind, by path or by the name of a bundled one. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { closestMatch, messageOf, UserError } from '../base/errors.js';
import { nearestFile } from '../base/files/files.js';
import { readRegularFile } from '../base/files/regular-file.js';
import { packageRoot } from '../base/package.js';
import { isMapping, valueAt } from '../base/settings/schema.js';
import type { SettingsSource } from '../base/settings/settings.js';
import { parseSource } from '../base/settings/yaml-source.js';
import { replacementFor } from '../environments/catalogue/versions.js';
import { isForeignConfig } from './import/import-config.js';

interface ConfigKind {
  readonly title: string;
  readonly command: string;
  /** Folder of the bundled configs, relative to `configs/`. */
  readonly folder: string;
  /** Hint for a file that is empty or isn't a mapping. */
  readonly sample: string;
}

export const configKinds = {
  experiment: {
    title: 'an experiment config',
    command: 'policyloop run',
    folder: '',
    sample: 'write, for example, `environment: CartPole-v1` and `model: {provider: ollama, name: qwen3:8b}`',
  },
  training: {
    title: 'a training config',
    command: 'policyloop finetune train',
    folder: 'training',
    sample: 'write, for example, `model: package:models/tiny-improver` and `dataset: ./datasets/mine`',
  },
  agents: {
    title: 'an agent config',
    command: 'policyloop play',
    folder: 'agents',
    sample: 'start from a copy of configs/agents/cooking.yaml',
  },
  rl: {
    title: 'a reinforcement-learning config',
    command: 'policyloop finetune rl',
    folder: 'rl',
    sample: 'start from a copy of configs/rl/bandit.yaml',
  },
} as const satisfies Readonly<Record<string, ConfigKind>>;

export type ConfigKindName = keyof typeof configKinds;

export const configKindNames = Object.keys(configKinds) as readonly ConfigKindName[];

/** The kind of a config, judging by its keys; undefined if they don't determine it. */
function kindIn(content: unknown): ConfigKindName | undefined {
  if (!isMapping(content)) return undefined;
  const has = (key: string) => Object.hasOwn(content, key);
  if (has('dataset')) return 'training';
  if (has('algorithm') || has('objective')) return 'rl';
  if (has('player') || valueAt(['policy', 'kind'], content) === 'agent') return 'agents';
  if (has('epochs')) return 'training';
  return has('environment') && has('model') ? 'experiment' : undefined;
}

/** Reads a file as UTF-8; throws like `fs.readFileSync`, or a UserError. */
export type ReadFile = (path: string) => string;

interface ConfigFile {
  readonly path: string;
  readonly text: string;
  /** The kind of the config, if it is bundled. */
  readonly bundledKind?: ConfigKindName;
}

export interface OpenedConfig extends SettingsSource {
  readonly path: string;
  readonly folder: string;
  readonly stem: string;
}

/**
 * Reads a config by its path, or by the name of a bundled one (`quickstart`).
 * @throws UserError if it isn't found (suggests a similar name), is a folder, can't be read, isn't a YAML mapping,
 * or is another kind of config
 */
export function openConfig(
  kind: ConfigKindName,
  name: string,
  { cwd = '', readFile = readConfigFile }: { readonly cwd?: string; readonly readFile?: ReadFile } = {},
): OpenedConfig {
  const { path, text, bundledKind } = findConfig(kind, name, cwd, readFile);
  const parsed = parseSource(text, path);
  const { content, place } = isForeignConfig(parsed.content) ? parseSource(text, path, '1.1') : parsed;
  if (!isMapping(content)) {
    const message = content === null ? 'is empty' : 'is not a config: it contains no keys and values';
    throw new UserError({ ...place([], 'value'), message, hint: configKinds[kind].sample });
  }
  const actualKind = bundledKind ?? kindIn(content) ?? kind;
  if (actualKind !== kind) {
    throw new UserError({
      file: path,
      message: `this is ${configKinds[actualKind].title}, not ${configKinds[kind].title}`,
      near: bundledKind && nearestFile(name, cwd, /\.ya?ml$/),
      hint: `use ${configKinds[actualKind].command} ${name}`,
    });
  }
  const isBundled = bundledKind !== undefined;
  return { content, isBundled, place, path, folder: dirname(resolve(cwd, path)), stem: stemOf(path) };
}

/**
 * The kind of a config, by its folder if it is bundled, otherwise by its keys; an experiment by default.
 * @throws UserError if it can't be found, read or parsed
 */
export function configKindOf(name: string, cwd: string): ConfigKindName {
  const { path, text, bundledKind } = findConfig('experiment', name, cwd, readConfigFile);
  return bundledKind ?? kindIn(parseSource(text, path).content) ?? 'experiment';
}

function findConfig(kind: ConfigKindName, name: string, cwd: string, readFile: ReadFile): ConfigFile {
  const file = name === '' ? undefined : tryRead(name, (path) => readFile(resolve(cwd, path)));
  if (file !== undefined) return file;
  for (const bundledKind of [kind, ...configKindNames.filter((other) => other !== kind)]) {
    const { folder } = configKinds[bundledKind];
    const localName = folder !== '' && name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name;
    if (!bundledConfigs(bundledKind).includes(localName)) continue;
    const path = join(bundledFolder(bundledKind), `${localName}.yaml`);
    return { path, text: readFile(path), bundledKind };
  }
  const bundledNames = bundledConfigs(kind);
  const stem = stemOf(name);
  const id = replacementFor(name)?.id ?? name;
  const alternatives = bundledNames.filter(
    (config) => environmentIn(join(bundledFolder(kind), `${config}.yaml`)) === id,
  );
  if (alternatives.length > 0)
    throw new UserError({
      file: name,
      message: 'this is an environment, not a config',
      alternatives,
      hint: `pass a config that uses it, or your own with \`environment: ${id}\``,
    });
  throw new UserError({
    file: name,
    message: 'no such file or bundled config',
    near:
      nearestFile(name, cwd, /\.ya?ml$/) ??
      bundledNames.find((config) => basename(config) === stem) ??
      closestMatch(stem, bundledNames),
    alternatives: bundledNames.filter((config) => !config.includes('/')),
    hint: 'pass the path of a YAML file, or the name of a bundled config',
  });
}

/** The id of the environment in the text of a bundled config. */
const environmentIn = (file: string) =>
  /^environment:\s+(?:\{ )?(?:id: )?([^\s,]+)/m.exec(readFileSync(file, 'utf8'))?.[1];

/** Reads a file; returns undefined if it doesn't exist. */
function tryRead(path: string, readFile: ReadFile): ConfigFile | undefined {
  try {
    return { path, text: readFile(path) };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const isFolder = code === 'EISDIR';
    throw new UserError({
      file: path,
      message: isFolder ? 'is a folder, not a config' : `can't be read: ${messageOf(error)}`,
      ...(isFolder && { hint: 'pass the path of a YAML file' }),
    });
  }
}

const bundledFolder = (kind: ConfigKindName) => join(packageRoot(), 'configs', configKinds[kind].folder);

/** Names of the bundled configs of a kind, e.g. `quickstart`, `providers/openai`. */
export function bundledConfigs(kind: ConfigKindName = 'experiment'): readonly string[] {
  const otherFolders: readonly string[] = configKindNames
    .filter((other) => other !== kind)
    .map((other) => configKinds[other].folder);
  return readdirSync(bundledFolder(kind), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length).split(sep).join('/'))
    .filter((name) => !otherFolders.includes(name.split('/')[0]!))
    .sort();
}

const maxBytes = 1_000_000;

const readConfigFile = (path: string): string =>
  statSync(path).isDirectory() ? readFileSync(path, 'utf8') : readRegularFile(path, maxBytes).toString();

const stemOf = (path: string) => basename(path, extname(path));
