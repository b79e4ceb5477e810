/** Plans a sweep: a run for every setting and seed, each in its own directory. */
import { existsSync, rmSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { loadConfig, loadSweep } from '../../config/load.js';
import type { SweepConfig } from '../../config/many-runs.js';
import { repeatSeeds } from '../../random/seeds.js';
import { planKinds } from '../../runs/finder.js';
import { plainName, readOwnJson, replaceFile } from '../../storage/files.js';
import type { PlanEnd } from '../part.js';
import { hashOf, type Plan, type PlanEntry, type PlanPlace, requireConfirmation } from '../plan.js';
import { overridesOf, type Setting, type SweptKey, settingsOf, sweptBy } from './settings.js';

export interface SweepRun extends PlanEntry {
  /** Name of the run's setting. */
  readonly arm: string;
  /** Index of the run's seed. */
  readonly repeat: number;
}

export interface SweepSetting extends Setting {
  /** Resolved config; each run has its own seed. */
  readonly config: Config;
}

export interface Sweep {
  /** Name of the config file without its extension. */
  readonly name: string;
  readonly how: SweepConfig;
  readonly keys: readonly SweptKey[];
  readonly settings: readonly SweepSetting[];
  /** All settings share these seeds, so that they have the same warm-up and episodes. */
  readonly seeds: readonly number[];
  readonly notes: readonly string[];
}

/** @throws UserError if a config can't be used, or the runs wouldn't be comparable */
export function loadPlannedSweep(file: string, overrides: readonly string[], cwd: string): Sweep {
  const isOfSection = (text: string) => /^sweep[.=]/.test(text);
  const how = loadSweep({ file, overrides, cwd }) ?? { method: 'grid', keys: {} };
  const swept = sweptBy(
    how,
    overrides.filter((text) => !isOfSection(text)),
  );
  const notes = new Set<string>();
  let read = file;
  const settings = settingsOf(how, swept.keys).map((setting): SweepSetting => {
    const texts = overridesOf(setting, swept.fixed);
    const loaded = drawnFor(swept.keys, () => loadConfig({ file, overrides: texts, cwd, forSweep: true }));
    for (const note of loaded.notes) notes.add(note);
    requireConfirmation(loaded.config, loaded.file);
    read = loaded.file;
    return { ...setting, config: loaded.config };
  });
  requireOneTask(settings);
  for (const note of sameSettings(settings)) notes.add(note);
  const { config } = settings[0]!;
  if (swept.seeds !== undefined && config.repeats > 1)
    throw new UserError({
      field: 'repeats',
      message: "can't be combined with a list of seeds",
      value: config.repeats,
      remedy: 'set repeats=1, or remove the list',
    });
  const seeds = swept.seeds ?? repeatSeeds(config.seed, config.repeats);
  const name = plainName(basename(read, extname(read)), 'config');
  return { name, how, keys: swept.keys, settings, seeds, notes: [...notes] };
}

/** Adds a remedy to errors that a drawn number may have caused. */
function drawnFor<T>(keys: readonly SweptKey[], load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const drawn = new Set(keys.flatMap(({ key, values }) => (values.kind === 'list' ? [] : [key])));
    const remedy =
      'uniform(…) and loguniform(…) also draw fractions; for whole numbers, write 1..9 or a list';
    throw new UserError(
      error.problems.map((problem) =>
        problem.field !== undefined && drawn.has(problem.field) ? { remedy, ...problem } : problem,
      ),
    );
  }
}

/** Notes on settings that are the same experiment, e.g. because a value is written in two ways or is the default. */
function sameSettings(settings: readonly SweepSetting[]): readonly string[] {
  const first = new Map<string, string>();
  return settings.flatMap(({ config, name }) => {
    const text = JSON.stringify(config);
    const same = first.get(text);
    if (same === undefined) first.set(text, name);
    return same === undefined ? [] : [`${name} is the same experiment as ${same}; both will run`];
  });
}

/** @throws UserError if settings have different environments */
function requireOneTask(settings: readonly SweepSetting[]): void {
  const ids = [...new Set(settings.map(({ config }) => config.environment.id))];
  if (ids.length <= 1) return;
  throw new UserError({
    field: 'environment',
    message: "returns of different environments can't be compared",
    value: ids.join(', '),
    remedy:
      'run a sweep per environment; for several tasks, use policyloop controls or policyloop finetune evaluate',
  });
}

