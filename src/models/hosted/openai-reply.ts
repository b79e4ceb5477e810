/** Reads chat completions, including variants that only some servers send. */
import { z } from 'zod';
import { jsonIn } from '../../base/files/json-depth.js';
import type { Completion, FinishReason } from '../language-model.js';
import {
  checkUsage,
  contextWarning,
  emptyReplyWarning,
  type ReportedCounts,
  replyFaults,
  type SentPrompt,
} from '../reply-faults.js';
import { errorKind, serverError } from './json-fetch.js';
import { AttemptError } from './retry.js';

/** A text, or a part of a message as an object. */
const partSchema = z.union([z.string(), z.record(z.string(), z.unknown())]);

/** Fields other than `content` may have any type, so that an unexpected type doesn't make the reply invalid. */
const messageSchema = z.looseObject({ content: z.union([partSchema, z.array(partSchema)]).nullish() });

const choiceSchema = z.object({
  message: messageSchema,
  finish_reason: z.string().nullish(),
  error: z.unknown().optional(),
});
type Choice = z.output<typeof choiceSchema>;

const responseSchema = z.object({ choices: z.array(choiceSchema).min(1), usage: z.unknown().optional() });
export type ChatCompletion = z.output<typeof responseSchema>;

/** @throws AttemptError if the response isn't a chat completion, or contains an error with an HTTP status */
export function readChatCompletion(response: unknown): ChatCompletion {
  const parsed = responseSchema.safeParse(response);
  // OpenRouter and others report errors with HTTP 200, in place of the choices or inside one.
  const error = serverError(parsed.success ? { error: parsed.data.choices[0]!.error } : response);
  const { message, status } = error;
  if (status !== undefined)
    throw new AttemptError(
      errorKind(status, error),
      `the server sent error ${status} with HTTP 200: ${message}`,
    );
  if (parsed.success) return parsed.data;
  // LM Studio responds like this to a wrong path.
  if (/unexpected endpoint/i.test(message)) throw new AttemptError('not-found', message);
  if (noChoicesSchema.safeParse(response).success) {
    const problem =
      message === '' ? 'the reply has no choices' : `the server sent an error with HTTP 200: ${message}`;
    // If tokens were billed, a reply was generated but lost.
    const billedTokens = Number(countsOf((response as { readonly usage?: unknown }).usage).completion);
    throw new AttemptError(billedTokens >= 1 ? 'malformed' : 'empty', problem);
  }
  const issue = parsed.error.issues[0]!;
  throw new AttemptError(
    'malformed',
    `the reply is not a chat completion (${issue.path.join('.') || 'body'}: ${issue.message})`,
  );
}

const noChoicesSchema = z.object({ choices: z.array(z.unknown()).max(0).nullish() });

/** Returns one completion per choice; the first contains the usage, latency and retries of the whole call. */
export function completionsOf(
  response: ChatCompletion,
  sentPrompt: SentPrompt,
  { warnings, ...call }: Pick<Completion, 'latencyMs' | 'retries' | 'failedTries' | 'warnings'>,
): readonly Completion[] {
  const choices = response.choices.map(readChoice);
  const report = checkUsage(countsOf(response.usage), { ...sentPrompt, replies: choices });
  return choices.map((choice, i) => {
    const faults = [...replyFaults(choice), ...(i === 0 ? report.faults : [])];
    const lengthWarning =
      contextWarning(choice, report.usage, sentPrompt) ?? emptyReplyWarning(choice, sentPrompt.maxTokens);
    const texts = [report.warning, lengthWarning, ...(warnings ?? [])].filter((text) => text !== undefined);
    return {
      ...choice,
      ...(faults.length > 0 && { faults }),
      ...(i > 0
        ? { usage: {}, latencyMs: 0, retries: 0 }
        : { usage: report.usage, ...call, ...(texts.length > 0 && { warnings: texts }) }),
    };
  });
}

