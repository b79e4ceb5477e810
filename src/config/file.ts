import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, sep } from 'node:path';
import { messageOf, nearest, type Problem, UserError } from '../errors.js';
import { packageRoot } from '../package.js';

/** Reads a file as UTF-8; fails as `fs.readFileSync` does. */
export type ReadFile = (path: string) => string;

export interface ConfigFile {
  /** The path it was found at. */
  readonly path: string;
  readonly text: string;
}

/** Far above any config: what is larger is some other file. */
const largestBytes = 1_000_000;

/**
 * Finds a config by its path, or by the name of one that comes with the package (`quickstart`).
 * @throws UserError when there is none, with the nearest names; when it is a folder, can't be read, or is no config.
 */
export function findConfig(name: string, readFile: ReadFile = readConfigFile): ConfigFile {
  const file = tryRead(name, readFile);
  if (typeof file === 'object') return file;
  const path = join(packageRoot(), 'configs', `${name}.yaml`);
  const bundled = bundledConfigs().includes(name) ? tryRead(path, readFile) : undefined;
  if (typeof bundled === 'object') return bundled;
  throw new UserError(file === 'folder' ? folderProblem(name) : missingProblem(name));
}

function tryRead(path: string, readFile: ReadFile): ConfigFile | 'missing' | 'folder' {
  try {
    return { path, text: readFile(path) };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EISDIR') return 'folder';
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    throw new UserError({ file: path, message: `cannot be read: ${messageOf(error)}` });
  }
}

/** Names of the configs that come with the package, e.g. `quickstart`, `providers/openai`. */
export function bundledConfigs(): readonly string[] {
  const folder = join(packageRoot(), 'configs');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length).split(sep).join('/'))
    .sort();
}

function readConfigFile(path: string): string {
  const { size } = statSync(path);
  if (size > largestBytes) {
    throw new UserError({
      file: path,
      message: `is no config: it has ${(size / 1e6).toFixed(1)} MB`,
      remedy: 'give the path of a YAML file',
    });
  }
  return readFileSync(path, 'utf8');
}

function folderProblem(name: string): Problem {
  const files = configsIn(name).map((file) => join(name, file));
  return {
    file: name,
    message: 'is a folder, not a config',
    alternatives: files.slice(0, 12),
    remedy: 'give the path of a YAML file',
  };
}

function missingProblem(name: string): Problem {
  const folder = dirname(name);
  const neighbours = configsIn(folder);
  const bundled = bundledConfigs();
  const stem = (file: string) => basename(file, extname(file));
  const near = neighbours.find((file) => stem(file) === stem(name)) ?? nearest(basename(name), neighbours);
  const nearBundled =
    bundled.find((config) => basename(config) === stem(name)) ?? nearest(stem(name), bundled);
  const suggestion = near === undefined ? nearBundled : join(folder, near);
  return {
    file: name,
    message: 'no such config: neither a file nor the name of one that comes with policyloop',
    alternatives: bundled.filter((config) => !config.includes('/')),
    remedy:
      suggestion === undefined
        ? 'give the path of a YAML file, or one of the names'
        : `did you mean \`${suggestion}\`?`,
  };
}

/** YAML files directly in a folder; none where it can't be listed. */
function configsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((file) => /\.(ya?ml|json)$/.test(file))
      .sort();
  } catch {
    return [];
  }
}
