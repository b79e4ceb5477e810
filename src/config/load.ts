import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { mapProblems, type Problem, UserError } from '../base/errors.js';
import { limitProblems, type Path, unknownKeyProblem } from '../base/settings/issues.js';
import { isMapping, type SettingsKind, valueAt } from '../base/settings/schema.js';
import {
  type FieldLocator,
  parseSettings,
  type SettingsSource,
  toSettings,
  withAbsolutePaths,
  withoutUnknownKeys,
} from '../base/settings/settings.js';
import { rejectLists } from '../base/settings/value-lists.js';
import { replacementFor } from '../environments/catalogue/versions.js';
import { configProblems } from './checks.js';
import { type Config, configSchema, expandShortForms, experimentKind, resolveConfig } from './config.js';
import { openConfig, type ReadFile } from './file.js';
import type { ForeignConfig } from './import/draft.js';
import {
  describeImport,
  type ImportedConfig,
  importConfig,
  isForeignConfig,
  originOf,
} from './import/import-config.js';
import { type SlurmConfig, type SweepConfig, slurmKind, slurmSchema, sweepKind } from './many-runs.js';

export interface LoadedConfig {
  readonly config: Config;
  readonly file: string;
  /** Notes for the user, e.g. on changes made by an import and side effects of overrides. */
  readonly notes: readonly string[];
  /** Present if the file is another program's config; its `config` is in our format and includes the overrides. */
  readonly imported?: ImportedConfig;
  /**
   * Adds the location in the file or override to field problems that are found only when the experiment is assembled.
   */
  locate(error: UserError): UserError;
}

export interface LoadConfigOptions {
  /** Path of a YAML file, or name of a bundled config (`quickstart`). */
  readonly file: string;
  /** `key=value` with the value in YAML: `iterations=50`, `model.name=qwen3:8b`. */
  readonly overrides?: readonly string[];
  /** Working directory for a relative `file` and for relative paths in overrides (default: the process's). */
  readonly cwd?: string;
  /** For configs of run directories: leaves their absolute paths unchanged, and ignores keys that no longer exist. */
  readonly asWritten?: boolean;
  /** Ignores a `sweep` section, for the runs of a sweep; otherwise a config with one is rejected. */
  readonly forSweep?: boolean;
  /** Reads a file like `readFileSync(path, 'utf8')`. */
  readonly readFile?: ReadFile;
}

/**
 * Reads a config, applies overrides and fills in defaults. Relative paths in the file are resolved against its
 * folder, relative paths in overrides against the working directory.
 * @throws UserError listing problems in the file or the overrides, each with its location and, if known, a hint
 */
export function loadConfig(options: LoadConfigOptions): LoadedConfig {
  const { cwd = '', overrides = [] } = options;
  const opened = openConfig('experiment', options.file, options);
  const { path: file } = opened;
  const source = options.asWritten ? withoutUnknownKeys(opened, experimentKind) : opened;
  rejectLists(overrides);
  const { imported, ...original } = isForeignConfig(source.content)
    ? importedContent(source.content, source)
    : { ...source, imported: undefined };
  const settings = toSettings(experimentKind, original, overrides);
  const { sweep: _sweep, ...runContent } = settings.content;
  const content = options.forSweep === true ? runContent : settings.content;
  const folder = options.asWritten === true ? undefined : source.folder;
  const config = withModulesFolder(settings.absolute(validate(content, settings.where), folder, cwd), folder);
  const replacement = replacementFor(config.environment.id);
  const notes = [...settings.notes, ...(replacement === undefined ? [] : [replacement.note])];
  return {
    config,
    file,
    notes: imported === undefined ? notes : [...describeImport(imported, file), ...notes],
    ...(imported !== undefined && { imported: { ...imported, config: settings.content } }),
    locate: settings.locate,
  };
}

type Options = Pick<LoadConfigOptions, 'file' | 'overrides' | 'cwd'>;

/**
 * Loads only the `sweep` section of a config; the rest may be incomplete without the sweep's values.
 * @param options overrides outside the section are ignored
 * @throws UserError with the locations of problems in the section
 */
export const loadSweep = (options: Options): SweepConfig | undefined =>
  loadSection(sweepKind, 'sweep', options)?.sweep;

/** Loads the `slurm` section, or its defaults if there is none. */
export const loadSlurm = (options: Options): SlurmConfig =>
  loadSection(slurmKind, 'slurm', options)?.slurm ?? slurmSchema.parse({});

function loadSection<Output>(kind: SettingsKind<Output>, name: string, options: Options): Output | undefined {
  const source = openConfig('experiment', options.file, options);
  const section = source.content[name];
  const texts = (options.overrides ?? []).filter((text) => /^\w+/.exec(text)?.[0] === name);
  const sectionSource = { ...source, content: section === undefined ? {} : { [name]: section } };
  const { absolute, content, where } = toSettings(kind, sectionSource, texts);
  if (content[name] === undefined) return undefined;
  return absolute(parseSettings(kind, content, where), source.folder, options.cwd ?? '');
}

