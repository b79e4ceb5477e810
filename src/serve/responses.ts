/** Handles `POST /v1/responses`, another format for chats. Nothing is stored. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Endpoint } from './admission.js';
import { type Choice, choiceOf } from './chat-completions.js';
import { readChatRequest } from './chat-request.js';
import { sendJson } from './http.js';
import { parsedBody, unsupported } from './request-fields.js';
import { eventStream, type ModelService, type ReplyUsage, replyHead, usageOf, usageText } from './service.js';

const text = z.union([
  z.string(),
  z
    .array(
      z.looseObject({
        type: z.enum(['input_text', 'output_text', 'text'], 'must be input_text or output_text'),
        text: z.string(),
      }),
    )
    .transform((parts) => parts.map((part) => part.text).join('')),
]);
const itemSchema = z.union(
  [
    z
      .looseObject({
        type: z.literal('message').nullish(),
        role: z.enum(['system', 'developer', 'user', 'assistant']),
        content: text,
      })
      .transform(({ content, role }) => [{ role, content }]),
    z
      .looseObject({
        type: z.literal('function_call'),
        call_id: z.string(),
        name: z.string(),
        arguments: z.string(),
      })
      .transform(({ arguments: given, call_id: id, name }) => [
        {
          role: 'assistant' as const,
          content: '',
          tool_calls: [{ id, type: 'function', function: { name, arguments: given } }],
        },
      ]),
    z
      .looseObject({ type: z.literal('function_call_output'), call_id: z.string(), output: text })
      .transform(({ call_id, output }) => [
        { role: 'tool' as const, content: output, tool_call_id: call_id },
      ]),
    z.looseObject({ type: z.literal('reasoning') }).transform(() => []),
  ],
  'must be a message with text, a function_call or a function_call_output',
);
type Message = z.output<typeof itemSchema>[number];

const requestSchema = z.looseObject({
  input: z.union([
    z.string().transform((content): Message[] => [{ role: 'user', content }]),
    z.array(itemSchema).transform((items) => items.flat()),
  ]),
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  text: z
    .looseObject({
      format: z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish(),
    })
    .nullish(),
  tools: z
    .array(z.looseObject({ type: z.literal('function', 'must be function'), name: z.string() }))
    .nullish(),
  tool_choice: z
    .union([z.string(), z.looseObject({ type: z.literal('function'), name: z.string() })])
    .nullish(),
  truncation: z.literal('disabled').nullish(),
  previous_response_id: unsupported,
  conversation: unsupported,
  prompt: unsupported,
  background: unsupported,
});
type ResponsesRequest = z.output<typeof requestSchema>;

export const responsesEndpoint =
  (service: ModelService): Endpoint =>
  async ({ body, response, signal }) => {
    const request = parsedBody(requestSchema, body);
    const asked = readChatRequest(chatRequest(request), service.model.served);
    const { created, id, model } = replyHead('resp', asked.served, service);
    const head = { ...echoed(request), id, object: 'response', created_at: created, model };
    const events = asked.stream ? openEvents(eventStream(response), head) : undefined;
    const streamsText = events !== undefined && asked.calls === undefined;
    const completions = await asked.served.model.generate(asked.messages, {
      ...{ ...asked.options, signal },
      ...(streamsText && { onText: (_: number, delta: string) => events.text(delta) }),
    });
    const usage = usageOf([completions]);
    const [choice] = completions.map((completion) => choiceOf(completion, asked));
    if (choice === undefined) throw new Error('the model returned nothing');
    const last = { ...ending(choice), usage: responseUsage(usage) };
    if (events !== undefined) events.end(choice, last);
    else sendJson(response, { ...head, ...last, output: outputOf(choice, `msg_${randomUUID()}`) });
    return usageText(usage);
  };

/** Converts a request to the format of chat completions. */
function chatRequest({ input, instructions, text: form, ...request }: ResponsesRequest): object {
  const { format } = form ?? {};
  const { tool_choice: choice } = request;
  return {
    ...request,
    messages: [...(instructions ? [{ role: 'system', content: instructions }] : []), ...merged(input)],
    max_tokens: request.max_output_tokens,
    response_format: format?.type === 'json_schema' ? { type: format.type, json_schema: format } : format,
    tools: request.tools?.map(({ type, ...definition }) => ({ type, function: definition })),
    tool_choice:
      typeof choice === 'object' && choice !== null
        ? { type: choice.type, function: { name: choice.name } }
        : choice,
    // Not a field of this API, so it is ignored rather than rejected.
    reasoning_effort: undefined,
  };
}

