/** Tools in prompts: in the form that a chat template expects, or as text if its tool format isn't supported. */
import { parseJson } from '../../../storage/json-depth.js';
import type { ChatMessage, ToolDefinition, ToolFormat } from '../../language-model.js';

/** The format of Hermes and Qwen, which other models understand if the prompt describes it. */
const hermes: ToolFormat = {
  before: '<tool_call>\n',
  after: '\n</tool_call>',
  argumentsKey: 'arguments',
  isList: false,
};

/** The format that a template describes; undefined if it has no tools or an unsupported format. */
export function templateToolFormat(usesTools: boolean, literals: readonly string[]): ToolFormat | undefined {
  const text = literals.join('\n');
  if (!usesTools) return undefined;
  if (text.includes('<tool_call>')) return /"arguments": /.test(text) ? hermes : undefined;
  // Newer Mistral models write `[TOOL_CALLS]name[ARGS]{…}`.
  if (text.includes('[TOOL_CALLS]') && !text.includes('[ARGS]'))
    return { before: '', after: '', argumentsKey: 'arguments', isList: true };
  const describesLlama = text.includes('{"name": function name, "parameters": ');
  return describesLlama ? { before: '', after: '', argumentsKey: 'parameters', isList: false } : undefined;
}

export interface ToolPrompt {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
}

/** Writes tools, their calls and results as text, for templates without a known format. */
export function describeTools({ messages, tools }: ToolPrompt): readonly ChatMessage[] {
  const written: ChatMessage[] = [];
  for (const { content, role, toolCalls = [] } of messages) {
    const calls = toolCalls.map(
      ({ arguments: given, name }) =>
        `${hermes.before}{"name": ${JSON.stringify(name)}, "arguments": ${given}}${hermes.after}`,
    );
    const text =
      role === 'tool'
        ? `<tool_response>\n${content}\n</tool_response>`
        : [content, ...calls].filter((part) => part !== '').join('\n');
    const last = written.at(-1);
    // Some templates require roles to alternate.
    if (role === 'tool' && last?.role === 'user')
      written[written.length - 1] = { ...last, content: `${last.content}\n${text}` };
    else written.push({ role: role === 'tool' ? 'user' : role, content: text });
  }
  if (tools.length === 0) return written;
  const description =
    '# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function ' +
    `signatures within <tools></tools> XML tags:\n<tools>\n${tools.map((tool) => JSON.stringify(functionOf(tool))).join('\n')}\n</tools>\n\n` +
    'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML ' +
    'tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>';
  const [first, ...rest] = written;
  if (first === undefined) return [];
  // Some templates reject system messages, so don't add one.
  const text = first.role === 'system' ? [first.content, description] : [description, first.content];
  return [{ ...first, content: text.join('\n\n') }, ...rest];
}

export const toolFormatOr = (own: ToolFormat | undefined): ToolFormat => own ?? hermes;

/** A tool in the form that Transformers' templates expect. */
export const functionOf = ({ description, name, parameters }: ToolDefinition) => ({
  type: 'function',
  function: {
    name,
    description: description ?? '',
    parameters: parameters ?? { type: 'object', properties: {} },
  },
});

/** A message in the form that Transformers' templates expect. */
export function templateMessage(
  { content, role, toolCallId, toolCalls }: ChatMessage,
  _index: number,
  all: readonly ChatMessage[],
): object {
  const calls = all.flatMap((message) => message.toolCalls ?? []);
  return {
    role,
    content,
    ...(toolCalls && {
      tool_calls: toolCalls.map(({ arguments: given, id, name }) => ({
        id,
        type: 'function',
        function: { name, arguments: parsed(given) },
      })),
    }),
    ...(toolCallId !== undefined && {
      tool_call_id: toolCallId,
      name: calls.find(({ id }) => id === toolCallId)?.name ?? '',
    }),
  };
}

/** Parses arguments, because templates write them as JSON themselves. */
function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
