import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { messageOf, nearest, type Problem, UserError } from '../base/errors.js';
import { readRegularFile } from '../base/files/regular-file.js';
import { packageRoot } from '../base/package.js';
import { isMapping } from '../base/settings/schema.js';
import type { SettingsSource } from '../base/settings/settings.js';
import { type ConfigSource, parseSource } from '../base/settings/yaml-source.js';
import { formatBytes } from '../base/text/numbers.js';
import { isForeignConfig } from './import/import-config.js';

interface ConfigKind {
  readonly title: string;
  readonly command: string;
  /** Folder of the bundled configs, relative to `configs/`. */
  readonly folder: string;
  /** Keys by which a config of this kind is recognised. */
  readonly required: readonly string[];
  /** Hint for a file that is empty or isn't a mapping. */
  readonly sample: string;
}

export const configKinds = {
  experiment: {
    title: 'an experiment config',
    command: 'policyloop run',
    folder: '',
    required: ['environment', 'model'],
    sample: 'for example, `environment: CartPole-v1` and `model: {provider: ollama, name: qwen3:8b}`',
  },
  training: {
    title: 'a training config',
    command: 'policyloop finetune train',
    folder: 'training',
    required: ['model', 'dataset'],
    sample: 'for example, `model: package:models/tiny-improver` and `dataset: ./datasets/mine`',
  },
  agents: {
    title: 'an agent config',
    command: 'policyloop play',
    folder: 'agents',
    required: ['environment', 'episodes'],
    sample: 'start from a copy of configs/agents/cooking.yaml',
  },
  rl: {
    title: 'a reinforcement-learning config',
    command: 'policyloop finetune rl',
    folder: 'rl',
    required: ['model', 'environment', 'objective'],
    sample: 'start from a copy of configs/rl/bandit.yaml',
  },
} as const satisfies Readonly<Record<string, ConfigKind>>;

export type ConfigKindName = keyof typeof configKinds;

export const configKindNames = Object.keys(configKinds) as readonly ConfigKindName[];

/**
 * The kind that the content matches, if exactly one matches and it isn't the expected one. Ignores a match whose
 * required keys are a subset of another match's.
 */
function otherKind(
  content: Readonly<Record<string, unknown>>,
  expected: ConfigKindName,
): ConfigKindName | undefined {
  // A config with an agent is an agent config, whatever else it contains.
  if (isMapping(content.policy) && content.policy.kind === 'agent')
    return expected === 'agents' ? undefined : 'agents';
  const has = (key: string) => Object.hasOwn(content, key);
  // Reinforcement-learning configs for numeric policies have no model.
  if (has('algorithm') && !has('model')) return expected === 'rl' ? undefined : 'rl';
  const isOf = (kind: ConfigKindName) => configKinds[kind].required.every(has);
  const all = configKindNames.filter(isOf);
  const isPartOf = (kind: ConfigKindName, other: ConfigKindName) =>
    configKinds[kind].required.every((key) =>
      (configKinds[other].required as readonly string[]).includes(key),
    );
  const fitting = all.filter((kind) => !all.some((other) => other !== kind && isPartOf(kind, other)));
  return fitting.length === 1 && fitting[0] !== expected ? fitting[0] : undefined;
}

/** Reads a file as UTF-8; fails like `fs.readFileSync`. */
export type ReadFile = (path: string) => string;

interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

const largestBytes = 1_000_000;

export interface OpenedConfig extends SettingsSource {
  readonly path: string;
  readonly folder: string;
  readonly stem: string;
}

/**
 * Reads a config by its path, or by the name of a bundled one (`quickstart`).
 * @throws UserError if it isn't found (suggests similar names), is a folder, can't be read, isn't a YAML mapping,
 * or is another kind of config
 */
export function openConfig(
  kind: ConfigKindName,
  name: string,
  { cwd = '', readFile = readConfigFile }: { readonly cwd?: string; readonly readFile?: ReadFile } = {},
): OpenedConfig {
  const { path, text, ready } = findConfig(kind, name, cwd, readFile);
  const ours = parseSource(text, path);
  const source = isForeignConfig(ours.content) ? parseSource(text, path, 'pyyaml') : ours;
  const { content } = source;
  if (!isMapping(content)) throw new UserError(notMapping(kind, content, source));
  const other = ready === kind ? undefined : (ready ?? otherKind(content, kind));
  if (other !== undefined) {
    throw new UserError({
      file: path,
      message: `this is ${configKinds[other].title}, not ${configKinds[kind].title}`,
      hint: `use ${configKinds[other].command} ${name}`,
    });
  }
  return { ...source, content, path, folder: dirname(resolve(cwd, path)), stem: stemOf(path) };
}

/**
 * The kind of a config, by its folder if it is bundled, otherwise by keys that only one kind has.
 * @throws UserError if it can't be found, read or parsed
 */
