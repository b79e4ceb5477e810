/** Groups runs that repeat the same experiment, and names the groups. */

import { closestMatch, UserError } from '../../base/errors.js';
import { groupBy } from '../../base/grouped.js';
import { isMapping } from '../../base/settings/schema.js';
import { isBaselineName } from '../../config/baselines.js';
import type { Config } from '../../config/config.js';
import { type ComparedRun, type ConfiguredRun, shortModelName, shortPath } from './compared-runs.js';

/** Runs that are equal except for the seed and immaterial settings; with `by`, runs with equal values of its keys. */
export interface RunGroup<T = ComparedRun> {
  readonly name: string;
  /** From oldest to newest. */
  readonly runs: readonly T[];
}

export interface TaskEnvironment {
  readonly id: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The groups of one environment; only runs of the same environment can be compared. */
export interface TaskGroups<T = ComparedRun> {
  /** The environment's id, plus its options if the same id occurs with different options. */
  readonly name: string;
  readonly environment: TaskEnvironment;
  readonly groups: readonly RunGroup<T>[];
  readonly nameKeys: readonly string[];
}

/** Values of a run's config by dotted key, as text; `model` is the model's name. */
export type Settings = ReadonlyMap<string, string>;

/** Keys that don't affect results or only identify the run, plus the seed; the environment is compared separately. */
const immaterialKey =
  /^(name|seed|record|environment)($|\.)|^evaluation\.workers$|^limits\.rejections$|^model\.((members|relay)\.\d+\.)?(concurrency|timeoutSeconds|maxRetries|maxRetryAfterSeconds|price(\..*)?|apiKeyEnv|keepAlive|device|threads)$/;

/** Priority of keys in group names. */
const keyPriority = [
  'model',
  'prompts.set',
  'model.',
  'prompts.',
  'policy.kind',
  'policy.',
  'memory.',
  'candidates',
  'corrections',
];

/** Keys that group names omit, because their values are clear without them. */
const bareKeys: ReadonlySet<string> = new Set(['model', 'prompts.set', 'name']);

type GroupedRun = Pick<ConfiguredRun, 'config' | 'manifest'>;

/** Caches the value derived from each run. */
export function cacheByRun<T extends object, V>(derive: (run: T) => V): (run: T) => V {
  const cache = new WeakMap<T, { readonly value: V }>();
  return (run) => {
    const cached = cache.get(run) ?? { value: derive(run) };
    cache.set(run, cached);
    return cached.value;
  };
}

/** Returns the settings by which a run can be grouped. */
export const settingsOf = cacheByRun(readSettings);

function readSettings({ config, manifest }: GroupedRun): Settings {
  const settings = new Map<string, string>([['model', shortModelName(manifest.model)]]);
  for (const [key, value] of flatten(config, '')) settings.set(key, value);
  if (isBaselineName(config.model.provider)) {
    // Baselines don't read prompts.
    for (const key of settings.keys()) if (key.startsWith('prompts.')) settings.delete(key);
  } else {
    settings.set('prompts.templates', manifest.prompts.slice(0, 10));
  }
  return settings;
}

function flatten(value: unknown, key: string): readonly (readonly [string, string])[] {
  if (value === undefined) return [];
  const isListOfSections = Array.isArray(value) && value.length > 0 && value.every(isMapping);
  if (isMapping(value) || isListOfSections) {
    return Object.entries(value).flatMap(([name, inner]) =>
      flatten(inner, key === '' ? name : `${key}.${name}`),
    );
  }
  return [[key, typeof value === 'string' ? value : JSON.stringify(value)]];
}

/** Returns the settings that define an experiment in its environment: those that affect results, except the seed. */
export const materialSettings = cacheByRun(
  (run: GroupedRun): Settings => new Map([...settingsOf(run)].filter(([key]) => !immaterialKey.test(key))),
);

const unsetMark = '–';

/** Returns the value of a key or of a whole section; `–` if it isn't set. */
export function settingOf(settings: Settings, key: string): string {
  const ownValue = settings.get(key);
  if (ownValue !== undefined) return ownValue;
  const inner = [...settings].filter(([name]) => name.startsWith(`${key}.`));
  if (inner.length === 0) return unsetMark;
  return inner
    .map(([name, value]) => `${name.slice(key.length + 1)} ${value}`)
    .toSorted()
    .join(' ');
}

/**
 * Groups runs of the same experiment, separately for each environment, in the order of their first runs.
 * @param by config keys whose values define the groups; if undefined, all settings that affect results, except the seed
 * @param extrasOf returns values of keys that aren't in the config, such as tags
 * @throws UserError for a key that no run has, and for `seed`
 */
export function groupRuns<T extends ConfiguredRun>(
  runs: readonly T[],
  by: readonly string[] | undefined,
  extrasOf: (run: T) => readonly (readonly [string, string])[] = () => [],
): readonly TaskGroups<T>[] {
  const allSettings = cacheByRun((run: T) => new Map([...settingsOf(run), ...extrasOf(run)]));
  if (by !== undefined) requireKeys(by, runs.map(allSettings));
  const groupOf = (run: T) =>
    by === undefined ? materialKey(run) : JSON.stringify(by.map((key) => settingOf(allSettings(run), key)));
  const tasks = groupBy(runs, ({ config }) => environmentKey(config));
  // For a module, the manifest contains a short name, whereas the config contains a path.
  const names = [...tasks.values()].map(([first]) => first!.manifest.environment);
  return [...tasks.values()].map((taskRuns, index): TaskGroups<T> => {
    const { id, options } = taskRuns[0]!.config.environment;
    const isUniqueName = names.filter((other) => other === names[index]).length === 1;
    const groups = [...groupBy(taskRuns, groupOf).values()];
    const settings = groups.map(([first]) => (by === undefined ? materialSettings : allSettings)(first!));
    const keys = by ?? namingKeys(settings);
    const labelKeys = (values: Settings) =>
      by === undefined ? keys.filter((key) => key === 'model' || settingOf(values, key) !== unsetMark) : keys;
    return {
      name: isUniqueName ? names[index]! : `${id} ${canonicalText(options)}`,
      environment: { id, options },
      nameKeys: keys,
      groups: groups.map((members, i) => ({
        name: labelKeys(settings[i]!)
          .map((key) => labelOf(key, settingOf(settings[i]!, key), keys.length === 1))
          .join(', '),
        runs: members.toSorted((a, b) => (a.manifest.created < b.manifest.created ? -1 : 1)),
      })),
    };
  });
}

/** Returns a string that is equal for runs of the same environment with the same options. */
export const environmentKeyOf = ({ config }: GroupedRun): string => environmentKey(config);

/** Returns a string that is equal for runs of the same experiment and seed, which count as one observation. */
export const runIdentity = (run: GroupedRun): string =>
  `${environmentKey(run.config)} ${materialKey(run)} ${run.manifest.seed}`;

const materialKey = (run: GroupedRun) => canonicalText(Object.fromEntries(materialSettings(run)));

const environmentKey = ({ environment: { id, options } }: Config) => `${id} ${canonicalText(options)}`;

/** Greedily chooses keys that distinguish all groups, by priority; not necessarily the smallest set. */
function namingKeys(groups: readonly Settings[]): readonly string[] {
  const keys = [...new Set(groups.flatMap((settings) => [...settings.keys()]))].toSorted(
    (a, b) => rank(a) - rank(b) || (a < b ? -1 : 1),
  );
  const groupCount = (chosen: readonly string[]) =>
    new Set(groups.map((settings) => JSON.stringify(chosen.map((key) => settingOf(settings, key))))).size;
  let chosen: readonly string[] = ['model'];
  for (const key of keys) if (groupCount([...chosen, key]) > groupCount(chosen)) chosen = [...chosen, key];
  return chosen;
}

function rank(key: string): number {
  const index = keyPriority.findIndex((one) => key === one || (one.endsWith('.') && key.startsWith(one)));
  return index < 0 ? keyPriority.length + (key === 'prompts.templates' ? 1 : 0) : index;
}

const labelOf = (key: string, value: string, isOnlyKey: boolean) =>
  isOnlyKey || bareKeys.has(key) ? shortPath(value) : `${key} ${shortPath(value)}`;

function requireKeys(by: readonly string[], settings: readonly Settings[]): void {
  const allKeys = [...new Set(settings.flatMap((own) => [...own.keys()]))].filter((key) => key !== 'seed');
  const missing = by.find((key) => !allKeys.some((one) => one === key || one.startsWith(`${key}.`)));
  if (missing === undefined) return;
  throw new UserError({
    field: '--by',
    message:
      missing === 'seed'
        ? "runs can't be grouped by this key, because figures are averages over seeds"
        : "none of these runs' configs has this key",
    value: missing,
    near: closestMatch(missing, allKeys),
    alternatives: allKeys.toSorted(),
  });
}

function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isMapping(one) ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1))) : one,
  );
}
