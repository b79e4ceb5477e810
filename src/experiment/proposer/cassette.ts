/** Finds the recording for `model: {provider: replayed}`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import type { ModelConfig } from '../../config/model.js';
import type { Cassette } from '../../models/replayed.js';
import type { ReplayedConfig } from '../../models/settings.js';
import { repeatSeeds } from '../../random/seeds.js';
import { callId } from '../../runs/calls.js';
import { requireConfig } from '../../runs/open-run.js';
import { groupFile, openLogs, readGroup, readManifest, runFiles } from '../../runs/reader.js';
import type { RunDefaults } from './run-defaults.js';

export interface Recording {
  readonly cassette: Cassette;
  /** The model that answered; the recorded calls are counted with its prices and limits. */
  readonly model: ModelConfig;
  /** The recorded sections that name other models, or a person. */
  readonly beside: Pick<Config, 'critic' | 'feedback'>;
  /** Defaults of the recorded run; one of an earlier version has no `limits.rejections`. */
  readonly defaults: RunDefaults;
}

/**
 * Opens the recorded run whose seed matches the config: each repeat replays the run with its own seed.
 * @throws UserError naming `model.run` if there is no such run, or none with a seed of this config
 */
export function openRecording(
  model: ReplayedConfig,
  { seed, repeats }: Pick<Config, 'seed' | 'repeats'>,
): Recording {
  try {
    const runs = runsOf(model.run);
    const wanted = repeatSeeds(seed, repeats);
    const strange = wanted.find((one) => !runs.some((run) => run.seed === one));
    // With `onChange: warn`, a single recorded run can be replayed under any seed.
    const anySeed = model.onChange === 'warn' && runs.length === 1;
    if (strange !== undefined && !anySeed) throw otherSeed(runs, strange, repeats);
    const path = (runs.find((run) => run.seed === seed) ?? runs[0]!).path;
    const recorded = loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true }).config;
    const cassette = { path, model: readManifest(path).model, calls: callsIn(path) };
    const { digits, tokens } = recorded.memory;
    const limits = { rejections: recorded.limits.rejections ?? 0 };
    const defaults = { limits, memory: { ...(digits && { digits }), ...(tokens && { tokens }) } };
    if (recorded.model.provider === 'replayed')
      return { ...openRecording(recorded.model, recorded), cassette, defaults };
    const { critic, feedback } = recorded;
    return { cassette, model: recorded.model, beside: { critic, feedback }, defaults };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, remedy, alternatives } = error.problems[0]!;
    throw new UserError({
      field: 'model.run',
      value: model.run,
      message,
      ...(alternatives && { alternatives }),
      remedy: remedy ?? 'name the directory of a run; policyloop list shows those there are',
    });
  }
}

/** The calls of a run, read from disk on every iteration. */
export function callsIn(path: string): Cassette['calls'] {
  const { calls } = openLogs(path);
  return {
    *[Symbol.iterator]() {
      for (const call of calls) yield { ...call, id: callId(call) };
    },
  };
}

interface SeededRun {
  readonly path: string;
  readonly seed: number;
}

/** The run itself or, for a group, its runs that have started. */
function runsOf(path: string): readonly SeededRun[] {
  if (!existsSync(join(path, groupFile))) return [{ path, seed: readManifest(path).seed }];
  const { runs, seeds } = readGroup(path);
  return runs
    .map((name, i) => ({ path: join(path, name), seed: seeds[i]! }))
    .filter((run) => existsSync(join(run.path, runFiles.manifest)));
}

function otherSeed(runs: readonly SeededRun[], seed: number, repeats: number): UserError {
  const seeds = runs.map((run) => String(run.seed));
  return new UserError({
    message:
      runs.length === 0
        ? 'none of these repeats has begun'
        : `${repeats === 1 ? 'this config has' : 'a repeat of this config has'} the seed ${seed}, with which no run there was played`,
    alternatives: seeds,
    remedy:
      runs.length > 1 ? 'set seed and repeats as they were' : `set seed=${seeds[0] ?? seed} and repeats=1`,
  });
}
