import { stringify } from 'yaml';
import { type Problem, UserError } from '../errors.js';
import { type FieldProblem, oneScreen, type Path, schemaProblems } from '../settings/issues.js';
import { settleLeftovers } from '../settings/leftovers.js';
import { applyOverrides, overrideName, overrideOf } from '../settings/overrides.js';
import { isMapping, valueAt } from '../settings/schema.js';
import { type ConfigSource, parseSource } from '../settings/yaml-source.js';
import { checkConfig } from './checks.js';
import { type Config, configSchema, resolveConfig } from './config.js';
import { findConfig, type ReadFile } from './file.js';
import type { TheirConfig } from './import/draft.js';
import {
  describeImport,
  type ImportedConfig,
  importConfig,
  isForeignConfig,
  originOf,
} from './import/import-config.js';
import { applyTheirOverrides } from './import/their-overrides.js';

export interface LoadedConfig {
  readonly config: Config;
  /** Path of the file that was read. */
  readonly file: string;
  /** What the user should know of: what an import changed, effects of overrides beyond what they say. */
  readonly notes: readonly string[];
  /** Present where the file is a config of another program: `config` is what a user could have written here. */
  readonly imported?: ImportedConfig;
  /**
   * Adds the place in the file (or the override) to problems that name a field of the config and were found later,
   * when the experiment was assembled.
   */
  locate(error: UserError): UserError;
}

export interface LoadConfigOptions {
  /** Path of a YAML file, or name of a config that comes with the package (`quickstart`). */
  readonly file: string;
  /** `key=value`, the value in YAML: `iterations=50`, `model.name=qwen3:8b`. */
  readonly overrides?: readonly string[];
  /** Reads a file as `readFileSync(path, 'utf8')` does. */
  readonly readFile?: ReadFile;
}

/** The first part of a problem's output: `file:line:column`, or the override. */
type Where = Pick<Problem, 'file' | 'line' | 'column'>;

/**
 * Reads a config, applies overrides, fills in defaults.
 * @throws UserError with all problems of the file: the place, field, value, alternatives and remedy of each.
 */
export function loadConfig(options: LoadConfigOptions): LoadedConfig {
  const { path: file, text } = findConfig(options.file, options.readFile);
  const source = parseSource(text, file);
  const { content, texts, depth, place, imported } = isForeignConfig(source.content)
    ? importedContent(source.content, source, options.overrides ?? [])
    : { ...ownContent(source), texts: options.overrides ?? [], imported: undefined };
  const { content: overridden, overrides } = applyOverrides(content, texts);
  const notes = settleLeftovers(content, overridden, overrides);
  const where = (path: Path, aim: 'key' | 'value'): Where => {
    const override = overrideOf(path, depth(path), overrides);
    return override === undefined ? place(path, aim) : { file: overrideName(override.text) };
  };
  return {
    config: validated(overridden, where),
    file,
    notes: imported === undefined ? notes : [...describeImport(imported, file), ...notes],
    ...(imported !== undefined && { imported: { ...imported, config: overridden } }),
    locate: (error) =>
      new UserError(
        error.problems.map((problem) =>
          problem.field === undefined || problem.file !== undefined
            ? problem
            : { ...where(problem.field.split('.'), 'value'), ...problem },
        ),
      ),
  };
}

/** What a file says, and where it says it. */
interface Content extends Pick<ConfigSource, 'depth' | 'place'> {
  readonly content: Record<string, unknown>;
}

function ownContent(source: ConfigSource): Content {
  const { content } = source;
  if (!isMapping(content)) throw new UserError(notMapping(content, source));
  return { content, depth: source.depth, place: source.place };
}

/** The same of a config of another program: a field stands where the key is that it was made of. */
function importedContent(written: TheirConfig, source: ConfigSource, texts: readonly string[]) {
  const { theirs, others } = applyTheirOverrides(written, texts);
  const placeOf = (key: string, aim: 'key' | 'value') => source.place(key.split('.'), aim);
  let imported: ImportedConfig;
  try {
    imported = importConfig(theirs);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(
      error.problems.map((problem) => ({ ...placeOf(problem.field ?? '', 'value'), ...problem })),
    );
  }
  const { config, notes } = imported;
  return {
    imported,
    content: config,
    texts: others,
    depth: (path: Path) => path.filter((_, i) => valueAt(path.slice(0, i + 1), config) !== undefined).length,
    // An environment names its options without the section they stand in.
    place: (path: Path, aim: 'key' | 'value') =>
      placeOf(originOf(notes, path) ?? originOf(notes, ['environment', 'options', ...path])!, aim),
  };
}

/**
 * Checks a config given as data and fills in its defaults.
 * @throws UserError with everything that is wrong with it.
 */
export function parseConfig(input: unknown): Config {
  return validated(input, () => ({}));
}

/** A resolved config as YAML, which `loadConfig` reads back to the same config. Keys stand in the schema's order. */
export function resolvedYaml(config: Config): string {
  const keys = Object.keys(configSchema.shape) as (keyof Config)[];
  const ordered = keys.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]]]));
  return stringify(Object.fromEntries(ordered), { aliasDuplicateObjects: false, lineWidth: 0 });
}

function validated(input: unknown, where: (path: Path, aim: 'key' | 'value') => Where): Config {
  const placed = ({ path, aim, problem }: FieldProblem): Problem => ({ ...where(path, aim), ...problem });
  const parsed = configSchema.safeParse(input);
  if (!parsed.success) throw new UserError(oneScreen(schemaProblems(parsed.error.issues, input).map(placed)));
  const config = resolveConfig(parsed.data);
  const problems = checkConfig(config);
  if (problems.length > 0) {
    throw new UserError(
      oneScreen(
        problems.map((problem) => ({ ...where(problem.field?.split('.') ?? [], 'value'), ...problem })),
      ),
    );
  }
  return config;
}

function notMapping(content: unknown, source: ConfigSource): Problem {
  return {
    ...source.place([], 'value'),
    message:
      content === null
        ? 'is empty: a config needs at least environment and model'
        : `is no config: it holds ${Array.isArray(content) ? 'a list' : 'a single value'} instead of keys and values`,
    remedy:
      'for example two lines: `environment: CartPole-v1` and `model: {provider: ollama, name: qwen3:8b}`',
  };
}
