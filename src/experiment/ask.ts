/**
 * Asks a model until its answers are usable: request → read → correct. An unusable answer is sent back with the reason,
 * up to a maximum number of corrections. Stays within the run's limits, and reuses the answers that an interrupted
 * process received.
 */

import { callSeed } from '../base/random/seeds.js';
import { isByBaseline } from '../config/model.js';
import {
  type ChatMessage,
  type Completion,
  ModelError,
  type ModelErrorKind,
  type SamplingChoice,
} from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/failure.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import {
  type CallRecord,
  type EndedCall,
  faultsOf,
  type LimitName,
  type Shown,
  stageOf,
} from '../runs/calls.js';
import type { StopReason } from '../runs/events.js';
import type { StopRequests } from '../runs/stop-request.js';
import { type AskingRequest, askRound, finalError, type Round } from './budget/ask-round.js';
import type { Experiment } from './parts.js';
import { callsUnderway, deadlineOf } from './stopping.js';

/** One candidate's calls, in order; the last call determines the outcome. */
export type Proposal =
  | {
      readonly kind: 'accepted';
      readonly candidate: number;
      readonly parameters: ParameterVector;
      readonly calls: readonly CallRecord[];
    }
  | { readonly kind: 'rejected'; readonly candidate: number; readonly calls: readonly CallRecord[] };

/** The proposals of all candidates. `end`: why the run ends; after a stop request or a time limit, there are no proposals. */
export interface ProposalGroup {
  readonly proposals: readonly Proposal[];
  readonly end?: StopReason | undefined;
}

export const callsOf = ({ proposals }: ProposalGroup): readonly CallRecord[] =>
  proposals.flatMap(({ calls }) => calls);

export interface Prompt {
  readonly messages: readonly ChatMessage[];
  readonly shown?: Shown;
  readonly formatCorrection: (failure: ParseFailure) => string;
}

export type Answerer = Pick<AskingRequest, 'model' | 'purpose' | 'member' | 'isFree' | 'isBaseline'>;

/** What to ask, whom to ask, and how to interpret the answers. */
export interface Question
  extends Pick<AskingRequest, 'behind' | 'concurrency' | 'grammar' | 'isReached' | 'purpose'> {
  readonly candidates: number;
  readonly first?: number;
  /** Returns the model that answers for a candidate. */
  readonly by: (candidate: number) => Answerer;
  readonly prompt: Prompt;
  /** @param accepted the proposals that this question has accepted so far, by `vectorKey` */
  readonly outcomeOf: (
    call: EndedCall & { readonly completion: Completion },
    accepted: ReadonlyMap<string, ParameterVector>,
  ) => Promise<CallRecord['outcome']>;
  /** If nothing is accepted, stops once this many of the model's answers are rejected; unlimited if omitted. */
  readonly mostRejected?: number | undefined;
  /** Sampling settings for correcting a proposal that repeats another; unchanged if omitted. */
  readonly afterRepeat?: ((attempt: number) => SamplingChoice) | undefined;
}

export interface AskRequest extends Question, Omit<AskingRequest, 'shown' | keyof Answerer> {
  readonly corrections: number;
  /** Receives each new call once its outcome is known. */
  readonly onCall: (call: CallRecord) => void;
}

/**
 * Asks one iteration's question. If a time limit aborts the calls in flight, the group is empty.
 * @param isPaid whether requests are recorded before they are sent, so a resumed run knows which were sent
 * @throws ModelError if retrying can't help or the calls are aborted
 */