/** Text and calls of the same turn are separate items here, but one message in a chat. */
function merged(messages: readonly Message[]): readonly Message[] {
  const turns: Message[] = [];
  for (const message of messages) {
    const before = turns.at(-1);
    if ('tool_calls' in message && before?.role === 'assistant') {
      const earlier = 'tool_calls' in before ? before.tool_calls : [];
      turns[turns.length - 1] = { ...before, tool_calls: [...earlier, ...message.tool_calls] };
    } else turns.push(message);
  }
  return turns;
}

/** Fields that clients require in every response; most repeat the request. */
const echoed = (request: ResponsesRequest) => ({
  ...{ error: null, previous_response_id: null, store: false, truncation: 'disabled', user: null },
  instructions: request.instructions ?? null,
  max_output_tokens: request.max_output_tokens ?? null,
  metadata: request.metadata ?? {},
  parallel_tool_calls: request.parallel_tool_calls ?? true,
  reasoning: { effort: null, summary: null },
  temperature: request.temperature ?? null,
  text: request.text ?? { format: { type: 'text' } },
  tool_choice: request.tool_choice ?? 'auto',
  tools: request.tools ?? [],
  top_p: request.top_p ?? null,
});

const ending = ({ finishReason }: Choice) =>
  finishReason === 'length'
    ? { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    : { status: 'completed', incomplete_details: null };

const responseUsage = ({ completion_tokens, prompt_tokens, ...usage }: ReplyUsage) => ({
  input_tokens: prompt_tokens,
  input_tokens_details: usage.prompt_tokens_details,
  output_tokens: completion_tokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: usage.total_tokens,
});

const textPart = (written: string) => ({
  type: 'output_text',
  text: written,
  annotations: [],
  logprobs: [],
});
const messageItem = (id: string, status: string, content: readonly object[]) => ({
  ...{ type: 'message', id, status, role: 'assistant', content },
});

function outputOf(choice: Choice, id: string): readonly OutputItem[] {
  const { status } = ending(choice);
  const calls = choice.toolCalls.map((call) => ({
    type: 'function_call',
    id: `fc_${randomUUID()}`,
    call_id: call.id,
    name: call.name,
    arguments: call.arguments,
    status,
  }));
  if (choice.text === '' && calls.length > 0) return calls;
  return [messageItem(id, status, [textPart(choice.text)]), ...calls];
}
type OutputItem = { readonly id: string } & (
  | ReturnType<typeof messageItem>
  | { readonly arguments: string; readonly status: string }
);

/** Sends events, but none before the first text or the end, so that a failing request still gets an error status. */
function openEvents({ end, send: write }: ReturnType<typeof eventStream>, head: object) {
  let sequence = 0;
  const send = (type: string, more: object) => write({ type, sequence_number: sequence++, ...more }, type);
  const begun = { ...head, status: 'in_progress', incomplete_details: null, output: [], usage: null };
  const id = `msg_${randomUUID()}`;
  const part = { item_id: id, output_index: 0, content_index: 0 };
  let shown = '';
  const begin = () => {
    if (sequence > 0) return;
    send('response.created', { response: begun });
    send('response.in_progress', { response: begun });
  };
  const text = (delta: string) => {
    begin();
    if (shown === '') {
      const item = messageItem(id, 'in_progress', []);
      send('response.output_item.added', { output_index: 0, item });
      send('response.content_part.added', { ...part, part: textPart('') });
    }
    shown += delta;
    send('response.output_text.delta', { ...part, delta, logprobs: [] });
  };
  return {
    text,
    end(choice: Choice, last: ReturnType<typeof ending> & { readonly usage: object }) {
      begin();
      const output = outputOf(choice, id);
      for (const [output_index, item] of output.entries()) {
        if ('content' in item) {
          if (shown === '') text(choice.text);
          send('response.output_text.done', { ...part, text: choice.text, logprobs: [] });
          send('response.content_part.done', { ...part, part: textPart(choice.text) });
        } else {
          const added = { ...item, arguments: '', status: 'in_progress' };
          const place = { item_id: item.id, output_index };
          send('response.output_item.added', { output_index, item: added });
          send('response.function_call_arguments.delta', { ...place, delta: item.arguments });
          send('response.function_call_arguments.done', { ...place, arguments: item.arguments });
        }
        send('response.output_item.done', { output_index, item });
      }
      send(`response.${last.status}`, { response: { ...head, ...last, output } });
      end();
    },
  };
}
