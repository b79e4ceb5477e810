/** Derives Ollama's Go template from rendered conversations, and keeps it only if it reproduces all of them. */
import type { ChatMessage } from '../../../src/models/language-model.js';
import type { ChatTemplate } from '../../../src/models/local/tokens/chat-template.js';

/** The text before and after each message's content. A conversation is [system] user (assistant user)*. */
interface ChatFormat {
  readonly system: MessageFrame;
  /** Text at the start, unless a system message comes first. */
  readonly withoutSystem: string;
  readonly user: MessageFrame;
  readonly assistant: MessageFrame;
  /** Assistant prefix. */
  readonly prefix: string;
}

interface MessageFrame {
  readonly before: string;
  readonly after: string;
}

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

/**
 * @param bos text of the token that llama.cpp itself prepends; undefined if it prepends none
 * @returns undefined if no template reproduces all conversations, or a Modelfile can't contain it
 */
export function ollamaTemplate(template: Pick<ChatTemplate, 'render'>, bos?: string): string | undefined {
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
  const format = formatOf(rendered[0]!, rendered[3]!);
  if (format === undefined || conversations.some((one, i) => renderFormat(format, one) !== rendered[i]))
    return undefined;
  const { system, withoutSystem, user, assistant, prefix } = format;
  const literals = [withoutSystem, prefix, ...[system, user, assistant].flatMap((f) => [f.before, f.after])];
  const text = goTemplate(format);
  // The Modelfile encloses the template in triple quotes.
  return literals.some((literal) => literal.includes('{{')) || /^"|"""|"$/.test(text) ? undefined : text;
}

/** @param bare a rendered user message @param full rendered system, user, assistant and user messages */
function formatOf(bare: string, full: string): ChatFormat | undefined {
  const [bareStart, prefix] = partsAround(bare, [u]) ?? [];
  const [start, systemToUser, userToAssistant, assistantToUser] = partsAround(full, [s, u, a, v]) ?? [];
  if (bareStart === undefined || assistantToUser === undefined) return undefined;
  // The text that all user messages have in common before their content.
  const before = commonSuffix(commonSuffix(systemToUser!, assistantToUser), bareStart);
  return {
    system: { before: start!, after: withoutSuffix(systemToUser!, before) },
    withoutSystem: withoutSuffix(bareStart, before),
    user: { before, after: '' },
    assistant: { before: userToAssistant!, after: withoutSuffix(assistantToUser, before) },
    prefix: prefix!,
  };
}

/** The parts of the text around the contents; undefined if the contents don't occur in this order. */
function partsAround(text: string, contents: readonly string[]): string[] | undefined {
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

function commonSuffix(one: string, other: string): string {
  let length = 0;
  while (length < Math.min(one.length, other.length) && one.at(-1 - length) === other.at(-1 - length))
    length++;
  return one.slice(one.length - length);
}

const withoutSuffix = (text: string, end: string) => text.slice(0, text.length - end.length);

function renderFormat(format: ChatFormat, messages: readonly ChatMessage[]): string {
  const framed = messages.map(({ role, content }) => format[role].before + content + format[role].after);
  return (messages[0]!.role === 'system' ? '' : format.withoutSystem) + framed.join('') + format.prefix;
}

/** Go text/template with Ollama's variables: `.Messages`, and `.System`, which joins all system messages. */
function goTemplate({ system, withoutSystem, user, assistant, prefix }: ChatFormat): string {
  const start = withoutSystem === '' ? '' : `{{ if not .System }}${withoutSystem}{{ end }}`;
  const frameText = ({ before, after }: MessageFrame) => `${before}{{ .Content }}${after}`;
  return (
    `${start}{{ range .Messages }}{{ if eq .Role "system" }}${frameText(system)}` +
    `{{ else if eq .Role "user" }}${frameText(user)}` +
    `{{ else if eq .Role "assistant" }}${frameText(assistant)}{{ end }}{{ end }}${prefix}`
  );
}
