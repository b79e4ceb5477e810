/** Reads replies of Ollama's `/api/chat`, and checks their token counts and completeness. */
import { z } from 'zod';
import {
  type ChatMessage,
  type Completion,
  type ReplyFault,
  shortenPrompt,
  type Usage,
} from '../language-model.js';
import { checkUsage, mostTokensOf, replyFaults, silenceWarning } from '../reply-faults.js';
import { TryFailure } from './retry.js';

const responseSchema = z.object({
  message: z.object({ content: z.string().nullable(), thinking: z.string().nullish() }),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  /** checkUsage validates both counts, so that a wrong one doesn't discard the reply. */
  prompt_eval_count: z.unknown().optional(),
  eval_count: z.unknown().optional(),
});
type Response = z.output<typeof responseSchema>;

/** @throws TryFailure if the response isn't a chat reply */
export function readResponse(response: unknown): Response {
  const parsed = responseSchema.safeParse(response);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new TryFailure(
    typeof response === 'object' && response !== null && !('message' in response) ? 'empty' : 'malformed',
    `the response is not a chat reply (${issue.path.join('.') || 'body'}: ${issue.message})`,
  );
}

/** The parts of a request against which its reply is checked. */
export interface Sent {
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
  /** Context window in tokens: the requested one, or the model's own if that is known and smaller. */
  readonly window: number;
  /** Minimum number of prompt tokens that the server must have read. */
  readonly floor: number;
  readonly isConstrained: boolean;
}

type Reading = Pick<Completion, 'text' | 'reasoning' | 'finishReason' | 'usage' | 'faults' | 'warnings'>;

export function readCompletion(response: Response, sent: Sent): Reading {
  const { done, done_reason, message } = response;
  const reply = {
    text: message.content ?? '',
    ...(message.thinking && { reasoning: message.thinking }),
    finishReason: done_reason === 'stop' || done_reason === 'length' ? done_reason : 'other',
  } as const;
  const { faults, isFull, usage, warning } = usageOf(response, reply, sent);
  const silence = isFull ? undefined : silenceWarning(reply, sent.maxTokens);
  const warnings = [warning, silence].filter((text) => text !== undefined);
  // Ollama stops with `done: false` and without counts after more than thirty equal tokens in a row.
  const isLoop = done === false;
  const all = new Set<ReplyFault>([...replyFaults(reply), ...(isLoop ? (['loop'] as const) : []), ...faults]);
  if (isLoop) all.delete('usage-missing');
  return {
    ...reply,
    usage,
    ...(all.size > 0 && { faults: [...all] }),
    ...(warnings.length > 0 && { warnings }),
  };
}

type Reply = Pick<Completion, 'text' | 'reasoning' | 'finishReason'>;

function usageOf({ done, prompt_eval_count, eval_count }: Response, reply: Reply, sent: Sent) {
  const { floor, isConstrained, maxTokens, messages, window } = sent;
  const thoughts = mostTokensOf(reply.reasoning ?? '');
  // If a model thinks, Ollama generates the constrained answer in a second request, and counts only that one.
  const isSecond =
    isConstrained && thoughts > 0 && !(Number(eval_count) > mostTokensOf(reply.text) + endTokens);
  const prompt: readonly ChatMessage[] = isSecond
    ? [...messages, { role: 'assistant', content: reply.reasoning! }]
    : messages;
  const reported =
    done === false
      ? { prompt: null, completion: null }
      : { prompt: prompt_eval_count, completion: eval_count };
  const { faults, usage, warning } = checkUsage(reported, {
    messages: prompt,
    maxTokens,
    window,
    floor,
    replies: [reply],
  });
  const whole = withReasoning(usage, reply, isSecond ? thoughts : 0);
  const { promptTokens = 0, completionTokens = 0 } = usage;
  const used = promptTokens + completionTokens;
  const hint = contextHint(window);
  if (warning !== undefined) return { usage: whole, faults, warning: `${warning} ${hint}` };
  // The last token of a reply isn't stored in the context.
  if (promptTokens < window && used > window + 1) {
    const text = `prompt and reply have ${used} tokens, more than the context window of ${window}: the server dropped part of the prompt during the reply`;
    return { usage: whole, faults: [...faults, 'prompt-cut' as const], warning: `${text} ${hint}` };
  }
  const isFull = reply.finishReason === 'length' && completionTokens < maxTokens && used >= window;
  const full = `the context window of ${window} tokens was full before the reply was complete ${hint}`;
  return { usage: whole, faults, isFull, warning: isFull ? full : undefined };
}

/** Allowance for end tokens, which are counted with the answer. */
const endTokens = 2;

/** Ollama counts thoughts with the answer; this splits the count by text length. `uncounted`: tokens it left out. */
function withReasoning(usage: Usage, { text, reasoning }: Reply, uncounted: number): Usage {
  if (reasoning === undefined) return usage;
  const { completionTokens, unreported } = usage;
  if (uncounted > 0) {
    const missing = {
      promptTokens: unreported?.promptTokens ?? 0,
      // If nothing was reported, the estimate includes the thoughts.
      completionTokens: completionTokens === undefined ? unreported!.completionTokens : uncounted,
    };
    return { ...usage, reasoningTokens: uncounted, unreported: missing };
  }
  if (completionTokens === undefined) return { ...usage, reasoningTokens: mostTokensOf(reasoning) };
  const [thought, said] = [mostTokensOf(reasoning), mostTokensOf(text)];
  return { ...usage, reasoningTokens: Math.round((completionTokens * thought) / (thought + said)) };
}

export const contextHint = (contextTokens: number) =>
  `(requested context window: ${contextTokens}; the model's own may be smaller). ` +
  `Raise model.contextTokens if it is set, or ${shortenPrompt}`;

/** Tokens allowed per boundary between texts: tokens may merge there, and a template may add some to each message. */
const seam = 8;

/**
 * Estimates the fewest tokens of a prompt: the previous prompt's count, minus its text that the new prompt lacks. A
 * lower count shows that the server cut the prompt.
 */
export class PromptFloor {
  #last: { readonly text: string; readonly tokens: number } | undefined;

  /** Minimum number of tokens that the server must read; 0 if no earlier prompt is known. */
  of(messages: readonly ChatMessage[]): number {
    if (this.#last === undefined) return 0;
    const gone = missingIn(textOf(messages), this.#last.text);
    return Math.max(0, this.#last.tokens - mostTokensOf(gone) - seam * (1 + gone.split(mark).length));
  }

  /** @param tokens number of tokens that the server read */
  remember(messages: readonly ChatMessage[], tokens: number): void {
    this.#last = { text: textOf(messages), tokens };
  }
}

/** Marks the start of a message. */
const mark = '\u0000';

/** Omits the thoughts in earlier answers, as chat templates do. */
const textOf = (messages: readonly ChatMessage[]) =>
  messages
    .map(({ role, content }) =>
      role === 'assistant' ? mark + content.replaceAll(/<think>[\s\S]*?<\/think>/g, '') : mark + content,
    )
    .join('');

/** The earlier text without the prefix and the suffix that it shares with the new text. */
function missingIn(text: string, earlier: string): string {
  const shorter = Math.min(text.length, earlier.length);
  let start = 0;
  while (start < shorter && text[start] === earlier[start]) start++;
  let end = 0;
  while (end < shorter - start && text.at(-1 - end) === earlier.at(-1 - end)) end++;
  return earlier.slice(start, earlier.length - end);
}
