/** Confirms the best policy on fresh seeds: compares policies whose order may be luck, and measures the winner. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { confirmationSeeds } from '../base/random/seeds.js';
import type { ConfirmationConfig } from '../config/config.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { ProgramFault } from '../policies/program/program.js';
import { evaluate } from '../rollout/evaluation.js';
import { type BufferEntry, bestEntries } from '../rollout/replay-buffer.js';
import { type Confirmation, type Noise, selectionBudget } from '../runs/events.js';
import { programFailureText } from '../runs/failure-text.js';
import { candidateName } from '../runs/summary.js';
import { meanInterval95 } from '../statistics/bootstrap.js';
import { mean } from '../statistics/descriptive.js';
import { maxCompetitors, sequentialHalving } from '../statistics/halving.js';
import { episodesToConfirm, nearBestCount, noiseFloor, spreadOf } from '../statistics/noise-floor.js';
import type { Experiment } from './parts.js';
import { testSeeds } from './repeats.js';

/**
 * Measures the noise floor and reports it. If it can't be measured, it is infinite and isn't reported.
 * @returns the best policies that act differently, best first, at most `count`, and the noise floor
 * @throws like `evaluate`
 */
export async function measureNoise(experiment: Experiment, signal: AbortSignal, count = nearBestCount) {
  const { behavior, buffer, config, log } = experiment;
  const { episodes, seeds } = config.evaluation;
  const distinctEntries: BufferEntry[] = [];
  for (const entry of bestEntries(buffer.entries, Number.POSITIVE_INFINITY)) {
    if (distinctEntries.length >= Math.max(count, nearBestCount)) break;
    signal.throwIfAborted();
    const duplicate = await behavior.findAlike(entry.parameters, distinctEntries, testSeeds(experiment));
    if (duplicate === undefined) distinctEntries.push(entry);
  }
  const nearBest = distinctEntries.slice(0, nearBestCount);
  const spread = spreadOf(
    nearBest.map(({ returns }) => returns),
    seeds === 'common',
  );
  if (spread === undefined) return { best: distinctEntries.slice(0, count), floor: Number.POSITIVE_INFINITY };
  const floor = noiseFloor(spread, episodes);
  const lead = nearBest[0]!.score - nearBest[1]!.score;
  const needed = episodesToConfirm(lead, spread);
  const noise: Noise = { floor, episodes, lead, ...(Number.isFinite(needed) && { needed }) };
  log.emit({ kind: 'noise-measured', noise });
  return { best: distinctEntries.slice(0, count), floor };
}

/** @returns undefined if there is nothing to confirm, the chosen program or all finalists fail, or the signal aborts */
export async function confirmBest(
  experiment: Experiment,
  settings: ConfirmationConfig,
  signal: AbortSignal,
): Promise<Confirmation | undefined> {
  try {
    return await confirmCandidate(experiment, settings, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function confirmCandidate(
  experiment: Experiment,
  { candidates, episodes }: ConfirmationConfig,
  signal: AbortSignal,
): Promise<Confirmation | undefined> {
  const { buffer, config, log, setting } = experiment;
  const range = returnRange(config.environment, config.evaluation);
  const budget = selectionBudget(episodes);
  const maxFinalists = maxCompetitors(budget, candidates);
  const { best, floor } = await measureNoise(experiment, signal, maxFinalists);
  if (maxFinalists === 0 || buffer.entries.length === 0) return undefined;
  const finalists = best.filter(({ score }) => best[0]!.score - score <= floor);
  const resultCount = finalists.length === 1 ? 1 : finalists.length + 1;
  log.emit({
    kind: 'confirmation-started',
    candidates: finalists.length,
    episodesEach: episodes,
    budget,
    of: resultCount,
  });
  const report = (entry: BufferEntry, stage: Confirmation['stage'], returns: readonly number[]) => {
    const { candidate, iteration, parameters, program, score } = entry;
    const confirmation: Confirmation = {
      ...{ stage, iteration, candidate, parameters },
      ...(program !== undefined && { program }),
      ...{ observed: score, mean: mean(returns), ci95: meanInterval95(returns, range, 'student') },
      episodes: returns.length,
    };
    log.emit({ kind: 'confirmed', confirmation, of: resultCount });
    return confirmation;
  };
  /** Undefined if the program fails. */
  const returnsOf = async (entry: BufferEntry, seeds: readonly number[]) => {
    await yieldToEventLoop();
    try {
      return (await evaluate({ ...setting, record: 'none' }, entry.parameters, seeds, signal)).returns;
    } catch (error) {
      if (!(error instanceof ProgramFault)) throw error;
      const reason = programFailureText(error.failure);
      log.warn(`the program of ${candidateName(entry, config)} failed during confirmation: ${reason}`);
      return undefined;
    }
  };
  const seeds = confirmationSeeds(config.seed, 'selection', budget);
  const ranked = await sequentialHalving(
    finalists,
    budget,
    (entry, start, count) => returnsOf(entry, seeds.slice(start, start + count)),
    (entry, returns) => report(entry, 'selection', returns),
  );
  const [chosen] = ranked;
  if (chosen === undefined) return undefined;
  // If the program fails now, that is the result: choosing another one would hide the failure.
  const returns = await returnsOf(chosen, confirmationSeeds(config.seed, 'final', episodes));
  return returns && report(chosen, 'final', returns);
}
