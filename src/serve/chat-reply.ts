/** Chat completions as OpenAI's API writes them, whole and in chunks. */
import type { Completion, CompletionToken, FinishReason } from '../models/language-model.js';

/** Fields of all parts of one reply. */
export interface ReplyHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

export interface Choice {
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly logprobs: ChoiceLogprobs | null;
}

interface ChoiceLogprobs {
  readonly content: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly bytes: readonly number[];
    readonly top_logprobs: readonly never[];
  }[];
}

export function logprobsOf(tokens: readonly CompletionToken[]): ChoiceLogprobs {
  return {
    content: tokens.map(({ bytes, logProbability }) => ({
      token: Buffer.from(bytes).toString('utf8'),
      logprob: logProbability,
      bytes,
      top_logprobs: [],
    })),
  };
}

/** Token counts of the call, which stand on its first completion. */
export function usageOf([first]: readonly Completion[]) {
  const { promptTokens = 0, cachedTokens = 0, completionTokens = 0 } = first?.usage ?? {};
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
export type ReplyUsage = ReturnType<typeof usageOf>;

export function completionBody(head: ReplyHead, choices: readonly Choice[], usage: ReplyUsage) {
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map(({ text, finishReason, logprobs }, index) => ({
      index,
      message: { role: 'assistant', content: text, refusal: null },
      logprobs,
      finish_reason: finishReason,
    })),
    usage,
  };
}

/** One chunk of a stream: more text of a choice, its beginning or its end. */
export function choiceChunk(
  head: ReplyHead,
  index: number,
  part: {
    readonly role?: 'assistant';
    readonly content?: string;
    readonly logprobs?: ChoiceLogprobs | null;
    readonly finishReason?: FinishReason;
  },
) {
  const { role, content, logprobs = null, finishReason = null } = part;
  const delta = { ...(role && { role }), ...(content !== undefined && { content }) };
  return {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, logprobs, finish_reason: finishReason }],
  };
}

export function usageChunk(head: ReplyHead, usage: ReplyUsage) {
  return { ...head, object: 'chat.completion.chunk', choices: [], usage };
}