export async function ask(
  experiment: Experiment,
  iteration: number,
  { abort, finish }: StopRequests,
  { isPaid, ...question }: Question & { readonly isPaid: boolean },
  emitCall: (call: CallRecord) => void,
): Promise<ProposalGroup> {
  const { clock, config, ledger, log } = experiment;
  const deadline = deadlineOf(experiment);
  const onCall = (call: CallRecord) => recordCall(experiment, call, emitCall);
  const earlier = earlierCalls(experiment, iteration, question, onCall);
  const underway = isPaid ? callsUnderway(experiment, finish, deadline?.leftMs) : undefined;
  try {
    return await askUntilUsable({
      ...question,
      ...earlier,
      finish,
      iteration,
      ledger,
      now: clock.now,
      onCall,
      onFault: log.onFault,
      corrections: config.corrections,
      seed: (candidate, attempt) => callSeed(config.seed, iteration, candidate, attempt),
      signal: deadline === undefined ? abort : AbortSignal.any([abort, deadline.signal]),
      onWait: (ms) => log.emit({ kind: 'rate-limited', seconds: Math.round(ms / 1000) }),
      ...(underway && { ask: underway.ask }),
    });
  } catch (error) {
    if (abort.aborted || !deadline?.signal.aborted || !(error instanceof ModelError)) throw error;
    return { proposals: [], end: { kind: 'limit', limit: deadline.limit } };
  } finally {
    underway?.close();
  }
}

function recordCall(experiment: Experiment, call: CallRecord, emitCall: (call: CallRecord) => void): void {
  const { log, progress } = experiment;
  if (!isByBaseline(call) && stageOf(call) === 'proposal') {
    progress.isAnswered ||= call.completion !== undefined;
    progress.isReached ||= progress.isAnswered || faultsOf(call).some((fault) => fault !== 'network');
    if (call.outcome.kind === 'error') progress.lastError = call.outcome.message;
  }
  emitCall(call);
  for (const message of call.completion?.warnings ?? []) log.warn(message);
}

/**
 * Finds the calls that an earlier process made for this iteration. Answers to a different prompt (for example, because
 * the run now has more iterations) are recorded as unused.
 */
