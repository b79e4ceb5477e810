/** Derives Ollama's Go template from rendered conversations, and keeps it only if it reproduces all of them. */
import type { ChatMessage } from '../../../src/models/language-model.js';
import type { ChatTemplate } from '../../../src/models/local/tokens/chat-template.js';

/** The text that a template puts around messages. A conversation is [system] user (assistant user)*. */
interface ChatFormat {
  readonly system: SystemFormat;
  /** Text at the start, unless a system message comes first. */
  readonly withoutSystem: string;
  readonly user: Frame;
  readonly assistant: Frame;
  /** Assistant prefix. */
  readonly answer: string;
}

interface Frame {
  readonly before: string;
  readonly after: string;
}

/** Place of the system message: at the start, or in the last user message (Mistral). */
type SystemFormat = Frame & { readonly kind: 'message' | 'in-last-user' };

const [s, u, a, v, b, w] = ['«system»', '«one»', '«two»', '«three»', '«four»', '«five»'] as const;
const system: ChatMessage = { role: 'system', content: s };
const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });

const conversations: readonly (readonly ChatMessage[])[] = [
  [user(u)],
  [system, user(u)],
  [user(u), assistant(a), user(v)],
  [system, user(u), assistant(a), user(v)],
  [system, user(u), assistant(a), user(v), assistant(b), user(w)],
];

/** @param bos text of the token that llama.cpp itself prepends; undefined if it prepends none */
export function ollamaTemplate(
  template: Pick<ChatTemplate, 'render'>,
  bos: string | undefined,
  ends: readonly string[],
): string | undefined {
  const render = (messages: readonly ChatMessage[]) => {
    const text = template.render(messages);
    return bos !== undefined && text.startsWith(bos) ? text.slice(bos.length) : text;
  };
  let rendered: string[];
  try {
    rendered = conversations.map(render);
  } catch {
    // The template rejects one of the conversations, e.g. because of a system message.
    return undefined;
  }
  const format = [systemMessage, systemInLastUser]
    .map((derive) => derive(rendered, ends))
    .find(
      (found) =>
        found !== undefined && conversations.every((one, i) => renderFormat(found, one) === rendered[i]),
    );
  if (format === undefined) return undefined;
  const { system: instruction, withoutSystem, user: asked, assistant: answered, answer } = format;
  const literals = [
    withoutSystem,
    answer,
    ...[instruction, asked, answered].flatMap((f) => [f.before, f.after]),
  ];
  const text = goTemplate(format);
  // The Modelfile encloses the template in triple quotes.
  return literals.some((literal) => literal.includes('{{')) || /^"|"""|"$/.test(text) ? undefined : text;
}

/** The parts of the text around the contents; undefined if the contents don't occur in this order. */
function between(text: string, contents: readonly string[]): string[] | undefined {
  const parts: string[] = [];
  let at = 0;
  for (const content of contents) {
    const found = text.indexOf(content, at);
    if (found < 0) return undefined;
    parts.push(text.slice(at, found));
    at = found + content.length;
  }
  return [...parts, text.slice(at)];
}

function systemMessage(rendered: readonly string[], ends: readonly string[]): ChatFormat | undefined {
  const bare = between(rendered[0]!, [u]);
  const full = between(rendered[3]!, [s, u, a, v]);
  if (bare === undefined || full === undefined) return undefined;
  const [start, systemToUser, ...turns] = full as [string, string, string, string, string];
  // All user messages start the same way; the text before that ends the previous message.
  const shared = commonEnd(commonEnd(systemToUser, turns[1]), bare[0]!);
  const before = shared.slice(closing(shared, ends).length);
  return {
    system: { kind: 'message', before: start, after: without(systemToUser, before) },
    withoutSystem: without(bare[0]!, before),
    ...turnFormat(before, turns, ends),
  };
}

function systemInLastUser(rendered: readonly string[], ends: readonly string[]): ChatFormat | undefined {
  const bare = between(rendered[0]!, [u]);
  const single = between(rendered[1]!, [s, u]);
  const turns = between(rendered[2]!, [u, a, v]);
  if (bare === undefined || single === undefined || turns === undefined) return undefined;
  const [, ...rest] = turns as [string, string, string, string];
  const before = commonEnd(bare[0]!, rest[1]);
  if (!single[0]!.startsWith(bare[0]!)) return undefined;
  return {
    system: { kind: 'in-last-user', before: single[0]!.slice(bare[0]!.length), after: single[1]! },
    withoutSystem: without(bare[0]!, before),
    ...turnFormat(before, rest, ends),
  };
}

/** @param before the text before every user message */
function turnFormat(
  before: string,
  [userToAssistant, assistantToUser, end]: readonly [string, string, string],
  ends: readonly string[],
): Pick<ChatFormat, 'user' | 'assistant' | 'answer'> {
  const after = closing(end, ends) === closing(userToAssistant, ends) ? closing(end, ends) : '';
  return {
    user: { before, after },
    assistant: { before: userToAssistant.slice(after.length), after: without(assistantToUser, before) },
    answer: end.slice(after.length),
  };
}

/** The end-of-message token at the start of a text, with the whitespace after it. */
function closing(text: string, ends: readonly string[]): string {
  const end = ends.find((one) => text.startsWith(one));
  return end === undefined ? '' : end + /^\s*/.exec(text.slice(end.length))![0];
}

function commonEnd(one: string, other: string): string {
  let length = 0;
  while (length < Math.min(one.length, other.length) && one.at(-1 - length) === other.at(-1 - length))
    length++;
  return one.slice(one.length - length);
}

function without(text: string, end: string): string {
  return text.slice(0, text.length - end.length);
}

function renderFormat(format: ChatFormat, messages: readonly ChatMessage[]): string {
  const instruction = messages.find(({ role }) => role === 'system')?.content;
  const { kind, before, after } = format.system;
  const start = instruction === undefined || kind !== 'message' ? format.withoutSystem : '';
  const framed = messages.map(({ role, content }, i) => {
    if (role === 'system') return kind === 'message' ? before + content + after : '';
    const frame = format[role];
    const inner =
      kind === 'in-last-user' && instruction !== undefined && i === messages.length - 1
        ? before + instruction + after
        : '';
    return frame.before + inner + content + frame.after;
  });
  return start + framed.join('') + format.answer;
}

/** Go text/template with Ollama's variables: `.Messages`, and `.System`, which joins all system messages. */
function goTemplate({ system, withoutSystem, user, assistant, answer }: ChatFormat): string {
  const start =
    withoutSystem === ''
      ? ''
      : system.kind !== 'message'
        ? withoutSystem
        : `{{ if not .System }}${withoutSystem}{{ end }}`;
  const systemMessage =
    system.kind === 'message'
      ? `{{ if eq .Role "system" }}${system.before}{{ .Content }}${system.after}{{ else if eq .Role "user" }}`
      : '{{ if eq .Role "user" }}';
  const inner =
    system.kind === 'in-last-user'
      ? `{{ if and $.System (eq (len (slice $.Messages $i)) 1) }}${system.before}{{ $.System }}${system.after}{{ end }}`
      : '';
  return (
    `${start}{{ range $i, $_ := .Messages }}${systemMessage}` +
    `${user.before}${inner}{{ .Content }}${user.after}{{ else if eq .Role "assistant" }}` +
    `${assistant.before}{{ .Content }}${assistant.after}{{ end }}{{ end }}${answer}`
  );
}
