import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { type CallRecord, faultsOf, type Stage, stageOf } from '../../runs/calls.js';
import type { RunData } from './run-data.js';

/** One call as a page counts it, with its place in the run's list of calls: prompt and reply stay on disk. */
export interface LoggedAttempt {
  readonly index: number;
  readonly outcome: { readonly kind: 'accepted' } | Exclude<CallRecord['outcome'], { kind: 'accepted' }>;
  /** Whether the proposal was moved away from what was tried. */
  readonly moved: boolean;
  readonly faults: readonly string[];
}

interface Place {
  readonly iteration: number;
  readonly candidate: number;
}

/** What became of one candidate of one iteration: its calls and, where one was accepted, its evaluation. */
export interface LoggedProposal extends Place {
  /** Whose it is, in a portfolio. */
  readonly member: string | undefined;
  /** What its calls are for: a revision by the critic, or a question, is listed too, but is no proposal. */
  readonly purpose: Stage;
  readonly attempts: readonly LoggedAttempt[];
  /** The return that the accepted reply predicts. */
  readonly predicted: number | undefined;
  readonly entry: BufferEntry | undefined;
  /** Whether its score passed everything before it. */
  readonly improved: boolean;
}

/** A proposal while it is put together. */
interface Mutable extends Place {
  readonly member: string | undefined;
  readonly purpose: Stage;
  readonly attempts: LoggedAttempt[];
  predicted: number | undefined;
  entry: BufferEntry | undefined;
  improved: boolean;
}

/** More than an iteration can have. */
const mostCandidates = 1e6;

/** Shared by the many calls that nothing is to be said of. */
const accepted = { kind: 'accepted' } as const;
const none: readonly string[] = [];

/**
 * The run's proposals in the order of the loop, with the revisions and the questions for feedback; evaluations without
 * calls are proposals too.
 * @param onCall sees each call as it is read
 */
export function loggedProposals(
  data: Pick<RunData, 'calls' | 'entries'>,
  onCall?: (call: CallRecord, index: number) => void,
): readonly LoggedProposal[] {
  const proposals = new Map<number, Mutable>();
  const keyOf = ({ iteration, candidate }: Place) => iteration * mostCandidates + candidate;
  const add = (
    { iteration, candidate, member }: Place & Pick<CallRecord, 'member'>,
    purpose: Stage,
    attempts: LoggedAttempt[],
  ): Mutable => {
    const made = {
      ...{ iteration, candidate, member, purpose, attempts },
      ...{ predicted: undefined, entry: undefined, improved: false },
    };
    proposals.set(keyOf(made), made);
    return made;
  };
  let index = 0;
  for (const call of data.calls) {
    const outcome = call.outcome.kind === 'accepted' ? accepted : call.outcome;
    const faults = faultsOf(call);
    const moved = call.outcome.kind === 'accepted' && call.outcome.moved !== undefined;
    const attempt = { index, outcome, moved, faults: faults.length === 0 ? none : faults };
    const proposal = proposals.get(keyOf(call)) ?? add(call, stageOf(call), []);
    proposal.attempts.push(attempt);
    if (call.outcome.kind === 'accepted') proposal.predicted = call.outcome.predicted;
    onCall?.(call, index++);
  }
  let best = Number.NEGATIVE_INFINITY;
  for (const entry of data.entries) {
    if (entry.source === 'proposal') {
      const proposal =
        proposals.get(keyOf(entry)) ?? add(entry, entry.revises === undefined ? 'proposal' : 'critic', []);
      proposal.entry = entry;
      proposal.improved = entry.score > best;
    }
    best = Math.max(best, entry.score);
  }
  return [...proposals.values()].toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate);
}

/** Those of a run's log that are proposals. */
export const onlyProposals = (logged: readonly LoggedProposal[]): readonly LoggedProposal[] =>
  logged.filter(({ purpose }) => purpose === 'proposal');

/** Whether no call of the proposal was accepted. */
export function isRejected(proposal: LoggedProposal): boolean {
  return (
    proposal.entry === undefined && proposal.attempts.every(({ outcome }) => outcome.kind !== 'accepted')
  );
}

export function hasFailure({ attempts }: LoggedProposal): boolean {
  return attempts.some(({ outcome }) => outcome.kind !== 'accepted');
}

/** Fragment of the proposal in the page. */
export function proposalId({ iteration, candidate }: Place): string {
  return `iteration-${iteration}-${candidate}`;
}
