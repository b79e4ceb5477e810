/**
 * One prompt, K proposals: render → generate → parse → correct. An unusable reply is sent back with the reason, up to a
 * maximum number of corrections. After that the proposal is rejected, which is data, not an error.
 */
import {
  type ChatMessage,
  type Completion,
  ModelError,
  type ModelErrorKind,
  type SamplingChoice,
} from '../models/language-model.js';
import { hiddenAsIn, receivedText } from '../models/secrets.js';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import {
  type ParseContext,
  type ParseFailure,
  type ParseResult,
  parseParameters,
  type SeenParameters,
} from '../prompting/answer/parse.js';
import { changesGrammar, parseChanges } from '../prompting/notation/changes.js';
import { type AnswerForm, answerGrammar } from '../prompting/notation/grammar.js';
import { parseTold, type Telling } from '../prompting/notation/telling.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import { type CallRecord, currentFailure, type EndedCall, type LimitName } from '../runs/calls.js';
import { type AskingRequest, askRound, finalError, type Round } from './budget/asking.js';

/** One candidate's calls, in order; the last one decides. */
export type Proposal =
  | {
      readonly kind: 'accepted';
      readonly candidate: number;
      readonly parameters: ParameterVector;
      readonly calls: readonly CallRecord[];
    }
  | { readonly kind: 'rejected'; readonly candidate: number; readonly calls: readonly CallRecord[] };

export interface ProposalRequest extends Omit<AskingRequest, 'grammar' | keyof Answerer> {
  /** The model that answers for a candidate. */
  readonly by: (candidate: number) => Answerer;
  /** The parameters that a proposal must have. */
  readonly parameters: ParameterSpec;
  /** How parameters are encoded for the model; unchanged if omitted. */
  readonly telling?: Telling | undefined;
  /** The form of answers (default: `freeForm`). */
  readonly form?: AnswerForm;
  readonly candidates: number;
  /** Number of the first candidate (default: 0). */
  readonly first?: number;
  readonly corrections: number;
  /** Stops correcting once this many are accepted; if omitted, every candidate is corrected. */
  readonly enough?: number | undefined;
  /** If nothing has been accepted, stops after this many of the model's replies were rejected; unlimited if omitted. */
  readonly mostRejected?: number;
  /** The prompt that all candidates answer. */
  readonly messages: readonly ChatMessage[];
  /** Finds earlier uses of the same parameters; omitted if repeats are allowed. */
  readonly seen?: (parameters: ParameterVector) => SeenParameters | undefined;
  /**
   * Checks a proposal's distance to earlier ones: refuses it, moves it, or returns undefined if it is fine.
   * @param accepted proposals of this iteration
   */
  readonly placed?: (
    parameters: ParameterVector,
    accepted: readonly ParameterVector[],
    call: EndedCall,
  ) => WrongPlace | undefined;
  readonly formatCorrection: (failure: ParseFailure) => string;
  /** Sampling settings after the model has repeated known parameters; unchanged if omitted. */
  readonly afterRepeat?: ((attempt: number) => SamplingChoice) | undefined;
  /** A candidate's parent, with a prompt of its own; if omitted, all candidates answer `messages`. */
  readonly branch?: (candidate: number) => Branch;
  /** Receives every call as soon as its outcome is known. */
  readonly onCall: (call: CallRecord) => void;
  /** Receives each answer of an interrupted round; it is judged when the iteration resumes. */
  readonly onLeft?: (call: EndedCall) => void;
}

/**
 * The proposals of all candidates. `limit`: a cap refused a call, so some may be missing. `unfinished`: some
 * requests were never made, so the iteration must not be recorded yet.
 */
export interface ProposalGroup {
  readonly proposals: readonly Proposal[];
  readonly limit?: LimitName;
  readonly unfinished?: true;
}

/** A proposal that is too close to an earlier one, or too far from it. */
export type WrongPlace =
  | { readonly kind: 'refused'; readonly failure: ParseFailure }
  | { readonly kind: 'moved'; readonly parameters: ParameterVector; readonly distance: number };

