/** Parses a chat completion request. Rejects known parameters that would change the answer but aren't supported. */
import { z } from 'zod';
import type { ChatMessage, GenerateOptions, LanguageModel, TextForm } from '../models/language-model.js';
import { formFields, requestedForm } from './answer-form.js';
import { badRequest } from './http.js';
import { parsedBody, samplingFields, samplingOptions, unsupported } from './request-fields.js';
import { type ServedModel, servedModel } from './service.js';
import type { RequestedCalls } from './tool-calls.js';
import {
  callsForm,
  definitionOf,
  freeText,
  type RequestedTool,
  toolChoiceSchema,
  toolsSchema,
} from './tools.js';

export interface ChatRequest {
  readonly served: ServedModel;
  readonly messages: readonly ChatMessage[];
  readonly options: GenerateOptions;
  readonly stream: boolean;
  /** Whether the stream ends with token counts. */
  readonly includeUsage: boolean;
  /** Set if the answer may contain tool calls. */
  readonly calls?: RequestedCalls;
}

/** Default maximum number of tokens, the same as in an experiment's config. */
const defaultMaxTokens = 1024;

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

const requestSchema = z.looseObject({
  ...samplingFields,
  messages: z.array(messageSchema).min(1),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
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
  const request = parsedBody(requestSchema, body);
  const model = servedModel(request.model, served);
  const { calls, form, tools } = readTools(request, model.model, requestedForm(request));
  return {
    served: model,
    messages: request.messages,
    options: {
      ...samplingOptions(request),
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? defaultMaxTokens,
      logProbabilities: request.logprobs ?? false,
      topLogProbabilities: request.top_logprobs ?? 0,
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
 * Returns the tools that the prompt describes, and the form of the answer: calls if they are required, otherwise calls
 * or text in the given form. Without a given form, free text may precede calls if a mark distinguishes them from text;
 * otherwise, nothing is enforced.
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
