import { sum } from '../statistics/descriptive.js';
import {
  type ChatMessage,
  type Completion,
  type ReplyFault,
  shortenPromptHint,
  type Usage,
} from './language-model.js';

/** Maximum number of tokens that a chat template adds to each message. */
const templateTokens = 8;
/** Maximum number of tokens that a template may add to a prompt: a default system prompt, a tool preamble. */
const preambleTokens = 256;

/** Returns an upper bound on a prompt's tokens: 1 per digit, symbol or byte of other scripts, 1 per three letters. */
export function maxPromptTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + templateTokens + maxTextTokens(content), preambleTokens);
}

export function maxTextTokens(text: string): number {
  let tokens = 0;
  for (const [run, word, gap] of text.matchAll(/ ?([A-Za-z]+)|([ \t]+)|\p{ASCII}|\P{ASCII}+/gu)) {
    if (word !== undefined) tokens += Math.ceil(word.length / 3);
    else tokens += gap === undefined ? Buffer.byteLength(run) : 1;
  }
  return tokens;
}

/** Returns a lower bound on tokens: one per word, run of symbols or four digits, minus a fifth for exceptions. */
export function minPromptTokens(messages: readonly ChatMessage[]): number {
  let tokens = 0;
  for (const { content } of messages) {
    for (const [run] of content.matchAll(/[A-Za-z]+|[0-9]+|[!-/:-@[-`{-~]+(?![A-Za-z])/g)) {
      tokens += /^[0-9]/.test(run) ? Math.ceil(run.length / 4) : 1;
    }
  }
  return Math.floor(tokens * 0.8);
}

/** Token counts as sent by a provider, before they are checked. */
export interface ReportedCounts {
  readonly prompt: unknown;
  readonly cached?: unknown;
  readonly completion: unknown;
  readonly reasoning?: unknown;
  readonly total?: unknown;
}

type Reply = Pick<Completion, 'text' | 'reasoning' | 'finishReason'>;

/** Finds faults that are visible in the reply itself. */
export function replyFaults({ text, finishReason }: Reply): readonly ReplyFault[] {
  const faults: ReplyFault[] = [];
  if (finishReason === 'content-filter') faults.push('content-filter');
  else if (text.trim() === '') faults.push('no-text');
  if (finishReason === 'length' && endsInLoop(text)) faults.push('loop');
  return faults;
}

/** Explains what to do about an empty reply; undefined if it has text or was stopped by a content filter. */
export function emptyReplyWarning(
  { text, reasoning, finishReason }: Reply,
  maxTokens: number | undefined,
): string | undefined {
  if (text.trim() !== '' || finishReason === 'content-filter') return undefined;
  if (finishReason === 'length') {
    const [limit, change] =
      maxTokens === undefined ? ["the provider's token limit", 'set'] : [`all ${maxTokens} tokens`, 'raise'];
    return `the model used up ${limit} before it answered, probably on thinking: ${change} model.maxTokens, or make it think less`;
  }
  return reasoning === undefined
    ? `the model gave an empty reply: if the prompt is too long for the server, ${shortenPromptHint}`
    : "the model ended its reply after its reasoning, without an answer: make it think less or, if the answer is in the reasoning, turn off the server's reasoning parser";
}

/** Maximum number of characters examined at the end of a text, and minimum length of a loop. */
const loopLength = { max: 2000, min: 200 } as const;
/** Minimum number of times that a phrase must occur to count as a loop. */
const minLoopRounds = 8;
/** A prompt count of more than this many times the upper bound is discarded. */
const implausibleFactor = 10;

/** True if a text ends in a repeated phrase; finds the shortest period in linear time (Knuth, Morris & Pratt 1977). */
export function endsInLoop(text: string): boolean {
  // Reversed, because the algorithm examines prefixes, and the loop is at the end.
  const reversedEnd = [...text.slice(-loopLength.max).trimEnd()].reverse();
  const borders = new Array<number>(reversedEnd.length).fill(0);
  for (let i = 1; i < reversedEnd.length; i++) {
    let border = borders[i - 1]!;
    while (border > 0 && reversedEnd[i] !== reversedEnd[border]) border = borders[border - 1]!;
    borders[i] = reversedEnd[i] === reversedEnd[border] ? border + 1 : 0;
  }
  return borders.some((border, i) => i + 1 >= loopLength.min && (i + 1 - border) * minLoopRounds <= i + 1);
}

type Counts = { [K in keyof ReportedCounts]: number | undefined };

/** Returns a warning if the server read only part of a prompt. */
function cutWarning(read: number, completion: number, minRead: number, window?: number): string | undefined {
  if (read < minRead)
    return `the server read ${read} tokens of a prompt that has at least ${minRead}: it cut the prompt, or miscounted`;
  if (window === undefined || read > window) return undefined;
  if (read === window)
    return `the server read ${read} tokens, which is its whole context window: it cut the prompt`;
  // The last token of a reply isn't stored in the context.
  return read + completion > window + 1
    ? `prompt and reply have ${read + completion} tokens, more than the context window of ${window}: the server dropped part of the prompt during the reply`
    : undefined;
}

/** Returns a warning if a reply ended before its limit because the context window was full. */
export function contextWarning(
  { finishReason }: Pick<Completion, 'finishReason'>,
  { completionTokens = 0, promptTokens = 0 }: Usage,
  { maxTokens = 0, window }: { readonly maxTokens: number | undefined; readonly window?: number },
): string | undefined {
  const used = promptTokens + completionTokens;
  // If the window was exceeded, `cutWarning` warns.
  const isFull = window !== undefined && promptTokens < window && [window, window + 1].includes(used);
  if (!isFull || finishReason !== 'length' || completionTokens >= maxTokens) return undefined;
  return `the context window of ${window} tokens was full before the reply was complete ${contextHint(window)}`;
}

export const contextHint = (contextTokens: number) =>
  `(requested context window: ${contextTokens}; the model's own may be smaller). ` +
  `Raise model.contextTokens if it is set, or ${shortenPromptHint}`;

/** Parts of a request against which replies and token counts are checked. */
export interface SentPrompt {
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number | undefined;
  /** Context window in tokens, if requests can set it. */
  readonly window?: number;
}

/** Keeps plausible token counts, estimates the others, and reports the faults. */
export function checkUsage(
  counts: ReportedCounts,
  sentPrompt: SentPrompt & { readonly replies: readonly Reply[] },
): { readonly usage: Usage; readonly faults: readonly ReplyFault[]; readonly warning?: string } {
  const { messages, replies, maxTokens, window } = sentPrompt;
  const faults = new Set<ReplyFault>();
  const maxPrompt = maxPromptTokens(messages);
  const hasText = replies.some(({ text, reasoning }) => text !== '' || reasoning !== undefined);
  const { prompt, cached, completion, reasoning } = plausibleCounts(readCounts(counts, faults), {
    maxPrompt,
    hasText,
    faults,
  });
  if (prompt !== undefined && prompt > maxPrompt) faults.add('usage-wrong');
  if (maxTokens !== undefined && (completion ?? 0) > maxTokens * replies.length) faults.add('overlong');
  const minRead = minReadTokens(messages, replies, completion);
  const warning = prompt === undefined ? undefined : cutWarning(prompt, completion ?? 0, minRead, window);
  if (warning !== undefined) faults.add('prompt-cut');
  const estimate = () => sum(replies.map((reply) => maxTextTokens(reply.text + (reply.reasoning ?? ''))));
  const unreported = {
    promptTokens: prompt === undefined ? maxPrompt : 0,
    completionTokens: completion === undefined ? estimate() : 0,
  };
  return {
    usage: {
      ...(prompt !== undefined && { promptTokens: prompt }),
      ...(cached !== undefined && { cachedTokens: cached }),
      ...(completion !== undefined && { completionTokens: completion }),
      ...(reasoning !== undefined && { reasoningTokens: reasoning }),
      ...(unreported.promptTokens + unreported.completionTokens > 0 && { unreported }),
    },
    faults: [...faults],
    ...(warning !== undefined && {
      warning: window === undefined ? warning : `${warning} ${contextHint(window)}`,
    }),
  };
}

/** Returns a lower bound on prompt tokens. System messages don't count, because some templates omit them. */
function minReadTokens(
  messages: readonly ChatMessage[],
  replies: readonly Reply[],
  completion: number | undefined,
): number {
  const promptTokens = minPromptTokens(messages.filter(({ role }) => role !== 'system'));
  const replyTokens = minPromptTokens(
    replies.map((reply) => ({ role: 'assistant', content: reply.text + (reply.reasoning ?? '') })),
  );
  // If the replies took fewer tokens than their own lower bound, reduce this bound in proportion.
  const density = completion === undefined || replyTokens === 0 ? 1 : Math.min(1, completion / replyTokens);
  return Math.floor(promptTokens * density);
}

function readCounts(reported: ReportedCounts, faults: Set<ReplyFault>): Counts {
  const countOf = (value: unknown) => {
    if (value === undefined || value === null) return undefined;
    if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
    faults.add('usage-wrong');
    return undefined;
  };
  const counts = {
    prompt: countOf(reported.prompt),
    cached: countOf(reported.cached),
    completion: countOf(reported.completion),
    reasoning: countOf(reported.reasoning),
    total: countOf(reported.total),
  };
  if ([reported.prompt, reported.completion].some((count) => (count ?? null) === null))
    faults.add('usage-missing');
  return counts;
}

/** Discards implausible counts, and adds hidden reasoning to a completion count that excludes it. */
function plausibleCounts(
  { prompt, cached, completion, reasoning, total }: Counts,
  { maxPrompt, hasText, faults }: { maxPrompt: number; hasText: boolean; faults: Set<ReplyFault> },
): Counts {
  const reject = () => {
    faults.add('usage-wrong');
    return undefined;
  };
  if (prompt === 0 || (prompt ?? 0) > implausibleFactor * maxPrompt) prompt = reject();
  if (completion === 0 && hasText) completion = reject();
  // xAI and Gemini count hidden reasoning in the total, but not in the completion.
  if (prompt !== undefined && completion !== undefined && total !== undefined)
    completion = Math.max(completion, total - prompt);
  if (reasoning !== undefined && completion !== undefined && reasoning > completion) {
    reject();
    completion += reasoning;
  }
  if (cached !== undefined && cached > (prompt ?? 0)) cached = prompt === undefined ? undefined : reject();
  return { prompt, cached, completion, reasoning: completion === undefined ? undefined : reasoning };
}
