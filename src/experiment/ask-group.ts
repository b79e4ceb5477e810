/** Requests the answers to one prompt, within the run's limits and without repeating requests of an earlier process. */
import { isByControl } from '../config/model.js';
import { ModelError } from '../models/language-model.js';
import { callSeed } from '../random/seeds.js';
import {
  type CallRecord,
  type EndedCall,
  faultsOf,
  type LimitName,
  type Stage,
  stageOf,
} from '../runs/calls.js';
import { callKey } from '../runs/underway.js';
import type { Experiment, StopRequests } from './parts.js';
import { type ProposalGroup, type ProposalRequest, propose } from './proposal.js';
import { callsUnderway, deadlineOf } from './stopping.js';

/** What differs between groups of answers; everything else is the same throughout a run. */
type Asked = Pick<
  ProposalRequest,
  | 'afterRepeat'
  | 'behind'
  | 'branch'
  | 'by'
  | 'candidates'
  | 'concurrency'
  | 'enough'
  | 'first'
  | 'form'
  | 'formatCorrection'
  | 'messages'
  | 'mostRejected'
  | 'placed'
  | 'seen'
  | 'telling'
> & {
  /** Absent for proposals. */
  readonly purpose?: Stage;
  /** Whether the model's server has ever been reached. */
  readonly isReached: () => boolean;
  /** Whether requests are recorded before they are sent, so that none is paid for twice. */
  readonly isPaid: boolean;
};

/** The part of a request that all calls of an iteration share, whatever their purpose. */
export type Underway = Pick<
  ProposalRequest,
  | 'arrived'
  | 'ask'
  | 'finish'
  | 'iteration'
  | 'ledger'
  | 'now'
  | 'onCall'
  | 'onLeft'
  | 'onWait'
  | 'onFault'
  | 'recorded'
  | 'seed'
  | 'signal'
>;

/**
 * Asks for one group of proposals. If a wall-time limit ends the calls in flight, the group is empty. Once
 * `finish` is aborted, no more requests are sent.
 * @param emitCall receives each call, in order
 * @throws ModelError if retrying can't help, or if aborted
 */
export async function askGroup(
  experiment: Experiment,
  iteration: number,
  { abort, finish }: StopRequests,
  emitCall: (call: CallRecord) => void,
  { isPaid, purpose, ...asked }: Asked,
): Promise<ProposalGroup> {
  const { config, setting } = experiment;
  const promptOf = (candidate: number) => (asked.branch?.(candidate) ?? asked).messages;
  const { corrections } = config;
  const { parameters } = setting.family;
  const stopping = { abort, finish };
  const asking = { isPaid, isTimed: true, promptOf, ...(purpose !== undefined && { purpose }) };
  const group = await askWithin(experiment, iteration, stopping, emitCall, asking, (underway) =>
    propose({ ...asked, ...underway, corrections, parameters }),
  );
  return 'proposals' in group ? group : { proposals: [], limit: group.limit };
}

/**
 * Runs `ask` within the run's limits, without repeating calls. If a wall-time limit ends the calls in flight,
 * returns only that limit.
 * @param emitCall receives each call, in order
 * @throws whatever `ask` throws
 */
export async function askWithin<T>(
  experiment: Experiment,
  iteration: number,
  { abort, finish }: StopRequests,
  emitCall: (call: CallRecord) => void,
  {
    isPaid,
    isTimed,
    promptOf,
    purpose,
  }: Pick<Asked, 'isPaid' | 'purpose'> & {
    /** Whether these calls count towards time limits. */
    readonly isTimed: boolean;
    readonly promptOf: (candidate: number) => CallRecord['messages'];
  },
  ask: (underway: Underway) => Promise<T>,
): Promise<T | { readonly limit: LimitName }> {
  const { ledger, now, seed } = experiment;
  const deadline = isTimed ? deadlineOf(experiment) : undefined;
  const onCall = (call: CallRecord) => recordCall(experiment, call, emitCall);
  const earlier = earlierCalls(experiment, iteration, promptOf, purpose, onCall);
  const underway = isPaid ? callsUnderway(experiment, finish, deadline?.leftMs) : undefined;
  try {
    return await ask({
      iteration,
      seed: (candidate, attempt) => callSeed(seed, iteration, candidate, attempt),
      ...earlier,
      ledger,
      signal: deadline === undefined ? abort : AbortSignal.any([abort, deadline.signal]),
      finish,
      now,
      onFault: experiment.onFault,
      onWait: (ms) => experiment.emit({ kind: 'rate-limited', seconds: Math.round(ms / 1000) }),
      ...(underway && { ask: underway.ask, onLeft: (call) => ledger.record(call) }),
      onCall,
    });
  } catch (error) {
    if (abort.aborted || !deadline?.signal.aborted || !(error instanceof ModelError)) throw error;
    return { limit: deadline.limit };
  } finally {
    underway?.close();
  }
}

function recordCall(experiment: Experiment, call: CallRecord, emitCall: (call: CallRecord) => void): void {
  const { arrived, asked, ledger, warn } = experiment;
  // Answers received by an earlier process have already been counted.
  if (!arrived.some((answer) => callKey(answer) === callKey(call))) ledger.record(call);
  if (!isByControl(call) && stageOf(call) === 'proposal') {
    asked.isAnswered ||= call.completion !== undefined;
    asked.isReached ||= asked.isAnswered || faultsOf(call).some((fault) => fault !== 'network');
    if (call.outcome.kind === 'error') asked.lastError = call.outcome.message;
  }
  emitCall(call);
  for (const message of call.completion?.warnings ?? []) warn(message);
}

/**
 * Finds the calls that an earlier process made for this iteration, so that none is paid for twice. Answers to
 * a different prompt (the run now has more iterations, for example) are recorded as unused.
 */
function earlierCalls(
  experiment: Experiment,
  iteration: number,
  promptOf: (candidate: number) => CallRecord['messages'],
  purpose: Stage | undefined,
  onCall: (call: CallRecord) => void,
) {
  const of = <Call extends EndedCall>(calls: readonly Call[]) =>
    calls.filter((call) => call.iteration === iteration && stageOf(call) === (purpose ?? 'proposal'));
  const recorded = of(experiment.unfinishedCalls);
  const answers = of(experiment.arrived);
  const areSame = (a: CallRecord['messages'], b: CallRecord['messages']) =>
    JSON.stringify(a) === JSON.stringify(b);
  for (const answer of answers) {
    const prompt = promptOf(answer.candidate);
    if (areSame(answer.messages.slice(0, prompt.length), prompt)) continue;
    const message = 'the prompt was changed before anything was made of this answer';
    onCall({
      ...answer,
      outcome: { kind: 'error', error: 'aborted', message, retries: 0, latencyMs: 0 },
    });
  }
  const isFollowed = ({ candidate, attempt }: CallRecord) =>
    [...recorded, ...answers].some((later) => later.candidate === candidate && later.attempt > attempt);
  const isFor = (candidate: number, attempt: number, messages: CallRecord['messages']) => (call: EndedCall) =>
    call.candidate === candidate && call.attempt === attempt && areSame(call.messages, messages);
  return {
    recorded: (...place: Parameters<typeof isFor>) =>
      recorded.findLast(
        (call) =>
          isFor(...place)(call) &&
          // Retry a failed call unless another call already followed it.
          (call.outcome.kind !== 'error' || isFollowed(call)),
      ),
    arrived: (...place: Parameters<typeof isFor>) => answers.findLast(isFor(...place)),
  };
}
