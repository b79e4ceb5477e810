/** Asks a model for what is still to be asked in a round: on record before it is sent, and as soon as it is answered. */
import pLimit from 'p-limit';
import {
  type AnswerGrammar,
  type ChatMessage,
  type Completion,
  isFatal,
  type LanguageModel,
  ModelError,
  mayBePaid,
  type SamplingChoice,
  type Usage,
} from '../../models/language-model.js';
import {
  type CallPurpose,
  type CallRecord,
  callId,
  type EndedCall,
  type LimitName,
  purposeOf,
} from '../../runs/calls.js';
import type { AskedRequest, SentRequest } from '../../runs/underway.js';
import type { Ledger } from './ledger.js';

/** Finds a call for these messages. */
type Lookup<Call> = (
  candidate: number,
  attempt: number,
  messages: readonly ChatMessage[],
) => Call | undefined;

export interface AskingRequest {
  readonly iteration: number;
  /** The form of the answers. */
  readonly grammar?: AnswerGrammar;
  /** Sampling seed of a call. */
  readonly seed: (candidate: number, attempt: number) => number;
  /** A call of an interrupted iteration that was paid for already, if its messages are these. */
  readonly recorded: Lookup<CallRecord>;
  /** An answer that such an iteration left, of which nothing was made yet. */
  readonly arrived?: Lookup<EndedCall>;
  readonly model: LanguageModel;
  /** Absent for proposals. */
  readonly purpose?: CallPurpose;
  /** Its name in a portfolio. */
  readonly member?: string | undefined;
  /** Whether it costs nothing, unlike what the ledger counts. */
  readonly isFree?: boolean;
  /** Whether it is a control, which reads no prompt. */
  readonly isControl?: boolean;
  /** See CallRecord. */
  readonly behind?: number | undefined;
  readonly concurrency: number;
  readonly ledger: Ledger;
  /** Aborts the calls under way. */
  readonly signal: AbortSignal;
  /** Once it is aborted, nothing more is asked; calls under way go on. */
  readonly finish?: AbortSignal;
  readonly now: () => Date;
  /** Whether the server of the model has ever been reached; left out, it has. */
  readonly isReached?: () => boolean;
  /** Told that a request waits for its turn, for about so many milliseconds. */
  readonly onWait?: (milliseconds: number) => void;
  /** Notes a request before it is sent; left out where calls cost nothing. */
  readonly ask?: (request: AskedRequest) => Promise<SentRequest>;
}

/** A candidate that is asked for, with the messages of its next call. */
export interface Asked {
  readonly candidate: number;
  readonly messages: readonly ChatMessage[];
  /** In place of the model's own settings. */
  readonly sampling?: SamplingChoice | undefined;
  /** Texts of which the answer is to be one. */
  readonly choices?: readonly string[] | undefined;
  /** Texts to score in place of an answer. */
  readonly score?: readonly string[] | undefined;
}

/** A call of an earlier process that is judged already, or one that is to be judged. */
type Reply =
  | { readonly kind: 'recorded'; readonly call: CallRecord }
  | { readonly kind: 'ended'; readonly call: EndedCall };

/** The error of a call after which asking again is pointless. */
export function finalError(
  { outcome }: EndedCall,
  { isReached }: Pick<AskingRequest, 'isReached'>,
): ModelError | undefined {
  if (outcome?.kind !== 'error') return undefined;
  const { error, message } = outcome;
  const nobodyThere = error === 'network' && isReached?.() === false;
  return isFatal(error) || error === 'aborted' || nobodyThere
    ? new ModelError(error, message, outcome)
    : undefined;
}

export interface Round {
  /** undefined: not asked. */
  readonly replies: readonly (Reply | undefined)[];
  /** Whether a request to stop, or the end of the time, kept it from asking for all. */
  readonly isCut: boolean;
  /** The limit that kept it from that. */
  readonly limit?: LimitName;
  /** Gives back the room of its calls: they are counted now. */
  readonly release: () => void;
}