/** Describes the problem with a key that experiments lack or that asks for several runs; undefined for other keys. */
export function unknownKeyHint(key: string): Pick<Problem, 'near' | 'hint'> | undefined {
  const hint = manyRunsHint(key);
  return hint === undefined ? unknownKeyProblem(key, experimentKind.json) : { hint };
}

/** Suggests a command if a key asks for several runs; undefined for other keys. */
const manyRunsHint = (key: string): string | undefined =>
  /^(sweep|repeats?|repetitions|seeds|trials|runs)$/.test(key)
    ? `use policyloop sweep${key === 'sweep' ? '' : ' CONFIG seed=1..3'} (with --dry-run for an estimate)`
    : undefined;

/** Rejects keys that ask for several runs. */
function rejectManyRuns(input: Readonly<Record<string, unknown>>, where: FieldLocator): void {
  // `repeats: behaviour` is a setting of one run.
  const asksForMany = (key: string) =>
    manyRunsHint(key) !== undefined && (key !== 'repeats' || Number(input[key]) > 0);
  const field = Object.keys(input).find(asksForMany);
  if (field === undefined) return;
  const hint = `${manyRunsHint(field)}, or add ${field}= to ignore it`;
  throw new UserError({ ...where([field], 'key'), field, message: 'this config describes many runs', hint });
}

/** Sets where Python looks for the module of `gymnasium:module:Env-v0`: by default, in the config's folder. */
function withModulesFolder(config: Config, folder: string | undefined): Config {
  const { environment } = config;
  const isNamed = /^gymnasium:[^:]+:/.test(environment.id) && environment.modules === undefined;
  return folder === undefined || !isNamed
    ? config
    : { ...config, environment: { ...environment, modules: resolve(folder) } };
}

/** Imports the settings of another program's config. The location of a field is the location of its original key. */
function importedContent(foreign: ForeignConfig, source: SettingsSource) {
  const locationOf = (key: string, target: 'key' | 'value') => source.place(key.split('.'), target);
  let imported: ImportedConfig;
  try {
    imported = importConfig(foreign);
  } catch (error) {
    throw mapProblems(error, (problem) => ({ ...locationOf(problem.field ?? '', 'value'), ...problem }));
  }
  const { notes } = imported;
  const config = inSchemaOrder(imported.config);
  return {
    imported,
    content: config,
    // Errors of environments name options without the prefix `environment.options`.
    place: (path: Path, target: 'key' | 'value') =>
      locationOf(originOf(notes, path) ?? originOf(notes, ['environment', 'options', ...path])!, target),
  };
}

/**
 * Checks a config given as data and fills in its defaults.
 * @param cwd base of relative paths; if omitted, they stay relative
 * @throws UserError listing the problems
 */
export function parseConfig(input: unknown, cwd?: string): Config {
  const config = validate(isMapping(input) ? expandShortForms(input) : input);
  return withAbsolutePaths(config, experimentKind.json, () => cwd);
}

/** A resolved config as YAML with keys in schema order; `loadConfig` is the inverse. */
export function resolvedYaml(config: Config): string {
  return stringify(inSchemaOrder(config), { aliasDuplicateObjects: false, lineWidth: 0 });
}

function inSchemaOrder(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sections = Object.keys(configSchema.shape).filter((section) => config[section] !== undefined);
  return Object.fromEntries(sections.map((section) => [section, config[section]]));
}

function validate(input: unknown, where: FieldLocator = () => ({})): Config {
  rejectOtherPolicies(input, where);
  if (isMapping(input)) rejectManyRuns(input, where);
  const config = resolveConfig(parseSettings(experimentKind, input, where));
  const problems = configProblems(config);
  if (problems.length === 0) return config;
  const locationOf = ({ field = '' }: Problem) => where(field === '' ? [] : field.split('.'), 'value');
  throw new UserError(limitProblems(problems.map((problem) => ({ ...locationOf(problem), ...problem }))));
}

/** Kinds of policies that no model can propose, and the commands that use them. */
const otherPolicies: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  agent: [
    'an agent has no parameters to propose',
    'use `policyloop play` (bundled: agents/cartpole, agents/cooking, …), or choose another kind',
  ],
  transformer: [
    'policies of this kind have too many parameters to propose',
    'train one with `policyloop finetune rl` (bundled: rl/cartpole-ppo, rl/halfcheetah-trpo), or choose another kind',
  ],
};

function rejectOtherPolicies(input: unknown, where: FieldLocator): void {
  const value = valueAt(['policy', 'kind'], input);
  const entry = otherPolicies[String(value)];
  if (entry === undefined) return;
  const [message, hint] = entry;
  const alternatives = ['linear', 'mlp', 'q-table', 'program', './my-policy.js'];
  const field = 'policy.kind';
  throw new UserError({ ...where(['policy', 'kind'], 'value'), field, value, message, alternatives, hint });
}