export function kindOfConfig(name: string, cwd: string): ConfigKindName {
  const { path, text, ready } = findConfig('experiment', name, cwd, readConfigFile);
  if (ready !== undefined) return ready;
  const { content } = parseSource(text, path);
  if (!isMapping(content)) return 'experiment';
  const has = (key: string) => Object.hasOwn(content, key);
  if (has('dataset')) return 'training';
  if (has('algorithm') || has('objective')) return 'rl';
  if (has('player')) return 'agents';
  return otherKind(content, 'experiment') ?? (has('epochs') ? 'training' : 'experiment');
}

/** @returns the file; for a bundled config, also its kind */
function findConfig(
  kind: ConfigKindName,
  name: string,
  cwd: string,
  readFile: ReadFile,
): ConfigFile & { readonly ready?: ConfigKindName } {
  const file = name === '' ? 'missing' : tryRead(name, (path) => readFile(resolve(cwd, path)));
  if (typeof file === 'object') return file;
  for (const ready of [kind, ...configKindNames.filter((other) => other !== kind)]) {
    const own = withoutFolder(ready, name);
    if (!bundledConfigs(ready).includes(own)) continue;
    const bundled = tryRead(join(readyFolder(ready), `${own}.yaml`), readFile);
    if (typeof bundled === 'object') return { ...bundled, ready };
  }
  throw new UserError(file === 'folder' ? folderProblem(name, cwd) : missingProblem(kind, name, cwd));
}

function tryRead(path: string, readFile: ReadFile): ConfigFile | 'missing' | 'folder' {
  try {
    return { path, text: readFile(path) };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EISDIR') return 'folder';
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    throw new UserError({ file: path, message: `can't be read: ${messageOf(error)}` });
  }
}

const folderOf = (kind: ConfigKindName): string => configKinds[kind].folder;

/** Removes the kind's folder from a name: `rl/bandit` becomes `bandit`. */
const withoutFolder = (kind: ConfigKindName, name: string): string => {
  const folder = folderOf(kind);
  return folder !== '' && name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name;
};

const readyFolder = (kind: ConfigKindName) => join(packageRoot(), 'configs', folderOf(kind));

/** Names of the bundled configs of a kind, e.g. `quickstart`, `providers/openai`. */
export function bundledConfigs(kind: ConfigKindName = 'experiment'): readonly string[] {
  const others = configKindNames.filter((other) => other !== kind).map(folderOf);
  return readdirSync(readyFolder(kind), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length).split(sep).join('/'))
    .filter((name) => !others.includes(name.split('/')[0]!))
    .sort();
}

function readConfigFile(path: string): string {
  const stats = statSync(path);
  if (stats.isFile() && stats.size > largestBytes) {
    throw new UserError({
      file: path,
      message: `is too large for a config: ${formatBytes(stats.size)}`,
      hint: `pass the path of a YAML file of at most ${formatBytes(largestBytes)}`,
    });
  }
  if (stats.isDirectory()) return readFileSync(path, 'utf8');
  return readRegularFile(path, largestBytes).toString('utf8');
}

function folderProblem(name: string, cwd: string): Problem {
  const files = configsIn(resolve(cwd, name)).map((file) => join(name, file));
  return {
    file: name,
    message: 'is a folder, not a config',
    alternatives: files.slice(0, 12),
    hint: 'pass the path of a YAML file',
  };
}

const stemOf = (path: string) => basename(path, extname(path));

function missingProblem(kind: ConfigKindName, name: string, cwd: string): Problem {
  const folder = dirname(name);
  const neighbours = configsIn(resolve(cwd, folder));
  const bundled = bundledConfigs(kind);
  const stem = stemOf(name);
  const near = neighbours.find((file) => stemOf(file) === stem) ?? nearest(basename(name), neighbours);
  const nearBundled = bundled.find((config) => basename(config) === stem) ?? nearest(stem, bundled);
  const suggestion = near === undefined ? nearBundled : join(folder, near);
  return {
    file: name,
    message: 'no such file or bundled config',
    alternatives: bundled.filter((config) => !config.includes('/')),
    hint:
      suggestion === undefined
        ? 'pass the path of a YAML file, or one of these names'
        : `did you mean \`${suggestion}\`?`,
  };
}

function configsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((file) => /\.(ya?ml|json)$/.test(file))
      .sort();
  } catch {
    return [];
  }
}

function notMapping(kind: ConfigKindName, content: unknown, source: ConfigSource): Problem {
  const { required, sample } = configKinds[kind];
  return {
    ...source.place([], 'value'),
    message:
      content === null
        ? `is empty, but a config needs keys such as ${required.join(' and ')}`
        : `is not a config: it contains ${Array.isArray(content) ? 'a list' : 'a single value'} instead of keys and values`,
    hint: sample,
  };
}
