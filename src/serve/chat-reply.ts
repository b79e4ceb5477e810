/** Chat completions as OpenAI's API writes them, whole and in chunks. */
import type { GeneratedAnswer } from '../models/local/engine/generation.js';
import type { JobResult } from '../models/local/engine/protocol.js';
import type { TokenBytes } from '../models/local/tokens/token-text.js';

/** What all parts of one reply have in common. */
export interface ReplyHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

type FinishReason = GeneratedAnswer['finishReason'];

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

export function logprobsOf(answer: GeneratedAnswer, bytes: TokenBytes): ChoiceLogprobs {
  return {
    content: answer.ids.map((id, i) => ({
      token: Buffer.from(bytes.of(id)).toString('utf8'),
      logprob: answer.logProbabilities![i]!,
      bytes: [...bytes.of(id)],
      top_logprobs: [],
    })),
  };
}

export function usageOf({ answers, promptTokens, cachedTokens }: JobResult) {
  const completionTokens = answers.reduce((sum, { ids }) => sum + ids.length, 0);
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