/** The prompt of the candidates that share one parent. */
export interface Branch extends Pick<ProposalRequest, 'messages' | 'formatCorrection'> {
  /** The parameters that changes are added to; absent if full parameters are proposed. */
  readonly changes?: ParameterVector;
}

/** A model and its role in a portfolio. */
export type Answerer = Pick<AskingRequest, 'model' | 'purpose' | 'member' | 'isFree' | 'isControl'>;

interface Pending {
  readonly candidate: number;
  messages: readonly ChatMessage[];
  sampling?: SamplingChoice | undefined;
  readonly calls: CallRecord[];
}

/**
 * Requests, parses and corrects the proposals of all candidates. Replies of a round arrive concurrently but are judged
 * in candidate order, so which of two equal proposals counts as the repeat doesn't depend on the network.
 * @throws ModelError if retrying can't help, or if aborted
 */
export async function propose(request: ProposalRequest): Promise<ProposalGroup> {
  const changes = request.branch?.(0).changes !== undefined;
  const { form, parameters: spec, telling } = request;
  const grammar = changes ? changesGrammar(spec, form) : answerGrammar(telling?.spec ?? spec, form);
  const asking = { ...request, grammar };
  const accepted = new Map<string, ParameterVector>();
  const done: Proposal[] = [];
  const { candidates, first = 0 } = request;
  let pending: Pending[] = Array.from({ length: candidates }, (_, i) => ({
    candidate: first + i,
    messages: (request.branch?.(first + i) ?? request).messages,
    calls: [],
  }));
  let rejected = 0;
  const { mostRejected = Number.POSITIVE_INFINITY } = request;
  const isEnough = () => accepted.size >= (request.enough ?? candidates);
  for (let attempt = 0; attempt <= request.corrections && pending.length > 0 && !isEnough(); attempt++) {
    const { isCut, limit, release, replies } = await askEach(asking, pending, attempt);
    if (isCut) {
      release();
      return leave(request, replies);
    }
    let final: ModelError | undefined;
    const again: Pending[] = [];
    for (const [i, item] of pending.entries()) {
      const reply = replies[i];
      if (reply === undefined) {
        again.push(item);
        continue;
      }
      const call = reply.kind === 'recorded' ? reply.call : judge(request, reply.call, accepted);
      item.calls.push(call);
      if (reply.kind === 'ended') {
        request.onCall(call);
        final = finalError(call, request) ?? final;
      }
      if (call.outcome.kind === 'accepted') {
        const { parameters } = call.outcome;
        accepted.set(vectorKey(parameters), parameters);
        done.push({ kind: 'accepted', candidate: item.candidate, parameters, calls: item.calls });
        continue;
      }
      if (call.outcome.kind === 'rejected') {
        if (!request.by(item.candidate).isControl) rejected++;
        const { kind } = call.outcome.failure;
        const isRepeat = kind === 'repeated' || kind === 'echo' || kind === 'too-close';
        item.sampling = isRepeat ? request.afterRepeat?.(attempt + 1) : undefined;
        item.messages = [
          ...item.messages,
          // Some servers reject a message without content.
          { role: 'assistant', content: call.completion?.text.trim() ? call.completion.text : noText },
          {
            role: 'user',
            content: (request.branch?.(item.candidate) ?? request).formatCorrection(
              currentFailure(call.outcome.failure),
            ),
          },
        ];
      }
      // The same prompt would be refused again.
      if (call.outcome.kind === 'error' && isRefusal(call.outcome.error)) done.push(reject(item));
      else again.push(item);
    }
    release();
    if (final !== undefined) throw final;
    pending = again;
    const isHopeless = accepted.size === 0 && rejected >= mostRejected;
    const reached = limit ?? (isHopeless && pending.length > 0 ? 'rejections' : undefined);
    if (reached !== undefined) {
      return { proposals: sorted([...done, ...pending.map(reject)]), limit: reached };
    }
  }
  return { proposals: sorted([...done, ...pending.map(reject)]) };
}

