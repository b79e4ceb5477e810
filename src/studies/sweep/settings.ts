/** Determines the settings of a sweep, which are combinations of values of its keys. */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { UserError } from '../../base/errors.js';
import { plainName } from '../../base/files/files.js';
import { createGenerator, type RandomGenerator } from '../../base/random/generator.js';
import { parseValues, type ValueSource } from '../../base/settings/value-lists.js';
import { formatNumber, plural } from '../../base/text/numbers.js';
import type { BaselineName } from '../../config/baselines.js';
import type { Config } from '../../config/config.js';
import type { SweepConfig } from '../../config/many-runs.js';

export interface Setting {
  /** Name of the setting's directory. Depends only on its values, so that a larger sweep reuses existing runs. */
  readonly name: string;
  /** The value of each varying key as YAML text; `null` if the key is omitted. */
  readonly values: Readonly<Record<string, string>>;
}

export interface SweepSetting extends Setting {
  /** Resolved config; each run has its own seed. */
  readonly config: Config;
  /** The search that replaces the config's model, if any. */
  readonly baseline: BaselineName | null;
  /** Names of the baselines to compare this setting with. */
  readonly comparedWith: readonly string[];
}

export interface SweptKey {
  readonly key: string;
  readonly values: ValueSource;
}

/** A sweep before its configs are loaded. */
export interface ParsedSweep {
  readonly keys: readonly SweptKey[];
  /** Seeds of every setting; undefined if only the config's `seed` is used. */
  readonly seeds: readonly number[] | undefined;
  readonly fixedOverrides: readonly string[];
}

/**
 * Combines the keys varied by the file's `sweep` section and by `key=value`; the latter takes precedence.
 * @throws UserError for keys that can't be swept, and for invalid lists
 */
export function parseSweep(section: SweepConfig | undefined, texts: readonly string[]): ParsedSweep {
  const sectionTexts = Object.entries(section?.keys ?? {}).map(
    ([key, value]) => `${key}=${sourceText(value)}`,
  );
  // If a key is repeated, the last value wins, as in `run`.
  const textByKey = new Map([...sectionTexts, ...texts].map((text) => [keyOf(text), text]));
  const keys: SweptKey[] = [];
  const fixedOverrides: string[] = [];
  let seeds: readonly number[] | undefined;
  for (const [key, text] of textByKey) {
    const values = text.includes('=') ? parseValues(text.slice(text.indexOf('=') + 1), key) : undefined;
    if (values === undefined) fixedOverrides.push(text);
    else if (key === 'seed') seeds = seedsOf(values);
    else {
      const hint = fixedSections[key.split('.', 1)[0]!];
      if (hint !== undefined) throw new UserError({ field: key, message: "can't be varied", hint });
      keys.push({ key, values });
    }
  }
  return { keys, seeds, fixedOverrides };
}

/** Sections that can't vary, with hints. */
const fixedSections: Readonly<Record<string, string>> = {
  name: 'remove it: settings are named after their values',
  sweep: 'set sweep.method, sweep.keys and similar keys once: they apply to all settings',
  slurm: 'set slurm.tasks, slurm.time and similar keys once: they apply to all runs',
};

const keyOf = (text: string): string => text.split('=', 1)[0]!.trim();

/** Formats a value of the `sweep` section as it is written on the command line. */
function sourceText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  const list = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  return `choice(${list.slice(1, -1)})`;
}

function seedsOf(values: ValueSource): readonly number[] {
  const seeds = values.kind === 'list' ? [...new Set(values.items.map(Number))] : [Number.NaN];
  if (seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0)) return seeds;
  throw new UserError({
    field: 'seed',
    message: 'must be a list of non-negative whole numbers',
    hint: 'write, for example, seed=1..10',
  });
}

const maxSettings = 100_000;

/**
 * Returns the distinct settings of a sweep, in the order in which they run.
 * @throws UserError if the method doesn't support the values, or too many settings are requested
 */
export function sweepSettings(
  { method, samples = 0, seed }: SweepConfig,
  keys: readonly SweptKey[],
): readonly Setting[] {
  const gridSize = keys.reduce(
    (product, { values }) =>
      product * (values.kind === 'list' ? new Set(values.items).size : Number.POSITIVE_INFINITY),
    1,
  );
  if (samples > gridSize)
    throw new UserError({
      field: 'sweep.samples',
      message: `there ${gridSize === 1 ? 'is' : 'are'} only ${plural(gridSize, 'different setting')}`,
      value: samples,
      hint: `set sweep.samples=${gridSize}, or sweep.method=grid for all of them`,
    });
  const count = method === 'random' ? samples : gridSize;
  if (count > maxSettings && Number.isFinite(count))
    throw new UserError({
      field: method === 'random' ? 'sweep.samples' : 'sweep',
      message: `there are ${count} settings; the maximum is ${maxSettings}`,
      hint:
        method === 'random'
          ? `set sweep.samples=${maxSettings} or fewer`
          : 'list fewer values, or draw some settings with sweep.method=random sweep.samples=100',
    });
  const settings = new Map<string, Setting>();
  const add = (values: Setting['values']) => {
    const setting = createSetting(values);
    settings.set(setting.name, setting);
  };
  if (method === 'grid') for (const values of everyCombination(keys)) add(values);
  // Each setting depends only on the seed and its index, so a larger sweep starts with a smaller one's settings.
  for (let i = 0; settings.size < samples && i < 1000 * samples; i++)
    add(drawSetting(keys, createGenerator(seed, [i])));
  return [...settings.values()];
}

