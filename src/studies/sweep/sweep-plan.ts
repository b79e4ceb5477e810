/** Plans a sweep: a run for every setting and seed, each in its own directory. */
import { basename, extname, join, resolve } from 'node:path';
import { mapProblems } from '../../base/errors.js';
import { plainName } from '../../base/files/files.js';
import { plural } from '../../base/text/numbers.js';
import { loadConfig, loadSweep } from '../../config/load.js';
import { type SweepConfig, sweepSchema } from '../../config/many-runs.js';
import { languageModelOf } from '../../config/model.js';
import {
  hashOf,
  type Plan,
  type PlanArguments,
  type PlanStore,
  rejectDirectory,
  requireConfirmation,
} from '../plan.js';
import { baselinesFor } from './baselines.js';
import { overridesOf, parseSweep, type SweepSetting, type SweptKey, sweepSettings } from './settings.js';

export interface Sweep {
  /** Name of the config file without its extension. */
  readonly name: string;
  readonly section: SweepConfig;
  readonly keys: readonly SweptKey[];
  readonly settings: readonly SweepSetting[];
  /** All settings share these seeds, so that they have the same warm-up and episodes. */
  readonly seeds: readonly number[];
  readonly notes: readonly string[];
}

/**
 * @param withBaselines adds baselines with the budget of each setting
 * @throws UserError if a config can't be used, or the runs wouldn't be comparable
 */
export function loadPlannedSweep(
  file: string,
  overrides: readonly string[],
  withBaselines: boolean,
  cwd: string,
): Sweep {
  const section = loadSweep({ file, overrides, cwd }) ?? sweepSchema.parse({});
  const outerOverrides = overrides.filter((text) => !/^sweep[.=]/.test(text));
  const { fixedOverrides, keys, seeds } = parseSweep(section, outerOverrides);
  const notes = new Set<string>();
  let loadedFile = file;
  const baselines = new Map<string, SweepSetting>();
  const settings = sweepSettings(section, keys).map((setting): SweepSetting => {
    const loaded = explainDrawnNumbers(keys, () =>
      loadConfig({ file, overrides: overridesOf(setting, fixedOverrides), cwd, forSweep: true }),
    );
    const { config } = loaded;
    for (const note of loaded.notes) notes.add(note);
    requireConfirmation(config, loaded.file);
    loadedFile = loaded.file;
    const baseSetting = { ...setting, config, baseline: null, comparedWith: [] };
    const comparedWith = withBaselines ? baselinesFor(baseSetting) : [];
    for (const baseline of comparedWith) baselines.set(baseline.name, baseline);
    return { ...baseSetting, comparedWith: comparedWith.map(({ name }) => name) };
  });
  for (const note of duplicateNotes(settings)) notes.add(note);
  return {
    name: plainName(basename(loadedFile, extname(loadedFile)), 'config'),
    section,
    keys,
    settings: [...settings, ...baselines.values()],
    seeds: seeds ?? [settings[0]!.config.seed],
    notes: [...notes],
  };
}

/** Adds a hint to errors that a drawn number may have caused. */
function explainDrawnNumbers<T>(keys: readonly SweptKey[], load: () => T): T {
  try {
    return load();
  } catch (error) {
    const drawnKeys = new Set(keys.flatMap(({ key, values }) => (values.kind === 'list' ? [] : [key])));
    const hint = 'uniform(…) and loguniform(…) also draw fractions; for whole numbers, write 1..9 or a list';
    throw mapProblems(error, (one) =>
      drawnKeys.has(one.field ?? '') && one.message.includes('whole number') ? { hint, ...one } : one,
    );
  }
}

/** Reports settings that are the same experiment, e.g. because a value is the default or is ignored by a baseline. */
function duplicateNotes(settings: readonly SweepSetting[]): readonly string[] {
  const firstByConfig = new Map<string, SweepSetting>();
  return settings.flatMap((setting) => {
    const { config, name } = setting;
    const usesModel = languageModelOf(config.model) !== undefined;
    const text = JSON.stringify(usesModel ? config : { ...config, memory: null, prompts: null });
    const sameSetting = firstByConfig.get(text);
    if (sameSetting === undefined) {
      firstByConfig.set(text, setting);
      return [];
    }
    const isEqual = JSON.stringify(config) === JSON.stringify(sameSetting.config);
    const reason = isEqual ? '' : ', because baselines ignore memory and prompts';
    return [`${name} is the same experiment as ${sameSetting.name}${reason}; both will run`];
  });
}

/** Returns the plan of a sweep. Runs are ordered by seed, so that an interrupted sweep still has complete pairs. */
export function sweepPlan({ section: { limits }, notes, seeds, settings }: Sweep): Plan {
  const entries = seeds.flatMap((seed) =>
    settings.map(({ name, config }) => ({
      arm: name,
      path: join(name, `seed-${seed}`),
      config: { ...config, seed },
    })),
  );
  return {
    kind: 'sweep',
    entries,
    limits,
    shape: `${plural(settings.length, 'setting')} × ${plural(seeds.length, 'seed')}`,
    notes,
  };
}

type SettingHashes = Readonly<Record<string, string>>;

/** Hashes the config of each setting, except limits, the seed and the number of workers. */
const hashesOf = (settings: readonly SweepSetting[]): SettingHashes =>
  Object.fromEntries(
    settings.map(({ name, config }) => {
      const { evaluation, limits: _limits, seed: _seed, ...rest } = config;
      const { workers: _workers, ...played } = evaluation;
      return [name, hashOf({ ...rest, evaluation: played })];
    }),
  );

/** Returns the directory of a sweep. The same command finds it again; with `out`, later commands can add settings. */
export function sweepStore(
  { section: { limits }, name, settings }: Sweep,
  { out, runsDir }: Pick<PlanArguments, 'out' | 'runsDir'>,
  cwd: string,
): PlanStore {
  const hashes = hashesOf(settings);
  const directory = resolve(cwd, out ?? join(runsDir, `sweep-${name}-${hashOf(hashes).slice(0, 10)}`));
  const updatedRecord = (written: unknown) => {
    const existing = (written ?? { kind: 'sweep' }) as { kind?: unknown; settings?: SettingHashes };
    const earlierHashes = existing.settings ?? {};
    const conflict = Object.entries(hashes).find(([one, hash]) => (earlierHashes[one] ?? hash) !== hash);
    if (conflict !== undefined)
      rejectDirectory('sweep', directory, `contains runs of ${conflict[0]} with a different config`);
    if (existing.kind !== 'sweep') rejectDirectory('sweep', directory);
    return { version: 1, kind: 'sweep', limits, settings: { ...earlierHashes, ...hashes } };
  };
  return { directory, record: updatedRecord };
}
