/** Which runs are repeats of one experiment, and what a person calls them. */

import { nearest, UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { isControl } from '../search/controls.js';
import { isMapping } from '../settings/schema.js';
import { type ComparedRun, shortModel, shortPath } from './compared-runs.js';

/** Runs that differ in their seed alone, or that `by` put together. */
export interface RunGroup {
  readonly name: string;
  /** Oldest first where a seed was played by several. */
  readonly runs: readonly ComparedRun[];
}

export interface TaskEnvironment {
  readonly id: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The runs of one environment: only they can be compared. */
export interface TaskGroups {
  /** The id, with its options where the same id comes with others. */
  readonly name: string;
  readonly environment: TaskEnvironment;
  readonly groups: readonly RunGroup[];
  /** Keys that tell the groups apart by their names. */
  readonly named: readonly string[];
}

/** Values of a run's config by dotted key, as text; `model` is the model's name. */
export type Settings = ReadonlyMap<string, string>;

/** Sections that change no result, or are the run's own; the environment has an axis of its own. */
const immaterial =
  /^(name|seed|repeats|record|render|environment)($|\.)|^evaluation\.workers$|^limits\.rejections$|^model\.(concurrency|timeoutSeconds|maxRetries|maxRetryAfterSeconds|price(\..*)?|apiKeyEnv|keepAlive|device|threads)$/;

/** What names groups first. */
const order = [
  'model',
  'prompts.set',
  'model.',
  'prompts.',
  'policy.',
  'memory.',
  'candidates',
  'corrections',
];

/** Keys whose values are names by themselves. */
const bare: ReadonlySet<string> = new Set(['model', 'prompts.set', 'name']);

/** Every value of the config. */
function allSettings({ config, manifest }: ComparedRun): Settings {
  const settings = new Map<string, string>([['model', shortModel(manifest.model)]]);
  for (const [key, value] of flatten(config, '')) settings.set(key, value);
  if (isControl(config.model.provider)) {
    // No control reads a prompt.
    for (const key of settings.keys()) if (key.startsWith('prompts.')) settings.delete(key);
  } else {
    settings.set('prompts.templates', manifest.prompts.slice(0, 10));
  }
  return settings;
}

function flatten(value: unknown, key: string): readonly (readonly [string, string])[] {
  if (value === undefined) return [];
  if (isMapping(value)) {
    return Object.entries(value).flatMap(([name, inner]) =>
      flatten(inner, key === '' ? name : `${key}.${name}`),
    );
  }
  return [[key, typeof value === 'string' ? value : JSON.stringify(value)]];
}

/** Those that make an experiment another one. */
export function materialSettings(run: ComparedRun): Settings {
  return new Map([...allSettings(run)].filter(([key]) => !immaterial.test(key)));
}

/** The value of a key, or of a whole section; `–` where there is none. */
export function settingOf(settings: Settings, key: string): string {
  const own = settings.get(key);
  if (own !== undefined) return own;
  const inner = [...settings].filter(([name]) => name.startsWith(`${key}.`));
  if (inner.length === 0) return '–';
  return inner
    .map(([name, value]) => `${name.slice(key.length + 1)} ${value}`)
    .toSorted()
    .join(' ');
}

/**
 * Groups runs that belong together, environments apart. In the order of their first runs.
 * @param by keys of the config whose values make the groups; undefined: everything but the seed
 * @throws UserError for a key that no run has
 */
export function groupRuns(
  runs: readonly ComparedRun[],
  by: readonly string[] | undefined,
): readonly TaskGroups[] {
  if (by !== undefined) requireKeys(by, runs);
  const tasks = groupedBy(runs, ({ config }) => environmentKey(config));
  const ids = [...tasks.values()].map(([first]) => first!.config.environment.id);
  return [...tasks.values()].map((own): TaskGroups => {
    const { id, options } = own[0]!.config.environment;
    const alone = ids.filter((other) => other === id).length === 1;
    const groups = [...groupedBy(own, (run) => groupKey(run, by)).values()];
    const settings = groups.map(([first]) => (by === undefined ? materialSettings : allSettings)(first!));
    const named = by ?? namingKeys(settings);
    return {
      name: alone ? id : `${id} ${canonical(options)}`,
      environment: { id, options },
      named,
      groups: groups.map((members, i) => ({
        name: named.map((key) => labelOf(key, settingOf(settings[i]!, key), named.length === 1)).join(', '),
        runs: members.toSorted((a, b) => (a.manifest.created < b.manifest.created ? -1 : 1)),
      })),
    };
  });
}

/** What tells whether two runs are of one experiment and one seed: then they are no two observations. */
export const identityOf = (run: ComparedRun): string =>
  `${environmentKey(run.config)} ${groupKey(run, undefined)} ${run.manifest.seed}`;

const groupKey = (run: ComparedRun, by: readonly string[] | undefined) => {
  if (by === undefined) return canonical(Object.fromEntries(materialSettings(run)));
  const settings = allSettings(run);
  return JSON.stringify(by.map((key) => settingOf(settings, key)));
};

const environmentKey = ({ environment: { id, options } }: Config) => `${id} ${canonical(options)}`;

/** The fewest keys whose values differ for all groups, the most telling first; always the model. */
function namingKeys(groups: readonly Settings[]): readonly string[] {
  const keys = [...new Set(groups.flatMap((settings) => [...settings.keys()]))].toSorted(
    (a, b) => rank(a) - rank(b) || (a < b ? -1 : 1),
  );
  const apart = (chosen: readonly string[]) =>
    new Set(groups.map((settings) => JSON.stringify(chosen.map((key) => settingOf(settings, key))))).size;
  let chosen: readonly string[] = ['model'];
  for (const key of keys) if (apart([...chosen, key]) > apart(chosen)) chosen = [...chosen, key];
  return chosen;
}

function rank(key: string): number {
  const found = order.findIndex((start) => key === start || (start.endsWith('.') && key.startsWith(start)));
  return found < 0 ? order.length + (key === 'prompts.templates' ? 1 : 0) : found;
}

const labelOf = (key: string, value: string, alone: boolean) =>
  alone || bare.has(key) ? shortPath(value) : `${key} ${shortPath(value)}`;

function requireKeys(by: readonly string[], runs: readonly ComparedRun[]): void {
  const known = new Set(runs.flatMap((run) => [...allSettings(run).keys()]));
  const sections = [...known].flatMap((key) =>
    key.split('.').map((_, i, parts) => parts.slice(0, i).join('.')),
  );
  const all = new Set(
    [...known, ...sections].filter((key) => key !== '' && key !== 'seed' && key !== 'repeats'),
  );
  for (const key of by) {
    if (all.has(key)) continue;
    const near = nearest(key, [...all]);
    throw new UserError({
      field: '--by',
      message:
        key === 'seed' || key === 'repeats'
          ? 'repeats are what the figures are taken over'
          : 'no config of these runs has this key',
      value: key,
      alternatives: near === undefined ? [...all].toSorted() : [near],
    });
  }
}

/** JSON with the keys in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isMapping(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

export function groupedBy<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
