/** The last stage of a run: re-evaluates its best policies on seeds that played no part in selecting them. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ConfirmationConfig } from '../config/config.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { confirmationSeeds } from '../random/seeds.js';
import { type EvaluationSetting, evaluate } from '../rollout/evaluation.js';
import { type BufferEntry, bestEntries } from '../rollout/replay-buffer.js';
import type { Confirmation } from '../runs/events.js';
import { clipped, type Interval } from '../statistics/bootstrap.js';
import { mean, meanInterval95 } from '../statistics/descriptive.js';
import type { Experiment } from './parts.js';

/** Selects among the best few on fresh seeds, then measures the winner on another set of fresh seeds. */
export async function confirmBest(
  experiment: Pick<Experiment, 'buffer' | 'config' | 'emit' | 'seed' | 'setting'>,
  { candidates, episodes }: ConfirmationConfig,
  signal: AbortSignal,
): Promise<Confirmation | undefined> {
  const { buffer, config, emit, seed, setting } = experiment;
  const range = returnRange(config.environment, config.evaluation);
  const finalists = bestEntries(buffer.entries, candidates);
  const of = finalists.length === 1 ? 1 : finalists.length + 1;
  let chosen = finalists[0];
  if (chosen === undefined) return undefined;
  emit({ kind: 'confirmation-started', candidates: finalists.length, episodesEach: episodes, of });
  if (finalists.length > 1) {
    let highest = Number.NEGATIVE_INFINITY;
    for (const entry of finalists) {
      await yieldToEventLoop();
      const seeds = confirmationSeeds(seed, 'selection', episodes);
      const confirmation = await confirm({ setting, range }, entry, seeds, 'selection', signal);
      if (confirmation === undefined) return undefined;
      emit({ kind: 'confirmed', confirmation, of });
      if (confirmation.mean > highest) [chosen, highest] = [entry, confirmation.mean];
    }
  }
  const seeds = confirmationSeeds(seed, 'final', episodes);
  const confirmation = await confirm({ setting, range }, chosen, seeds, 'final', signal);
  if (confirmation === undefined) return undefined;
  emit({ kind: 'confirmed', confirmation, of });
  return confirmation;
}

/** Evaluates an entry on seeds that played no part in selecting it; undefined if aborted. */
async function confirm(
  { range, setting }: { readonly setting: EvaluationSetting; readonly range: Interval },
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
  const centre = mean(returns);
  return {
    stage,
    iteration: entry.iteration,
    candidate: entry.candidate,
    parameters: entry.parameters,
    observed: entry.score,
    mean: centre,
    ci95: clipped(meanInterval95(returns), range, centre),
    episodes: returns.length,
  };
}
