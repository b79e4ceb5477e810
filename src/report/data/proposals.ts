import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/events.js';
import type { RunData } from './run-data.js';

/** One call with its place in the run's list of calls. */
export interface LoggedAttempt {
  readonly call: CallRecord;
  readonly index: number;
}

interface Place {
  readonly iteration: number;
  readonly candidate: number;
}

/** What became of one candidate of one iteration: its calls and, where one was accepted, its evaluation. */
export interface LoggedProposal extends Place {
  readonly attempts: readonly LoggedAttempt[];
  readonly entry?: BufferEntry;
  /** Whether its score passed everything before it. */
  readonly improved: boolean;
}

/** The run's proposals in the order of the loop; evaluations without calls are proposals too. */
export function loggedProposals(data: Pick<RunData, 'calls' | 'entries'>): readonly LoggedProposal[] {
  const proposals = new Map<string, LoggedProposal & { readonly attempts: LoggedAttempt[] }>();
  const proposalAt = ({ iteration, candidate }: Place) => {
    const key = `${iteration} ${candidate}`;
    const known = proposals.get(key) ?? { iteration, candidate, attempts: [], improved: false };
    proposals.set(key, known);
    return known;
  };
  for (const [index, call] of data.calls.entries()) proposalAt(call).attempts.push({ call, index });
  let best = Number.NEGATIVE_INFINITY;
  for (const entry of data.entries) {
    if (entry.source === 'proposal')
      Object.assign(proposalAt(entry), { entry, improved: entry.score > best });
    best = Math.max(best, entry.score);
  }
  return [...proposals.values()].toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate);
}

/** Whether no call of the proposal was accepted. */
export function isRejected(proposal: LoggedProposal): boolean {
  return (
    proposal.entry === undefined &&
    proposal.attempts.every((attempt) => attempt.call.outcome.kind !== 'accepted')
  );
}

/** Fragment of the proposal in the page. */
export function proposalId({ iteration, candidate }: Place): string {
  return `iteration-${iteration}-${candidate}`;
}