export const createSetting = (values: Setting['values']): Setting => ({ name: nameOf(values), values });

function everyCombination(keys: readonly SweptKey[]): readonly Setting['values'][] {
  return keys.reduce<readonly Setting['values'][]>(
    (settings, { key, values }) => {
      if (values.kind === 'list')
        return settings.flatMap((own) => values.items.map((item) => ({ ...own, [key]: item })));
      throw new UserError({
        field: key,
        message: 'is drawn from a range, but sweep.method=grid needs a list of values',
        hint: 'list its values, or set sweep.method=random sweep.samples=20',
      });
    },
    [{}],
  );
}

function drawSetting(keys: readonly SweptKey[], random: RandomGenerator): Setting['values'] {
  // Draw in alphabetical order, so that the order of the keys doesn't matter.
  const sortedKeys = keys.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const values = new Map(sortedKeys.map(({ key, values }) => [key, drawValue(values, random)]));
  return Object.fromEntries(keys.map(({ key }) => [key, values.get(key)!]));
}

function drawValue(values: ValueSource, random: RandomGenerator): string {
  if (values.kind === 'list') return values.items[random.integers(0, values.items.length)]!;
  const { low, high } = values;
  const value =
    values.kind === 'uniform'
      ? random.uniform(low, high)
      : Math.exp(random.uniform(Math.log(low), Math.log(high)));
  return String(Number(value.toPrecision(6)));
}

/**
 * Returns all overrides of a setting; the value `null` removes a key. Sections precede their keys, which override them.
 * @param fixedOverrides overrides for all settings
 */
export function overridesOf({ values }: Setting, fixedOverrides: readonly string[]): readonly string[] {
  const own = Object.entries(values).map(([key, source]) => `${key}=${source === 'null' ? '' : source}`);
  const depth = (text: string) => keyOf(text).split('.').length;
  return [...fixedOverrides, ...own].toSorted((a, b) => depth(a) - depth(b));
}

/**
 * Example: `temperature-0.2_best-4`. Joins the keys, shortened to their last part if that is unique, and their values;
 * appends a hash if the name alone would be ambiguous or too long.
 */
function nameOf(values: Setting['values']): string {
  const keys = Object.keys(values);
  if (keys.length === 0) return 'config';
  const shortKey = (key: string) => key.slice(key.lastIndexOf('.') + 1);
  const isUnique = (key: string) => keys.filter((other) => shortKey(other) === shortKey(key)).length === 1;
  const parts = Object.entries(values).map(
    ([key, source]) => `${isUnique(key) ? shortKey(key) : key}-${source}`,
  );
  const name = plainName(parts.join('_'), 'setting');
  // A value that looks like the next key would make two settings indistinguishable.
  const isPlain = (source: string) =>
    /^[\w.-]+$/.test(source) && !keys.some((key) => source.includes(`_${shortKey(key)}-`));
  const needsNoHash = name.length <= maxNameLength && Object.values(values).every(isPlain);
  if (needsNoHash) return name;
  const hash = createHash('sha256').update(JSON.stringify(values)).digest('hex').slice(0, 8);
  return `${name.replaceAll(/-{2,}/g, '-').slice(0, maxNameLength).replace(/-$/, '')}-${hash}`;
}

const maxNameLength = 80;

/** Formats a value; `(none)` for null, which omits the key. */
export const valueText = (value: string | undefined): string => (value === 'null' ? '(none)' : (value ?? ''));

/** Rounds numbers with four or more decimals, such as drawn ones, which would obscure the rest of a name. */
const roundedText = (value: string): string =>
  /^-?\d*\.\d{4,}$/.test(value) ? formatNumber(Number(value), 3) : valueText(value);

/** Example: `model.temperature=0.2, candidates=4`. */
export const settingName = ({ values }: Pick<Setting, 'values'>): string =>
  Object.entries(values)
    .map(([key, value]) => `${key}=${roundedText(value)}`)
    .join(', ') || "the config's model";
