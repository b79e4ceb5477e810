/** Plays the candidates of an iteration and records the results. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { evaluationSeeds } from '../random/seeds.js';
import { type EvaluationSetting, isRecorded, type Measured, measure } from '../rollout/evaluation.js';
import { raceAgainst } from '../rollout/racing.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { searched } from './known.js';
import type { Experiment } from './parts.js';
import type { Proposal } from './proposal.js';

/** Proposed parameters and, for a revision, the number of the candidate it revises. */
type Candidate = Pick<Proposal & { kind: 'accepted' }, 'candidate' | 'parameters'> & {
  readonly revises?: number;
};

/**
 * Plays the candidates of an iteration without recording anything yet.
 * @param all if true, keeps the trajectories of all episodes, whatever the run records
 */
export async function measureCandidates(
  experiment: Experiment,
  iteration: number,
  candidates: readonly Candidate[],
  abort: AbortSignal,
  all: boolean,
): Promise<readonly Measured[]> {
  const { buffer, config, racing, setting } = experiment;
  const fresh = config.evaluation.seeds === 'fresh' ? iteration : undefined;
  const seeds = evaluationSeeds(experiment.seed, config.evaluation.episodes, fresh);
  // The same threshold for all candidates, so their order doesn't matter.
  const race = raceAgainst(buffer.best, racing, seeds.length);
  const measured: Measured[] = [];
  for (const { candidate, parameters, revises } of candidates) {
    await yieldToEventLoop();
    abort.throwIfAborted();
    const revision = revises !== undefined && { revises };
    const place = { iteration, group: iteration, candidate, source: 'proposal', ...revision } as const;
    const seen: EvaluationSetting = all ? { ...setting, record: 'all' } : setting;
    measured.push(await measure(seen, parameters, seeds, place, abort, race));
  }
  return measured;
}

/** Plays the accepted proposals, or those that screening selects. Rejected ones are logged and cost no evaluation. */
export async function evaluateProposals(
  experiment: Experiment,
  iteration: number,
  proposals: readonly Proposal[],
  abort: AbortSignal,
  all: boolean,
): Promise<readonly Measured[]> {
  for (const proposal of proposals) {
    if (proposal.kind === 'accepted') continue;
    const { candidate } = proposal;
    experiment.emit({ kind: 'proposal-rejected', iteration, candidate, failures: failuresOf(proposal) });
  }
  const accepted = proposals.filter((proposal) => proposal.kind === 'accepted');
  const chosen = await experiment.screening?.(searched(experiment, experiment.buffer.entries), accepted);
  return measureCandidates(experiment, iteration, chosen ?? accepted, abort, all);
}

/** An iteration is recorded in full or not at all, so recording waits for the last evaluation. */
export function recordEvaluations(
  experiment: Experiment,
  measured: readonly Measured[],
): readonly BufferEntry[] {
  const { buffer, emit, prompter, setting } = experiment;
  for (const { entry, episodes } of measured) {
    const improved = buffer.best === undefined || entry.score > buffer.best.score;
    const kept = episodes.filter(({ episode }) => isRecorded(episode, setting));
    buffer.append([entry]);
    prompter.remember(kept);
    emit({ kind: 'candidate-evaluated', entry, episodes: kept, improved });
  }
  const entries = measured.map(({ entry }) => entry);
  checkBound(experiment, entries);
  return entries;
}

const failuresOf = ({ calls }: Proposal) =>
  calls.flatMap(({ outcome }) => {
    if (outcome.kind === 'rejected') return [outcome.failure.kind];
    return outcome.kind === 'error' ? (['model-error'] as const) : [];
  });

/** Warns if a return exceeds the maximum that racing assumes. */
export function checkBound({ racing, warn }: Experiment, entries: readonly BufferEntry[]): void {
  const highest = racing?.highest ?? Number.POSITIVE_INFINITY;
  if (entries.every(({ returns }) => returns.every((value) => value <= highest))) return;
  warn(
    `an episode returned more than ${highest}, which evaluation.racing takes for the most there can be: evaluations may be cut short that would have reached the best`,
  );
}