/** Asks for every pending candidate that has no recorded reply: in one group call where the model can, else each. */
export async function askRound(
  request: AskingRequest,
  pending: readonly Asked[],
  attempt: number,
): Promise<Round> {
  const { arrived, finish, isControl, isFree, ledger, model, purpose, recorded, signal } = request;
  const replies = pending.map((item): Reply | undefined => {
    const place = [item.candidate, attempt, item.messages] as const;
    const call = recorded(...place);
    const answer = call ?? arrived?.(...place);
    return answer && (call ? { kind: 'recorded', call } : { kind: 'ended', call: answer });
  });
  const rooms: Room[] = [];
  const release = () => {
    for (const room of rooms) room.release();
  };
  const open = () => pending.flatMap((item, i) => (replies[i] === undefined ? [{ item, i }] : []));
  const isStopped = () => signal.aborted || finish?.aborted === true;
  const isCut = () => isStopped() && replies.some((reply) => reply === undefined || isAborted(reply.call));
  const reserve = async () => {
    const prompts = open().map(({ item }) => item.messages);
    const room = await ledger.exclusively(() => ledger.reserve(prompts, isFree, purpose));
    if (room.kind === 'granted') rooms.push(room);
    return room;
  };
  const askFor = async (asked: readonly ReturnType<typeof open>[number][], room: Room) => {
    const calls = await ask(
      request,
      asked.map(({ item }) => item),
      attempt,
      room,
    );
    for (const [k, call] of calls.entries()) replies[asked[k]!.i] = { kind: 'ended', call };
    return calls;
  };
  try {
    const first = open();
    const groups = isControl ? [first] : ofOnePrompt(first);
    const together = groups.filter((group) => group.length > 1);
    if (attempt === 0 && together.length > 0 && model.givesSeveral && !isStopped()) {
      const room = await reserve();
      if (room.kind === 'refused') return { replies, isCut: false, limit: room.limit, release };
      const limit = pLimit(request.concurrency);
      const asked = together.map((group) =>
        limit(async () => (isStopped() ? [] : await askFor(group, room))),
      );
      const calls = (await Promise.all(asked)).flat();
      if (calls.some((call) => finalError(call, request))) return { replies, isCut: isCut(), release };
      // Those that it gave no answer for are asked for anew: it has used its room.
      room.settle(calls);
    }
    const rest = open();
    if (rest.length > 0 && !isStopped()) {
      const room = await reserve();
      if (room.kind === 'refused') return { replies, isCut: false, limit: room.limit, release };
      const limit = pLimit(request.concurrency);
      await Promise.all(
        rest.map((one) => limit(async () => (isStopped() ? undefined : askFor([one], room)))),
      );
    }
    return { replies, isCut: isCut(), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Those that answer the same prompt. */
function ofOnePrompt<One extends { readonly item: Asked }>(
  asked: readonly One[],
): readonly (readonly One[])[] {
  const groups = new Map<Asked['messages'], One[]>();
  for (const one of asked) groups.set(one.item.messages, [...(groups.get(one.item.messages) ?? []), one]);
  return [...groups.values()];
}

const isAborted = ({ outcome }: EndedCall) => outcome?.kind === 'error' && outcome.error === 'aborted';

type Room = Extract<ReturnType<Ledger['reserve']>, { kind: 'granted' }>;

/**
 * Makes one request for the candidates once it has its turn: on record before it is sent, and its answers as soon as they
 * arrive.
 * @returns the calls of the first candidates, perhaps not of all; an error is that of the first. None where a request to
 *   stop ends the wait
 */
async function ask(
  request: AskingRequest,
  items: readonly Asked[],
  attempt: number,
  { maxTokens, tryAgain }: Room,
): Promise<readonly EndedCall[]> {
  const { behind, finish, grammar, isFree, iteration, ledger, member, model, now, onWait, purpose, signal } =
    request;
  if (!(await hasTurn(request))) return [];
  const { choices, messages, sampling, score } = items[0]!;
  const candidates = items.map(({ candidate }) => ({ candidate, seed: request.seed(candidate, attempt) }));
  const sent = isFree
    ? undefined
    : await request.ask?.({
        ...{ iteration, attempt, candidates, messages, purpose: purposeOf({ attempt, purpose }) },
      });
  const settled = await settle(() =>
    model.generate(messages, {
      seeds: candidates.map(({ seed }) => seed),
      callId: callId({ iteration, candidate: candidates[0]!.candidate, attempt }),
      ...(grammar && { grammar }),
      ...(sampling && { sampling }),
      ...(choices && { choices }),
      ...(score && { score }),
      signal,
      hasTurn: true,
      ...(finish && { finish }),
      ...(onWait && { onWait }),
      ...(maxTokens !== undefined && { maxTokens }),
      mayTryAgain(kind) {
        const noted = (may: boolean) => {
          if (may && mayBePaid(kind)) sent?.lost(kind);
          return may;
        };
        const may = tryAgain(kind, items.length);
        return typeof may === 'boolean' ? noted(may) : may.then(noted);
      },
    }),
  );
  const costOf = (usage: Usage) => (isFree ? undefined : ledger.cost(usage, purpose));
  const calls = endedCalls(settled, costOf, (k) => ({
    ...{ iteration, candidate: candidates[k]!.candidate, attempt, messages: items[k]!.messages },
    ...{ seed: candidates[k]!.seed, time: now().toISOString() },
    purpose: purposeOf({ attempt, purpose }),
    ...(member !== undefined && { member }),
    ...(behind !== undefined && { behind }),
    ...(k === 0 && items.length > 1 && { choices: items.length }),
  }));
  sent?.answered(calls);
  return calls;
}

/** Waits until a request may be sent, unless nothing more is to be asked. */
async function hasTurn({ finish, model, onWait, signal }: AskingRequest): Promise<boolean> {
  const ended = finish === undefined ? signal : AbortSignal.any([signal, finish]);
  try {
    await model.rate?.turn({ signal: ended, onWait });
    return true;
  } catch (error) {
    if (ended.aborted) return false;
    throw error;
  }
}

type Settled =
  | { readonly kind: 'completions'; readonly completions: readonly Completion[] }
  | { readonly kind: 'error'; readonly error: ModelError };

async function settle(call: () => Promise<readonly Completion[]>): Promise<Settled> {
  try {
    return { kind: 'completions', completions: await call() };
  } catch (error) {
    if (error instanceof ModelError) return { kind: 'error', error };
    throw error;
  }
}

/** @param base the k-th call but for its outcome */
function endedCalls(
  settled: Settled,
  costOf: (usage: Usage) => number | undefined,
  base: (k: number) => EndedCall,
): readonly EndedCall[] {
  if (settled.kind === 'completions') {
    return settled.completions.map((completion, k) => {
      const cost = costOf(completion.usage);
      return { ...base(k), completion, ...(cost !== undefined && { cost }) };
    });
  }
  const { kind, message, retries, failedTries, latencyMs } = settled.error;
  const tries = failedTries.length > 0 && { failedTries };
  return [{ ...base(0), outcome: { kind: 'error', error: kind, message, retries, ...tries, latencyMs } }];
}
