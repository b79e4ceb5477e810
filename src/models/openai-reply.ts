/** What chat completions look like, OpenAI's and those of compatible servers. */
import { z } from 'zod';
import { serverError } from './json-fetch.js';
import type { Completion, FinishReason, Usage } from './language-model.js';
import { TryFailure } from './retry.js';

/** Part of a message's content where a server splits it (Mistral's reasoning models do). */
const contentPart = z.object({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.array(z.object({ text: z.string().optional() })).optional(),
});

const messageSchema = z.object({
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  refusal: z.string().nullish(),
  /** Reasoning beside the answer: DeepSeek, vLLM, llama.cpp (`reasoning_content`), OpenRouter, Ollama (`reasoning`). */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
});

const tokens = z.int().min(0).optional().catch(undefined);
const usageSchema = z
  .object({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    prompt_tokens_details: z.object({ cached_tokens: tokens }).nullish().catch(undefined),
    completion_tokens_details: z.object({ reasoning_tokens: tokens }).nullish().catch(undefined),
    /** DeepSeek's name for the cached tokens. */
    prompt_cache_hit_tokens: tokens,
  })
  .nullish()
  .catch(undefined);

const responseSchema = z.object({
  choices: z.array(z.object({ message: messageSchema, finish_reason: z.string().nullish() })).min(1),
  usage: usageSchema,
});
export type ChatCompletion = z.output<typeof responseSchema>;
type Choice = ChatCompletion['choices'][number];

/** @throws TryFailure when it is no chat completion. */
export function readChatCompletion(response: unknown): ChatCompletion {
  const parsed = responseSchema.safeParse(response);
  if (parsed.success) return parsed.data;
  const { message } = serverError(JSON.stringify(response));
  const issue = parsed.error.issues[0]!;
  throw new TryFailure(
    'malformed',
    `the reply is no chat completion (${issue.path.join('.') || 'body'}: ${issue.message})${message === '' ? '' : `: ${message}`}`,
  );
}

/** One completion a choice; what is known of the whole call stands on the first. */
export function completionsOf(
  response: ChatCompletion,
  call: Pick<Completion, 'latencyMs' | 'retries' | 'warnings'>,
): readonly Completion[] {
  return response.choices.map((choice, i) => ({
    ...readChoice(choice),
    ...(i === 0 ? { usage: readUsage(response.usage), ...call } : { usage: {}, latencyMs: 0, retries: 0 }),
  }));
}

function readChoice({
  message,
  finish_reason,
}: Choice): Pick<Completion, 'text' | 'reasoning' | 'finishReason'> {
  const parts = typeof message.content === 'string' ? [] : (message.content ?? []);
  const thinking = parts.flatMap((part) => part.thinking ?? []).map((part) => part.text ?? '');
  const text =
    typeof message.content === 'string' ? message.content : parts.map((part) => part.text ?? '').join('');
  const reasoning = message.reasoning_content ?? message.reasoning ?? thinking.join('');
  return {
    text: text === '' ? (message.refusal ?? '') : text,
    ...(reasoning !== '' && { reasoning }),
    finishReason: finishReasons[finish_reason ?? ''] ?? 'other',
  };
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
};

function readUsage(usage: ChatCompletion['usage']): Usage {
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? usage?.prompt_cache_hit_tokens;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    ...(usage?.prompt_tokens !== undefined && { promptTokens: usage.prompt_tokens }),
    ...(cached !== undefined && { cachedTokens: cached }),
    ...(usage?.completion_tokens !== undefined && { completionTokens: usage.completion_tokens }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  };
}
