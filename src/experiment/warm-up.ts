/** The first stage of a run: evaluates the initial policies. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { ParameterVector } from '../policies/policy.js';
import { evaluationSeeds, warmupGenerator } from '../random/seeds.js';
import { type EvaluationSetting, measure } from '../rollout/evaluation.js';
import { raceAgainst } from '../rollout/racing.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import { checkBound } from './evaluate.js';
import type { Experiment, StopRequests } from './parts.js';

/**
 * Evaluates an earlier run's policies, then random ones. They are drawn again on resume and come out the same. Imported
 * policies are replayed on this run's episodes, because scores on other episodes aren't comparable.
 */
export async function warmUp(experiment: Experiment, stop: StopRequests): Promise<void> {
  const { buffer, commit, completed, config, emit, imported, racing, seed, setting } = experiment;
  if (completed > 0) return;
  const seeds = evaluationSeeds(seed, config.evaluation.episodes);
  const policies = [...imported, ...randomPolicies(experiment)];
  for (const [candidate, parameters] of policies.entries()) {
    if (candidate < buffer.entries.length) continue;
    await experiment.heed();
    if (stop.finish.aborted || stop.abort.aborted) break;
    const source = candidate < imported.length ? 'imported' : 'warm-up';
    const place = { iteration: 0, group: 0, candidate, source } as const;
    const race = raceAgainst(buffer.best, racing, seeds.length);
    const measured = await measure(setting, parameters, seeds, place, stop.abort, race);
    buffer.append([measured.entry]);
    experiment.prompter.remember(measured.episodes);
    emit({ kind: 'warmup-evaluated', ...measured, of: policies.length });
    await yieldToEventLoop();
  }
  await commit();
  checkBound(experiment, buffer.entries);
}

/** The random initial policies. They depend only on the run's seed, and none equals an imported one. */
export function randomPolicies({
  config,
  imported,
  seed,
  setting,
}: Pick<Experiment, 'config' | 'imported' | 'seed'> & {
  readonly setting: Pick<EvaluationSetting, 'family'>;
}): readonly ParameterVector[] {
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
