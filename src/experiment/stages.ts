import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ConfirmationConfig } from '../config/config.js';
import type { ParameterVector } from '../policies/policy.js';
import { confirmationSeeds, evaluationSeeds, warmupGenerator } from '../random/seeds.js';
import { type EvaluationSetting, evaluate, measure } from '../rollout/evaluation.js';
import { raceAgainst } from '../rollout/racing.js';
import { type BufferEntry, vectorKey } from '../rollout/replay-buffer.js';
import type { Confirmation } from '../runs/events.js';
import { mean, meanInterval95 } from '../statistics/descriptive.js';
import type { Experiment, StopRequests } from './parts.js';

/**
 * An earlier run's policies and random ones first. All are drawn anew, so that a resumed warm-up goes on with the same
 * ones; imported ones are played on this run's episodes, for scores of others can't be compared with its own.
 */
export async function warmUp(experiment: Experiment, stop: StopRequests): Promise<void> {
  const { buffer, commit, completed, config, emit, imported, racing, seed, setting } = experiment;
  if (completed > 0) return;
  const seeds = evaluationSeeds(seed, config.evaluation.episodes);
  const policies = [...imported, ...randomPolicies(experiment)];
  for (const [candidate, parameters] of policies.entries()) {
    if (candidate < buffer.entries.length) continue;
    if (stop.finish.aborted || stop.abort.aborted) break;
    const source = candidate < imported.length ? 'imported' : 'warm-up';
    const place = { iteration: 0, group: 0, candidate, source } as const;
    const race = raceAgainst(buffer.best, racing, seeds.length);
    const measured = await measure(setting, parameters, seeds, place, stop.abort, race);
    buffer.append([measured.entry]);
    experiment.prompter.remember(measured.entry, measured.episodes);
    emit({ kind: 'warmup-evaluated', ...measured, of: policies.length });
    await yieldToEventLoop();
  }
  await commit();
}

function randomPolicies({ config, imported, seed, setting }: Experiment): readonly ParameterVector[] {
  const random = warmupGenerator(seed);
  const drawn = new Set(imported.map(vectorKey));
  return Array.from({ length: config.warmup.policies }, () => {
    let parameters = setting.family.initial(random);
    for (let tries = 0; drawn.has(vectorKey(parameters)) && tries < 100; tries++) {
      parameters = setting.family.initial(random);
    }
    drawn.add(vectorKey(parameters));
    return parameters;
  });
}

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