/** One round: asks all members for their candidates concurrently. */
async function askEach(
  request: ProposalRequest & Pick<AskingRequest, 'grammar'>,
  pending: readonly Pending[],
  attempt: number,
): Promise<Round> {
  const members = new Map<string | undefined, { readonly answerer: Answerer; readonly items: Pending[] }>();
  for (const item of pending) {
    const answerer = request.by(item.candidate);
    const own = members.get(answerer.member) ?? { answerer, items: [] };
    members.set(answerer.member, own);
    own.items.push(item);
  }
  const rounds = await Promise.all(
    [...members.values()].map(async ({ answerer, items }) => ({
      items,
      round: await askRound({ ...request, ...answerer }, items, attempt),
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
    release() {
      for (const { round } of rounds) round.release();
    },
  };
}

const noText = '(no text)';

const isRefusal = (kind: ModelErrorKind) => kind === 'content-filter' || kind === 'too-long';

const reject = ({ candidate, calls }: Pending): Proposal => ({ kind: 'rejected', candidate, calls });

const sorted = (proposals: readonly Proposal[]) => proposals.toSorted((a, b) => a.candidate - b.candidate);

/**
 * Abandons a round with missing replies. Replies that did arrive are not judged, because a missing one may
 * precede them.
 * @throws ModelError if calls were aborted
 */
function leave(request: ProposalRequest, replies: Round['replies']): ProposalGroup {
  let final: ModelError | undefined;
  for (const reply of replies) {
    if (reply?.kind !== 'ended') continue;
    const { outcome, ...call } = reply.call;
    if (outcome === undefined) request.onLeft?.(call);
    else request.onCall({ ...call, outcome });
    final = finalError(reply.call, request) ?? final;
  }
  if (final !== undefined) throw final;
  if (request.signal.aborted) {
    throw new ModelError('aborted', 'the call was aborted', { retries: 0, latencyMs: 0 });
  }
  return { proposals: [], unfinished: true };
}

/** The record of a call, with its reply parsed if there is one. */
function judge(
  request: ProposalRequest,
  call: EndedCall,
  accepted: ReadonlyMap<string, ParameterVector>,
): CallRecord {
  const { completion, cost, outcome, ...base } = call;
  if (completion === undefined) return { ...base, outcome: outcome! };
  return {
    ...base,
    outcome: outcomeOf(request, { ...base, completion }, accepted),
    completion,
    ...(cost !== undefined && { cost }),
  };
}

function outcomeOf(
  request: ProposalRequest,
  call: EndedCall & { readonly completion: Completion },
  accepted: ReadonlyMap<string, ParameterVector>,
): CallRecord['outcome'] {
  const { completion } = call;
  const { iteration, seen } = request;
  const context = {
    ...(seen && {
      seen: (parameters: ParameterVector) =>
        accepted.has(vectorKey(parameters)) ? { iteration } : seen(parameters),
    }),
    finishReason: completion.finishReason,
    constrained: completion.constrained,
  };
  const text = receivedText(completion);
  const result = readProposal(request, call.candidate, text, context);
  if (!result.ok) return { kind: 'rejected', failure: hiddenAsIn(completion, result.failure) };
  const { predicted, value } = result;
  const wrong = request.placed?.(value, [...accepted.values()], call);
  switch (wrong?.kind) {
    case undefined:
      return { kind: 'accepted', parameters: value, ...(predicted !== undefined && { predicted }) };
    case 'refused':
      return { kind: 'rejected', failure: wrong.failure };
    case 'moved': {
      const { distance, parameters } = wrong;
      return {
        ...{ kind: 'accepted', parameters, moved: { from: value, distance } },
        ...(predicted !== undefined && { predicted }),
      };
    }
  }
}

/** A baseline has no parent and no prompt: it always proposes plain parameters, whatever the form. */
function readProposal(
  { branch, by, parameters, telling }: ProposalRequest,
  candidate: number,
  text: string,
  context: ParseContext,
): ParseResult {
  if (by(candidate).isControl) return parseParameters(text, parameters, context);
  const parent = branch?.(candidate).changes;
  if (parent !== undefined) return parseChanges(text, parent, parameters, context);
  return telling === undefined
    ? parseParameters(text, parameters, context)
    : parseTold(text, telling, context);
}