/**
 * The runs of these settings for a range of seeds, ordered by seed so that an interrupted sweep still has
 * complete pairs.
 */
export function runsOf(
  { seeds }: Pick<Sweep, 'seeds'>,
  settings: readonly SweepSetting[],
  from: number,
  to: number,
): readonly SweepRun[] {
  return seeds.slice(from, to).flatMap((seed, i) =>
    settings.map(({ name, config }) => ({
      arm: name,
      repeat: from + i,
      path: join(name, `seed-${seed}`),
      config: { ...config, seed, repeats: 1 },
    })),
  );
}

/** @param before runs of earlier rounds */
export function sweepPlan(
  { how: { limits }, notes }: Pick<Sweep, 'how' | 'notes'>,
  entries: readonly SweepRun[],
  shape: string,
  before: readonly SweepRun[] = [],
): Plan<SweepRun> {
  return {
    kind: 'sweep',
    entries,
    before,
    limits,
    afterFailure: { label: 'arm', others: 'the other settings' },
    shape,
    notes,
  };
}

/** For each setting, a hash of everything that affects its results, except limits and the seed. */
const hashesOf = (settings: readonly SweepSetting[]): SettingHashes =>
  Object.fromEntries(
    settings.map(({ name, config }) => {
      const { evaluation, limits: _limits, repeats: _repeats, seed: _seed, ...rest } = config;
      const { workers: _workers, ...played } = evaluation;
      return [name, hashOf({ ...rest, evaluation: played })];
    }),
  );

type SettingHashes = Readonly<Record<string, string>>;

/** The directory of a sweep. The same command finds it again, and later commands can add settings to it. */
export function sweepPlace(
  { how: { limits }, name, settings }: Sweep,
  {
    cwd,
    out,
    runsDir,
  }: { readonly cwd: string; readonly out?: string | undefined; readonly runsDir: string },
): PlanPlace {
  const hashes = hashesOf(settings);
  const directory = resolve(cwd, out ?? join(runsDir, `sweep-${name}-${hashOf(hashes).slice(0, 10)}`));
  const compatible = (written: unknown): SettingHashes => {
    if (written === undefined) return {};
    const there = (written ?? {}) as { readonly kind?: unknown; readonly settings?: SettingHashes };
    const before = there.settings ?? {};
    const other = Object.entries(hashes).find(([one, hash]) => (before[one] ?? hash) !== hash);
    if (there.kind === 'sweep' && other === undefined) return before;
    throw new UserError({
      field: '--out',
      message:
        other === undefined
          ? `contains something other than ${planKinds.sweep.name}`
          : `contains runs of ${other[0]} with a different config`,
      value: directory,
      remedy: 'choose another directory, or omit --out',
    });
  };
  const record = (written: unknown) => ({
    ...{ version: 1, kind: 'sweep', limits },
    settings: { ...compatible(written), ...hashes },
  });
  return { directory, record };
}

const judgedShape = z.object({
  of: z.string(),
  rounds: z.int(),
  failures: z.array(z.object({ run: z.string(), message: z.string() })),
});

interface Judged {
  readonly rounds: number;
  /** Failed runs of these rounds. */
  readonly failures: PlanEnd['failures'];
}

const fileOf = (directory: string) => join(directory, 'rounds.json');

/** Identifies the sweep: an earlier sweep in the same directory may have other rounds. */
const idOf = ({ how, seeds, settings }: Sweep): string =>
  hashOf([how, seeds, settings.map(({ name }) => name)]);

export function readJudged(directory: string, sweep: Sweep): Judged {
  const { data } = judgedShape.safeParse(readOwnJson(fileOf(directory)));
  return data?.of === idOf(sweep) ? data : { rounds: 0, failures: [] };
}

export const writeJudged = (directory: string, sweep: Sweep, judged: Judged): void =>
  replaceFile(fileOf(directory), `${JSON.stringify({ of: idOf(sweep), ...judged })}\n`);

/** Deletes the record of rounds, so that the next command retries their failures. */
export function removeJudged(directory: string): void {
  if (existsSync(fileOf(directory))) rmSync(fileOf(directory));
}
