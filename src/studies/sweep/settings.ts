/** Determines the settings of a sweep, which are combinations of values of its keys. */
import { createHash } from 'node:crypto';
import { UserError } from '../../base/errors.js';
import { plainName } from '../../base/files/files.js';
import { createGenerator, type RandomGenerator } from '../../base/random/generator.js';
import { type Values, valuesOf } from '../../base/settings/value-lists.js';
import { formatNumber } from '../../base/text/numbers.js';
import type { SweepConfig } from '../../config/many-runs.js';

export interface Setting {
  /** Name of the setting's directory. Depends only on its values, so that a larger sweep reuses existing runs. */
  readonly name: string;
  /** The value of each varying key as YAML text; `null` if the key is omitted. */
  readonly values: Readonly<Record<string, string>>;
}

export interface SweptKey {
  readonly key: string;
  readonly values: Values;
}

/** A sweep before its configs are loaded. */
export interface SweepKeys {
  readonly keys: readonly SweptKey[];
  /** Seeds of every setting; undefined if only the config's `seed` is used. */
  readonly seeds: readonly number[] | undefined;
  readonly fixed: readonly string[];
}

const mostSettings = 100_000;

/**
 * Combines the keys varied by the file's `sweep` section and by `key=value`; the latter takes precedence.
 * @throws UserError for keys that can't be swept, and for invalid lists
 */
export function parseSweep(section: SweepConfig | undefined, texts: readonly string[]): SweepKeys {
  const swept = new Map<string, Values>();
  const fixed = new Map<string, string>();
  const take = (key: string, source: string, text: string) => {
    const values = source === '' ? undefined : valuesOf(source, key);
    // If a key is repeated, the last value wins, as in `run`.
    swept.delete(key);
    fixed.delete(key);
    if (values === undefined) fixed.set(key, text);
    else swept.set(key, values);
  };
  for (const [key, value] of Object.entries(section?.keys ?? {})) {
    const source = Array.isArray(value)
      ? `choice(${value.map(sourceOf).join(',')})`
      : typeof value === 'string'
        ? value
        : JSON.stringify(value);
    take(key, source, `${key}=${source}`);
  }
  for (const text of texts) {
    const equals = text.indexOf('=');
    const key = text.slice(0, Math.max(0, equals)).trim();
    if (equals < 0) fixed.set(text, text);
    else take(key, text.slice(equals + 1).trim(), text);
  }
  const seeds = swept.get('seed');
  swept.delete('seed');
  refuseKeys([...swept.keys()]);
  return {
    keys: [...swept].map(([key, values]) => ({ key, values })),
    seeds: seeds === undefined ? undefined : seedsOf(seeds),
    fixed: [...fixed.values()],
  };
}

/** Writes a value from a file as YAML text: words unchanged, anything else as JSON. */
const sourceOf = (value: unknown): string =>
  typeof value === 'string' && /^(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z][\w.:/-]*[\w]$/i.test(value)
    ? value
    : JSON.stringify(value);

const reserved: Readonly<Record<string, string>> = {
  name: 'remove it: settings are named after their values',
  sweep: 'set sweep.method, sweep.keys and similar keys once: they apply to all settings',
  slurm: 'set slurm.tasks, slurm.time and similar keys once: they apply to all runs',
};

function refuseKeys(keys: readonly string[]): void {
  for (const key of keys) {
    const own = Object.keys(reserved).find((name) => key === name || key.startsWith(`${name}.`));
    if (own === undefined) continue;
    const hint = reserved[own]!;
    throw new UserError({ field: key, message: "can't be varied", hint });
  }
}

function seedsOf(values: Values): readonly number[] {
  const seeds = values.kind === 'list' ? values.items.map(Number) : [Number.NaN];
  const wrong = seeds.findIndex((seed) => !Number.isSafeInteger(seed) || seed < 0);
  if (wrong >= 0)
    throw new UserError({
      field: 'seed',
      message: 'must be a list of non-negative whole numbers',
      ...(values.kind === 'list' && { value: values.items[wrong] }),
      hint: 'write, for example, seed=1..10',
    });
  return [...new Set(seeds)];
}

/**
 * All settings of a sweep, in the order in which they run.
 * @throws UserError if the method doesn't support the values, or there are too many settings
 */
export function settingsOf(sweep: SweepConfig, keys: readonly SweptKey[]): readonly Setting[] {
  const combinations =
    sweep.method === 'random'
      ? drawnSettings(keys, sweep.samples!, sweep.seed)
      : everyCombination(listed(keys));
  const byName = new Map(combinations.map(settingOf).map((setting) => [setting.name, setting]));
  return [...byName.values()];
}

export const settingOf = (values: Setting['values']): Setting => ({ name: nameOf(values), values });

type Listed = readonly (readonly [key: string, items: readonly string[]])[];

function listed(keys: readonly SweptKey[]): Listed {
  return keys.map(({ key, values }) => {
    if (values.kind === 'list') return [key, values.items] as const;
    throw new UserError({
      field: key,
      message: 'is drawn from a range, but sweep.method=grid needs a list of values',
      hint: 'list its values, or set sweep.method=random sweep.samples=20',
    });
  });
}

