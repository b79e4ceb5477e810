import type { Config } from '../../../config/config.js';
import type { ParameterSpec, PolicyDescription } from '../../../policies/policy.js';
import type { BufferEntry } from '../../../rollout/replay-buffer.js';
import { type CallRecord, faultsOf, stageOf } from '../../../runs/calls.js';
import type { RecordedRun } from '../../../runs/logs.js';
import type { RunSummary } from '../../../runs/summary.js';

/** A call without its prompt and reply, which stay on disk. `index`: position among the run's calls. */
export interface LoggedAttempt {
  readonly index: number;
  readonly outcome: Exclude<CallRecord['outcome'], { kind: 'accepted' }> | typeof acceptedOutcome;
  readonly faults: readonly string[];
}

export type CandidateId = Pick<BufferEntry, 'iteration' | 'candidate'>;

/** A candidate of an iteration with its calls and, if it was evaluated, its evaluation. */
export interface LoggedProposal extends CandidateId {
  /** The portfolio member, relay leg or tuning search that proposed it. */
  readonly member: string | undefined;
  /** `proposal`, or the stage that asked for it. */
  readonly purpose: string;
  readonly attempts: readonly LoggedAttempt[];
  readonly predicted: number | undefined;
  readonly entry: BufferEntry | undefined;
  /** True if its score is higher than all earlier ones. */
  readonly improved: boolean;
}

/** Shared by all accepted calls, to save memory. */
const acceptedOutcome = { kind: 'accepted' } as const;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Returns the run's proposals in order, along with revisions and evaluations without calls.
 * @param onCall receives each call as it is read
 */
export function loggedProposals(
  data: Pick<RunData, 'calls' | 'entries'>,
  onCall?: (call: CallRecord) => void,
): readonly LoggedProposal[] {
  const proposals = new Map<string, Mutable<LoggedProposal> & { readonly attempts: LoggedAttempt[] }>();
  const proposalOf = (record: CandidateId & Pick<CallRecord, 'member'>, purpose: string) => {
    const { iteration, candidate, member } = record;
    const id = proposalId(record);
    const existing = proposals.get(id);
    if (existing !== undefined) return existing;
    const emptyFields = { predicted: undefined, entry: undefined, improved: false };
    const proposal = { iteration, candidate, member, purpose, attempts: [], ...emptyFields };
    proposals.set(id, proposal);
    return proposal;
  };
  let index = 0;
  for (const call of data.calls) {
    const { outcome } = call;
    const proposal = proposalOf(call, stageOf(call));
    const shortOutcome = outcome.kind === 'accepted' ? acceptedOutcome : outcome;
    proposal.attempts.push({ index: index++, outcome: shortOutcome, faults: faultsOf(call) });
    if (outcome.kind === 'accepted') proposal.predicted = outcome.predicted;
    onCall?.(call);
  }
  let best = Number.NEGATIVE_INFINITY;
  for (const entry of data.entries) {
    if (entry.source === 'proposal') {
      const proposal = proposalOf(entry, entry.by ?? 'proposal');
      proposal.entry = entry;
      proposal.improved = entry.score > best;
    }
    best = Math.max(best, entry.score);
  }
  return [...proposals.values()].toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate);
}

/** Returns the member, leg or tuning search that proposed a candidate; undefined in a run without any. */
export const memberAt = (proposals: readonly LoggedProposal[], id: CandidateId): string | undefined =>
  proposals.find((one) => one.iteration === id.iteration && one.candidate === id.candidate)?.member;

/** Removes revisions. */
export const skipRevisions = (proposals: readonly LoggedProposal[]): readonly LoggedProposal[] =>
  proposals.filter(({ purpose }) => purpose === 'proposal');

/** True for a call that failed or whose reply was rejected; an aborted call is neither. */
export const isFailed = ({ outcome }: Pick<LoggedAttempt, 'outcome'>): boolean =>
  outcome.kind !== 'accepted' && !(outcome.kind === 'error' && outcome.error === 'aborted');

/** True if the proposal was not evaluated, and all of its calls failed. */
export const isRejected = ({ attempts, entry }: LoggedProposal): boolean =>
  entry === undefined && attempts.every(isFailed);

export const hasFailure = ({ attempts }: LoggedProposal): boolean => attempts.some(isFailed);

export const proposalId = ({ iteration, candidate }: CandidateId) => `iteration-${iteration}-${candidate}`;

/** The data that a report shows about a run, except animations; read from the run's directory. */
export interface RunData extends RunSummary, Pick<RecordedRun, 'entries' | 'calls' | 'events'> {
  readonly config: Config;
  /** Content of `config.yaml` in the run directory. */
  readonly configYaml: string;
  readonly parameters: ParameterSpec;
  readonly policy: PolicyDescription;
  /** Descriptions of unreadable parts; complete only after calls and events have been read. */
  readonly faults: readonly string[];
}