function readChoice(choice: Choice): Pick<Completion, 'text' | 'reasoning' | 'finishReason'> {
  const { message, finish_reason } = choice;
  const parts = [message.content ?? []].flat();
  const [thoughts, texts] = [true, false].map((which) => parts.filter((part) => isThought(part) === which));
  const answer = textIn(texts);
  // Reasoning fields, in this order: DeepSeek, vLLM and llama.cpp; OpenRouter (the next two); Ollama; LiteLLM.
  const { reasoning_content, reasoning, reasoning_details, thinking, thinking_blocks } = message;
  const fields = [reasoning_content, reasoning, thinking, thoughts, reasoning_details, thinking_blocks];
  const thoughtText = fields.map(textIn).find((text) => text.trim() !== '');
  const calls = [message.tool_calls, message.function_call, parts].flat().map(argumentsText);
  const answerTexts = [answer, ...calls].filter((text) => text.trim() !== '');
  return {
    text: answerTexts.length > 0 ? answerTexts.join('\n') : textIn(message.refusal) || answer,
    ...(thoughtText !== undefined && { reasoning: thoughtText }),
    finishReason: toFinishReason(finish_reason ?? ''),
  };
}

/** True if a part is a thought; Mistral and Anthropic send thoughts as parts. */
const isThought = (part: z.output<typeof partSchema>): boolean =>
  typeof part === 'object' && /^(thinking|reasoning)/.test(String(part.type));

/** Extracts the text of a field, which is a string, an object with a text, or a list of these. */
function textIn(given: unknown): string {
  if (typeof given === 'string') return given;
  if (Array.isArray(given)) return given.map(textIn).join('');
  const { content, reasoning, refusal, summary, text, thinking, value } = recordSchema.parse(given);
  const field = text ?? content ?? thinking ?? reasoning ?? summary ?? refusal ?? value;
  return field === undefined ? '' : textIn(field);
}

/**
 * Converts the arguments of a tool call to text: strings, such as programs, without JSON's escapes; others as JSON.
 * OpenAI sends arguments as JSON or, for custom tools, as text; Ollama as an object; Anthropic in a content part.
 */
function argumentsText(call: unknown): string {
  const { custom, function: called = custom ?? call } = recordSchema.parse(call);
  const { arguments: sent, input = sent } = recordSchema.parse(called);
  const value = typeof input === 'string' ? (jsonIn(input) ?? input) : (input ?? '');
  if (typeof value === 'string') return value;
  const texts = z.record(z.string(), z.string()).safeParse(value);
  if (!texts.success) return typeof input === 'string' ? input : JSON.stringify(input);
  const entries = Object.entries(texts.data);
  return entries.map(([name, text]) => `${name}:${/\s/.test(text) ? '\n' : ' '}${text}`).join('\n');
}

/** Maps the names that OpenAI, Gemini, Zhipu and Anthropic's models send. */
function toFinishReason(reason: string): FinishReason {
  const name = reason.toLowerCase();
  if (name === 'stop') return name;
  if (/length|max_(output_)?tokens/.test(name)) return 'length';
  const isFiltered = /content_filter|safety|prohibited|recitation|sensitive|refusal|blocklist/.test(name);
  return isFiltered ? 'content-filter' : 'other';
}

const recordSchema = z.record(z.string(), z.unknown()).catch({});

/** Reads token counts of any type; checkUsage validates them, so a wrong count doesn't make the reply invalid. */
function countsOf(rawUsage: unknown): ReportedCounts {
  const usage = recordSchema.parse(rawUsage);
  return {
    prompt: usage.prompt_tokens,
    // In this order: OpenAI, DeepSeek, Mistral, and Moonshot and others.
    cached:
      recordSchema.parse(usage.prompt_tokens_details).cached_tokens ??
      usage.prompt_cache_hit_tokens ??
      usage.num_cached_tokens ??
      usage.cached_tokens,
    completion: usage.completion_tokens,
    // SGLang's field is at the top level.
    reasoning: recordSchema.parse(usage.completion_tokens_details).reasoning_tokens ?? usage.reasoning_tokens,
    total: usage.total_tokens,
  };
}