function everyCombination(lists: Listed): readonly Readonly<Record<string, string>>[] {
  const size = lists.reduce((product, [, items]) => product * items.length, 1);
  if (size > mostSettings)
    throw new UserError({
      field: 'sweep',
      message: `the grid has ${size} settings; the maximum is ${mostSettings}`,
      hint: 'list fewer values, or draw some of them with sweep.method=random sweep.samples=100',
    });
  return lists.reduce<readonly Readonly<Record<string, string>>[]>(
    (settings, [key, items]) =>
      settings.flatMap((values) => items.map((item) => ({ ...values, [key]: item }))),
    [{}],
  );
}

/**
 * Draws settings. Each depends only on the seed and its index, so a larger sweep starts with a smaller one's settings.
 */
function drawnSettings(
  keys: readonly SweptKey[],
  samples: number,
  seed: number,
): readonly Readonly<Record<string, string>>[] {
  if (samples > mostSettings)
    throw new UserError({
      field: 'sweep.samples',
      message: `must be at most ${mostSettings}`,
      value: samples,
    });
  const possible = keys.reduce(
    (product, { values }) =>
      product * (values.kind === 'list' ? new Set(values.items).size : Number.POSITIVE_INFINITY),
    1,
  );
  if (possible < samples)
    throw new UserError({
      field: 'sweep.samples',
      message: `there are only ${possible} different settings`,
      value: samples,
      hint: `set sweep.samples=${possible}, or sweep.method=grid for all of them`,
    });
  const drawn = new Map<string, Readonly<Record<string, string>>>();
  // Draw in alphabetical order, so that the order of the keys doesn't matter.
  const ordered = keys.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  for (let i = 0; drawn.size < samples && i < 1000 * samples; i++) {
    const random = createGenerator(seed, [i]);
    const values = new Map(ordered.map(({ key, values }) => [key, draw(values, random)]));
    const setting = Object.fromEntries(keys.map(({ key }) => [key, values.get(key)!]));
    drawn.set(JSON.stringify([...values]), setting);
  }
  return [...drawn.values()];
}

function draw(values: Values, random: RandomGenerator): string {
  if (values.kind === 'list') return values.items[random.integers(0, values.items.length)]!;
  const { low, high } = values;
  const value =
    values.kind === 'uniform'
      ? random.uniform(low, high)
      : Math.exp(random.uniform(Math.log(low), Math.log(high)));
  return String(Number(value.toPrecision(6)));
}

/**
 * The `key=value` overrides of a setting; `null` removes the key. A part of a section that varies
 * as a whole is applied after the section, regardless of their order in the command.
 * @param fixed `key=value` overrides for all settings
 */
export function overridesOf({ values }: Setting, fixed: readonly string[] = []): readonly string[] {
  const depth = (key: string) => key.split('.').length;
  const own = Object.entries(values)
    .toSorted(([a], [b]) => depth(a) - depth(b))
    .map(([key, source]) => `${key}=${source === 'null' ? '' : source}`);
  const isPart = (text: string) => Object.keys(values).some((key) => text.startsWith(`${key}.`));
  return [...fixed.filter((text) => !isPart(text)), ...own, ...fixed.filter(isPart)];
}

/**
 * Example: `temperature-0.2_best-4`. Joins the keys, shortened to their last part if that is unique, and their values;
 * appends a hash if the name alone would be ambiguous.
 */
function nameOf(values: Setting['values']): string {
  const keys = Object.keys(values);
  if (keys.length === 0) return 'only';
  const short = (key: string) => key.slice(key.lastIndexOf('.') + 1);
  const isUnique = (key: string) => keys.filter((other) => short(other) === short(key)).length === 1;
  const parts = Object.entries(values).map(
    ([key, source]) => `${isUnique(key) ? short(key) : key}-${source}`,
  );
  const name = plainName(parts.join('_'), 'setting');
  // A value that looks like the next key would make two settings indistinguishable.
  const isPlain = (source: string) =>
    /^[\w.-]+$/.test(source) && !keys.some((key) => source.includes(`_${short(key)}-`));
  const isWhole = name.length <= longestName && Object.values(values).every(isPlain);
  if (isWhole) return name;
  const hash = createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 8);
  return `${name.replaceAll(/-{2,}/g, '-').slice(0, longestName).replace(/-$/, '')}-${hash}`;
}

const longestName = 80;

/** Formats a value; `(none)` for null, which omits the key. */
export const shownValue = (value: string | undefined): string =>
  value === 'null' ? '(none)' : (value ?? '');

/** Rounds numbers with four or more decimals, such as drawn ones, which would obscure the rest of a name. */
const rounded = (value: string): string =>
  /^-?\d*\.\d{4,}$/.test(value) ? formatNumber(Number(value), 3) : shownValue(value);

/** Example: `model.temperature=0.2, candidates=4`. */
export const settingName = ({ values }: Pick<Setting, 'values'>): string =>
  Object.entries(values)
    .map(([key, value]) => `${key}=${rounded(value)}`)
    .join(', ') || 'the config’s model';
