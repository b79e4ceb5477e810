/** Parses a chat completion request. Rejects parameters that would change the answer but aren't supported. */
import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type {
  ChatMessage,
  GenerateOptions,
  LanguageModel,
  TextForm,
  ToolFormat,
} from '../models/language-model.js';
import { formFields, requestedForm } from './answer-form.js';
import { badRequest, HttpError } from './http.js';
import {
  callsForm,
  definitionOf,
  freeText,
  type RequestedTool,
  toolChoiceSchema,
  toolsSchema,
} from './tools.js';

export interface ServedModel {
  readonly name: string;
  readonly model: LanguageModel;
}

export interface ChatRequest {
  readonly served: ServedModel;
  readonly messages: readonly ChatMessage[];
  readonly options: GenerateOptions;
  readonly stream: boolean;
  /** Whether the stream ends with token counts. */
  readonly includeUsage: boolean;
  /** Set if the answer may contain calls of tools. */
  readonly calls?: { readonly format: ToolFormat; readonly names: readonly string[] };
}

/** Default maximum number of tokens, the same as in an experiment's config. */
const defaultMaxTokens = 1024;
const mostChoices = 32;

const content = z.union([
  z.string(),
  z
    .array(z.object({ type: z.literal('text', 'must be text'), text: z.string() }))
    .transform((parts) => parts.map(({ text }) => text).join('')),
]);
const toolCall = z
  .object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) })
  .transform(({ id, function: called }) => ({ id, ...called }));
const messageSchema = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'user']), content }),
  z.object({ role: z.literal('developer').transform(() => 'system' as const), content }),
  z
    .object({
      role: z.literal('assistant'),
      content: content.nullish(),
      tool_calls: z.array(toolCall).nullish(),
    })
    .transform(({ tool_calls: toolCalls, content: text, role }) => ({
      role,
      content: text ?? '',
      ...(toolCalls?.length && { toolCalls }),
    })),
  z
    .object({ role: z.literal('tool'), content, tool_call_id: z.string() })
    .transform(({ role, content: text, tool_call_id: toolCallId }) => ({ role, content: text, toolCallId })),
]);

const isNeutral = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);
const unsupported = z.unknown().refine(isNeutral, 'is not supported').optional();
const penalty = z.number().min(-2).max(2).nullish();

/** Maps any integer, including negative ones, to a seed with enough exact successors for all choices. */
function validSeed(seed: number): number {
  if (seed >= 0 && seed <= Number.MAX_SAFE_INTEGER - mostChoices) return seed;
  return ((seed % 2 ** 31) + 2 ** 31) % 2 ** 31;
}

/** The number is limited, because each stop string is searched for after every token. */
const mostStops = 64;
const stopText = z.string().min(1).max(1024);

const requestSchema = z.looseObject({
  model: z.string().nullish(),
  messages: z.array(messageSchema).min(1),
  n: z.int().min(1).max(mostChoices).nullish(),
  seed: z.number().refine(Number.isInteger, 'must be an integer').transform(validSeed).nullish(),
  temperature: z.number().min(0).max(5).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  min_p: z.number().min(0).lt(1).nullish(),
  repetition_penalty: z.number().positive().nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([stopText, z.array(stopText).max(mostStops)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  logit_bias: z
    .record(z.string().regex(/^\d+$/, 'must be a token id'), z.number().min(-100).max(100))
    .nullish(),
  tools: toolsSchema.nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  ...formFields,
  functions: unsupported,
  reasoning_effort: unsupported,
  chat_template_kwargs: unsupported,
});

/** @throws HttpError naming the invalid field */
export function readChatRequest(
  body: unknown,
  served: readonly [ServedModel, ...ServedModel[]],
): ChatRequest {
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const param = issue.path.join('.');
    throw badRequest(param === '' ? issue.message : `${param}: ${issue.message}`, param || undefined);
  }
  const request = parsed.data;
  const model = request.model == null ? served[0] : served.find(({ name }) => name === request.model);
  if (model === undefined) throw unknownModel(`${request.model}`, served);
  const stop = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []);
  const seed = request.seed ?? randomInt(2 ** 31);
  const { calls, form, tools } = readTools(request, model.model, requestedForm(request));
  const bias = Object.entries(request.logit_bias ?? {}).map(([id, value]) => [Number(id), value] as const);
  const [frequencyPenalty, presencePenalty] = [request.frequency_penalty ?? 0, request.presence_penalty ?? 0];
  const changes = frequencyPenalty !== 0 || presencePenalty !== 0 || bias.length > 0;
  return {
    served: model,
    messages: request.messages,
    options: {
      seeds: Array.from({ length: request.n ?? 1 }, (_, choice) => seed + choice),
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? defaultMaxTokens,
      sampling: {
        temperature: request.temperature ?? undefined,
        topP: request.top_p ?? undefined,
        topK: request.top_k ?? undefined,
        minP: request.min_p ?? undefined,
        repetitionPenalty: request.repetition_penalty ?? undefined,
      },
      stop,
      logProbabilities: request.logprobs ?? false,
      topLogProbabilities: request.top_logprobs ?? 0,
      ...(changes && { logits: { frequencyPenalty, presencePenalty, bias } }),
      ...(form && { form }),
      ...(tools && { tools }),
    },
    stream: request.stream ?? false,
    includeUsage: request.stream_options?.include_usage ?? false,
    ...(calls && { calls }),
  };
}

type ToolRequest = Pick<z.output<typeof requestSchema>, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

/**
 * The tools that the prompt describes, and the form of the answer: one or more calls if they are required; otherwise
 * text, or `form` if given, or calls. A format without a mark can't be told from text, so its calls are only
 * enforced if they are required.
 */
function readTools(
  { parallel_tool_calls: several, tool_choice: choice, tools: given }: ToolRequest,
  model: LanguageModel,
  form: TextForm | undefined,
): Pick<ChatRequest, 'calls'> & Pick<GenerateOptions, 'form' | 'tools'> {
  if (!given?.length || choice === 'none') return { ...(form && { form }) };
  const format = model.toolFormat?.();
  if (format === undefined) throw badRequest('this model can’t call tools', 'tools');
  const tools = given.map(definitionOf);
  const calls = { format, names: tools.map(({ name }) => name) };
  const named = (wanted: string): readonly RequestedTool[] => {
    const found = given.filter((tool) => tool.function.name === wanted);
    if (found.length === 0) throw badRequest(`tool_choice: there is no tool "${wanted}"`, 'tool_choice');
    return found;
  };
  if (typeof choice === 'object' && choice !== null)
    return { tools, calls, form: callsForm(named(choice.function.name), format, false) };
  const some = callsForm(given, format, several !== false);
  if (choice === 'required') return { tools, calls, form: some };
  if (form !== undefined) return { tools, calls, form: { kind: 'either', options: [form, some] } };
  return format.before === '' ? { tools, calls } : { tools, calls, form: freeText(format, some) };
}

export function unknownModel(name: string, served: readonly ServedModel[]): HttpError {
  const known = served.map((one) => `"${one.name}"`).join(', ');
  return new HttpError(404, 'not_found_error', `unknown model "${name}"; available: ${known}`, {
    param: 'model',
  });
}
