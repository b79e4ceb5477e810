/** Rejects proposals that act like earlier policies, and programs that fail, before they count as evaluations. */
import pLimit from 'p-limit';
import { evaluationSeeds } from '../base/random/seeds.js';
import { isRemote } from '../environments/remote/remote-environment.js';
import { programsOf } from '../policies/policy.js';
import type { RepeatCheck } from '../proposers/proposer.js';
import type { ComparedPolicy } from '../rollout/behavior-test.js';
import { entriesBefore } from '../rollout/replay-buffer.js';
import type { Experiment } from './parts.js';
import { programFailure } from './programs.js';

/** Seeds of the episodes in which policies are compared, as in an evaluation. @param iteration for `fresh` seeds */
export function testSeeds({ config, setting }: Experiment, iteration?: number): readonly number[] {
  const freshIteration = config.evaluation.seeds === 'fresh' ? iteration : undefined;
  const seeds = evaluationSeeds(config.seed, config.evaluation.episodes, freshIteration);
  // Episodes of remote environments are slow, so play only one.
  return isRemote(setting.environment) ? seeds.slice(0, 1) : seeds;
}

/**
 * Checks an iteration's proposals (`repeats: behaviour`) in episodes of their evaluation (see `testSeeds`). A
 * vector plays them only if an earlier one chose the same actions on recorded observations. A search over vectors isn't
 * checked: it learns from a repeat's score where returns are flat, and a generation needs all members.
 */
export function createRepeatCheck(experiment: Experiment, iteration: number): RepeatCheck | undefined {
  const { behavior, buffer, config, setting } = experiment;
  if (config.repeats !== 'behaviour') return undefined;
  const library = programsOf(setting.family);
  const seeds = testSeeds(experiment, iteration);
  const check: RepeatCheck = async (parameters, siblings, by) => {
    if (library === undefined && by !== 'model') return undefined;
    const entries = entriesBefore(buffer.entries, iteration);
    const failure = library && (await programFailure(experiment, library, entries, [parameters, by], seeds));
    if (failure !== undefined || by === 'tuning') return failure;
    if (!(await behavior.prepare(entries[0], testSeeds(experiment)))) return undefined;
    const others: readonly ComparedPolicy[] = [
      ...(await behavior.findSimilar(parameters, entries)),
      ...siblings.map((sibling) => ({ parameters: sibling, iteration })),
    ];
    const duplicate = await behavior.findAlike(parameters, others, seeds);
    if (duplicate === undefined) return undefined;
    const { iteration: earlierIteration, score } = duplicate;
    const seen = { iteration: earlierIteration, ...(score !== undefined && { score }) };
    return { kind: 'repeated', ...seen, same: 'actions', episodes: seeds.length };
  };
  // Proposals that arrive together are checked in turn, because they play in one environment.
  const queue = pLimit(1);
  return (...given) => queue(check, ...given);
}