function earlierCalls(
  experiment: Experiment,
  iteration: number,
  { prompt, purpose = 'proposal' }: Pick<Question, 'prompt' | 'purpose'>,
  onCall: (call: CallRecord) => void,
) {
  const of = <Call extends EndedCall>(calls: readonly Call[]) =>
    calls.filter((call) => call.iteration === iteration && stageOf(call) === purpose);
  const recorded = of(experiment.earlier.calls);
  const answers = of(experiment.earlier.arrived);
  const areSame = (a: CallRecord['messages'], b: CallRecord['messages']) =>
    JSON.stringify(a) === JSON.stringify(b);
  for (const answer of answers) {
    const { messages } = prompt;
    if (areSame(answer.messages.slice(0, messages.length), messages)) continue;
    const message = 'the prompt changed before this answer was used';
    onCall({ ...answer, outcome: { kind: 'error', error: 'aborted', message, retries: 0, latencyMs: 0 } });
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

interface Pending {
  readonly candidate: number;
  messages: readonly ChatMessage[];
  sampling?: SamplingChoice | undefined;
  readonly calls: CallRecord[];
}

/**
 * Requests, reads and corrects the answers of all candidates. Answers arrive concurrently but are read in candidate
 * order, so network timing doesn't decide which of two equal proposals counts as the repeat.
 * @throws see `ask`
 */
export async function askUntilUsable(request: AskRequest): Promise<ProposalGroup> {
  const { candidates, corrections, first = 0, mostRejected = Number.POSITIVE_INFINITY } = request;
  const accepted = new Map<string, ParameterVector>();
  const done: Proposal[] = [];
  let pending = Array.from({ length: candidates }, (_, i): Pending => {
    return { candidate: first + i, messages: request.prompt.messages, calls: [] };
  });
  let rejected = 0;
  let reached: LimitName | undefined;
  for (let attempt = 0; attempt <= corrections && pending.length > 0; attempt++) {
    const { isCut, limit, replies } = await askEach(request, pending, attempt);
    if (isCut) return abandon(request, replies);
    let final: ModelError | undefined;
    const again: Pending[] = [];
    for (const [i, item] of pending.entries()) {
      const reply = replies[i];
      if (reply === undefined) {
        again.push(item);
        continue;
      }
      const call = reply.kind === 'recorded' ? reply.call : await judged(request, reply.call, accepted);
      item.calls.push(call);
      if (reply.kind === 'ended') {
        request.onCall(call);
        final = finalError(call, request) ?? final;
      }
      const { outcome } = call;
      if (outcome.kind === 'accepted') {
        const { parameters } = outcome;
        accepted.set(vectorKey(parameters), parameters);
        done.push({ kind: 'accepted', candidate: item.candidate, parameters, calls: item.calls });
        continue;
      }
      if (outcome.kind === 'rejected') {
        if (!request.by(item.candidate).isBaseline) rejected++;
        const { kind } = outcome.failure;
        const isRepeat = kind === 'repeated' || kind === 'echo';
        item.sampling = isRepeat ? request.afterRepeat?.(attempt + 1) : undefined;
        item.messages = [
          ...item.messages,
          // Some servers reject a message without content.
          { role: 'assistant', content: call.completion?.text.trim() ? call.completion.text : '(no text)' },
          { role: 'user', content: request.prompt.formatCorrection(outcome.failure) },
        ];
      }
      // The provider would refuse the same prompt again.
      if (outcome.kind === 'error' && isRefusal(outcome.error)) done.push(reject(item));
      else again.push(item);
    }
    if (final !== undefined) throw final;
    pending = again;
    const isHopeless = accepted.size === 0 && rejected >= mostRejected && pending.length > 0;
    reached = limit ?? (isHopeless ? 'rejections' : undefined);
    if (reached !== undefined) break;
  }
  const proposals = [...done, ...pending.map(reject)].toSorted((a, b) => a.candidate - b.candidate);
  return { proposals, end: reached && { kind: 'limit', limit: reached } };
}

/** Runs one round, in which all portfolio members are asked concurrently. */
async function askEach(request: AskRequest, pending: readonly Pending[], attempt: number): Promise<Round> {
  const groups: { readonly answerer: Answerer; readonly items: Pending[] }[] = [];
  for (const item of pending) {
    const answerer = request.by(item.candidate);
    // In a replay, all members have the same model (the recording), so compare their names too.
    const own = groups.find(
      (group) => group.answerer.model === answerer.model && group.answerer.member === answerer.member,
    );
    if (own === undefined) groups.push({ answerer, items: [item] });
    else own.items.push(item);
  }
  const rounds = await Promise.all(
    groups.map(async ({ answerer, items }) => ({
      items,
      round: await askRound({ ...request, ...answerer, shown: request.prompt.shown }, items, attempt),
    })),
  );
  const replies = new Map(
    rounds.flatMap(({ items, round }) => items.map((item, i) => [item, round.replies[i]] as const)),
  );
  const limit = rounds.map(({ round }) => round.limit).find((one) => one !== undefined);
  return {
    replies: pending.map((item) => replies.get(item)),
    isCut: rounds.some(({ round }) => round.isCut),
    ...(limit !== undefined && { limit }),
  };
}

const isRefusal = (kind: ModelErrorKind) => kind === 'content-filter' || kind === 'too-long';

const reject = ({ candidate, calls }: Pending): Proposal => ({ kind: 'rejected', candidate, calls });

/** Ends an incomplete round. Stores its answers uninterpreted, because those of earlier candidates may be missing. */
function abandon(request: AskRequest, replies: Round['replies']): ProposalGroup {
  let final: ModelError | undefined;
  for (const reply of replies) {
    if (reply?.kind !== 'ended') continue;
    const { outcome, ...call } = reply.call;
    // Answers are interpreted when the iteration resumes.
    if (outcome !== undefined) request.onCall({ ...call, outcome });
    final = finalError(reply.call, request) ?? final;
  }
  if (final !== undefined) throw final;
  if (!request.signal.aborted) return { proposals: [], end: { kind: 'interrupted' } };
  throw new ModelError('aborted', 'the call was aborted', { retries: 0, latencyMs: 0 });
}

async function judged(
  request: AskRequest,
  { completion, cost, outcome, ...base }: EndedCall,
  accepted: ReadonlyMap<string, ParameterVector>,
): Promise<CallRecord> {
  if (completion === undefined) return { ...base, outcome: outcome! };
  const read = await request.outcomeOf({ ...base, completion }, accepted);
  return { ...base, outcome: read, completion, ...(cost !== undefined && { cost }) };
}
