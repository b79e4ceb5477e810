/** Plays the candidates of an iteration, and records them. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { evaluationSeeds } from '../random/seeds.js';
import { type EvaluationSetting, isRecorded, type Measured, measure } from '../rollout/evaluation.js';
import { raceAgainst } from '../rollout/racing.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { searched } from './known.js';
import type { Experiment } from './parts.js';
import type { Proposal } from './proposal.js';

/** What was proposed, and for a revision the candidate that it revises. */
type Candidate = Pick<Proposal & { kind: 'accepted' }, 'candidate' | 'parameters'> & {
  readonly revises?: number;
};

/**
 * Plays candidates of an iteration, and records nothing yet.
 * @param all whether the trajectories of all their episodes are wanted, whatever the run records
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
  // The same for all candidates, whatever their order.
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

/** Plays every accepted proposal, or those that the screening chooses; a rejected one is logged and costs no evaluation. */
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

/** An iteration is recorded whole or not at all, so recording waits for the last evaluation. */
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

/** Racing relies on the highest return that an episode can have. */
export function checkBound({ racing, warn }: Experiment, entries: readonly BufferEntry[]): void {
  const highest = racing?.highest ?? Number.POSITIVE_INFINITY;
  if (entries.every(({ returns }) => returns.every((value) => value <= highest))) return;
  warn(
    `an episode returned more than ${highest}, which evaluation.racing takes for the most there can be: evaluations may be cut short that would have reached the best`,
  );
}
