import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ConfirmationConfig } from './config.js';
import { type EvaluationSetting, evaluate } from './evaluation.js';
import type { Experiment } from './experiment.js';
import { type BufferEntry, vectorKey } from './replay-buffer.js';
import type { Confirmation } from './run-log.js';
import { confirmationSeeds } from './seeds.js';
import { mean, meanInterval95 } from './statistics.js';

/** Chooses among the best few on fresh seeds, then measures the chosen one on fresh seeds again. */
export async function confirmBest(
  experiment: Pick<Experiment, 'buffer' | 'emit' | 'seed' | 'setting'>,
  { candidates, episodes }: ConfirmationConfig,
  signal: AbortSignal,
): Promise<Confirmation | undefined> {
  const { buffer, emit, seed, setting } = experiment;
  const finalists = bestEntries(buffer.entries, candidates);
  const of = finalists.length === 1 ? 1 : finalists.length + 1;
  let chosen = finalists[0];
  if (finalists.length > 1) {
    let highest = Number.NEGATIVE_INFINITY;
    for (const entry of finalists) {
      await yieldToEventLoop();
      const seeds = confirmationSeeds(seed, 'selection', episodes);
      const confirmation = await confirm(setting, entry, seeds, 'selection', signal);
      if (confirmation === undefined) return undefined;
      emit({ kind: 'confirmed', confirmation, of });
      if (confirmation.mean > highest) [chosen, highest] = [entry, confirmation.mean];
    }
  }
  if (chosen === undefined) return undefined;
  const seeds = confirmationSeeds(seed, 'final', episodes);
  const confirmation = await confirm(setting, chosen, seeds, 'final', signal);
  if (confirmation === undefined) return undefined;
  emit({ kind: 'confirmed', confirmation, of });
  return confirmation;
}

/**
 * The `count` entries with the highest scores, best first, each parameter vector once; the earlier wins a tie. None that
 * was cut short.
 */
export function bestEntries(entries: readonly BufferEntry[], count: number): readonly BufferEntry[] {
  const ranked = entries.filter(({ planned }) => planned === undefined).toSorted((a, b) => b.score - a.score);
  const distinct = new Map(ranked.toReversed().map((entry) => [vectorKey(entry.parameters), entry]));
  return ranked.filter((entry) => distinct.get(vectorKey(entry.parameters)) === entry).slice(0, count);
}

/** Evaluates an entry again on seeds that took no part in choosing it; undefined when it is aborted. */
async function confirm(
  setting: EvaluationSetting,
  entry: BufferEntry,
  seeds: readonly number[],
  stage: Confirmation['stage'],
  signal: AbortSignal,
): Promise<Confirmation | undefined> {
  const evaluation = evaluate({ ...setting, record: 'none' }, entry.parameters, seeds, signal);
  const { returns } = await evaluation.catch((error: unknown) => {
    if (signal.aborted) return { returns: undefined };
    throw error;
  });
  if (returns === undefined) return undefined;
  return {
    stage,
    iteration: entry.iteration,
    candidate: entry.candidate,
    parameters: entry.parameters,
    observed: entry.score,
    mean: mean(returns),
    ci95: meanInterval95(returns),
    episodes: returns.length,
  };
}
