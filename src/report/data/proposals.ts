import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/events.js';
import type { RunData } from './run-data.js';

/** One call with its place in the run's list of calls. */
export interface LoggedAttempt {
  readonly call: CallRecord;
  readonly index: number;
}

/** What became of one candidate of one iteration: its calls and, where one was accepted, its evaluation. */
export interface LoggedProposal {
  readonly iteration: number;
  readonly candidate: number;
  readonly attempts: readonly LoggedAttempt[];
  readonly entry?: BufferEntry;
  /** Whether its score passed everything before it. */
  readonly improved: boolean;
}

/** The run's proposals in the order of their first call; evaluations without calls are proposals too. */
export function loggedProposals(data: Pick<RunData, 'calls' | 'entries'>): readonly LoggedProposal[] {
  const attempts = new Map<string, LoggedAttempt[]>();
  for (const [index, call] of data.calls.entries()) {
    const key = keyOf(call);
    const list = attempts.get(key);
    if (list === undefined) attempts.set(key, [{ call, index }]);
    else list.push({ call, index });
  }
  const evaluated = new Map<string, { entry: BufferEntry; improved: boolean }>();
  let best = Number.NEGATIVE_INFINITY;
  for (const entry of data.entries) {
    const improved = entry.score > best;
    if (improved) best = entry.score;
    if (entry.source === 'proposal') evaluated.set(keyOf(entry), { entry, improved });
  }
  const proposals: LoggedProposal[] = [];
  for (const key of new Set([...attempts.keys(), ...evaluated.keys()])) {
    const list = attempts.get(key) ?? [];
    const evaluation = evaluated.get(key);
    const { iteration, candidate } = list[0]?.call ?? evaluation!.entry;
    proposals.push({
      iteration,
      candidate,
      attempts: list,
      ...(evaluation && { entry: evaluation.entry }),
      improved: evaluation?.improved ?? false,
    });
  }
  return proposals.toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate);
}

/** Whether no call of the proposal was accepted. */
export function isRejected(proposal: LoggedProposal): boolean {
  return (
    proposal.entry === undefined &&
    proposal.attempts.every((attempt) => attempt.call.outcome.kind !== 'accepted')
  );
}

/** Fragment of the proposal in the page. */
export function proposalId(place: { readonly iteration: number; readonly candidate: number }): string {
  return `iteration-${place.iteration}-${place.candidate}`;
}

function keyOf(place: { readonly iteration: number; readonly candidate: number }): string {
  return `${place.iteration} ${place.candidate}`;
}
