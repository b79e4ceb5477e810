/**
 * Renders messages to the text that a model was trained on, by its Jinja chat template, and keeps the messages from
 * posing as control tokens: a user may write `<|im_end|>`, but it stays text.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Environment, Template } from '@huggingface/jinja';
import { z } from 'zod';
import { messageOf, UserError } from '../../../base/errors.js';
import { withinTime } from '../../../base/time-limit.js';
import { readJson } from '../../../storage/files.js';
import { readRegularFile } from '../../../storage/regular-file.js';
import type { ChatMessage } from '../../language-model.js';
import { isGguf } from '../weights/gguf.js';
import { boundedInterpreter, longestRange } from './bounded-interpreter.js';

const tokenField = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();
export const tokenizerConfigSchema = z.looseObject({
  bos_token: tokenField,
  eos_token: tokenField,
  unk_token: tokenField,
  pad_token: tokenField,
  chat_template: z
    .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
    .nullish(),
});
export type TokenizerConfig = z.output<typeof tokenizerConfigSchema>;

export interface ChatTemplate {
  /** File that the template came from. */
  readonly file: string;
  /** The text before tokenisation; ends where the assistant's answer begins. */
  render(messages: readonly ChatMessage[]): string;
}

/**
 * The template of a model directory: `chat_template.jinja`, else `chat_template` of `tokenizer_config.json` (a text, or
 * a list of named ones, of which `default` is taken).
 * @param variables passed to the template beside the messages, e.g. `{enable_thinking: false}`
 * @throws UserError when there is none, or it cannot be parsed
 */
export function openChatTemplate(
  directory: string,
  config: TokenizerConfig,
  variables: Readonly<Record<string, unknown>> = {},
): ChatTemplate {
  const { source, file } = templateSource(directory, config);
  const template = parse(source, file);
  const tokens = Object.fromEntries(
    (['bos_token', 'eos_token', 'unk_token', 'pad_token'] as const)
      .map((name) => [name, tokenText(config[name])])
      .filter(([, text]) => text !== undefined),
  );
  return {
    file,
    render(messages) {
      try {
        return renderTemplate(template, {
          ...tokens,
          // Transformers passes these two as none, and templates ask `is not none`.
          tools: null,
          documents: null,
          messages: messages.map(({ role, content }) => ({ role, content })),
          add_generation_prompt: true,
          ...variables,
        });
      } catch (error) {
        throw new UserError({
          file,
          message: `the chat template refuses these messages: ${messageOf(error)}`,
          value: messages.map(({ role }) => role),
          remedy: 'some templates take no system message, or want roles to alternate',
        });
      }
    },
  };
}

/** Values that every template finds beside its variables. */
const globals = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception(message: string): never {
    throw new Error(message);
  },
  range(start: number, stop?: number, step = 1): number[] {
    const [from, to] = stop === undefined ? [0, start] : [start, stop];
    const length = Math.max(0, Math.ceil((to - from) / step));
    if (!(length <= longestRange)) throw new Error(`a range has ${longestRange} numbers at most`);
    return Array.from({ length }, (_, i) => from + i * step);
  },
  strftime_now: fixedDate,
};

const mostSeconds = 20;

/** `Template.render` with the globals above, since its own give the time of day. */
function renderTemplate(template: Template, variables: Readonly<Record<string, unknown>>): string {
  const environment = new Environment();
  for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value);
  const render = () => String(boundedInterpreter(environment).run(template.parsed).value);
  // Searching a long text again and again takes few steps and much time.
  return withinTime(mostSeconds, render);
}

/**
 * Replaces the current date: the same run must give the same prompt on any day. It is the date that Llama's own templates
 * fall back to.
 */
function fixedDate(format: string): string {
  const parts: Readonly<Record<string, string>> = {
    d: '26',
    m: '07',
    b: 'Jul',
    B: 'July',
    Y: '2024',
    y: '24',
    A: 'Friday',
    a: 'Fri',
    H: '00',
    M: '00',
    S: '00',
  };
  return format.replace(/%([a-zA-Z])/g, (whole, letter: string) => parts[letter] ?? whole);
}

/** In bytes; published ones have 20,000 at most. */
const largestTemplate = 2 ** 20;

/** The text of a model's chat template, found as `openChatTemplate` tells. */
export function templateSource(directory: string, config: TokenizerConfig): { source: string; file: string } {
  if (isGguf(directory)) {
    const { chat_template: source } = config;
    if (typeof source === 'string' && source.length <= largestTemplate) return { source, file: directory };
    if (source != null)
      throw new UserError({
        file: directory,
        field: 'tokenizer.chat_template',
        message: `this is no text of at most ${largestTemplate} characters`,
      });
    throw noTemplate(directory, 'take the file of the instruction-tuned variant of the model');
  }
  const own = path.join(directory, 'chat_template.jinja');
  if (existsSync(own)) return { source: readRegularFile(own, largestTemplate).toString('utf8'), file: own };
  const file = path.join(directory, 'tokenizer_config.json');
  const inConfig = config.chat_template;
  if (typeof inConfig === 'string') return { source: inConfig, file };
  const named = inConfig?.find(({ name }) => name === 'default') ?? inConfig?.[0];
  if (named !== undefined) return { source: named.template, file };
  // For a time, models had a JSON file with this single field.
  const old = path.join(directory, 'chat_template.json');
  const parsed = z.looseObject({ chat_template: z.string() }).safeParse(readJson(old));
  if (parsed.success) return { source: parsed.data.chat_template, file: old };
  throw noTemplate(
    directory,
    'take the instruction-tuned variant of the model, or write chat_template.jinja beside it, e.g. ' +
      '{% for m in messages %}{{ m.content }}\\n\\n{% endfor %}',
  );
}

const noTemplate = (model: string, remedy: string) =>
  new UserError({
    field: 'model.path',
    value: model,
    message: 'this model has no chat template, so it is not known how messages become its prompt',
    remedy,
  });

function parse(source: string, file: string): Template {
  try {
    return new Template(source);
  } catch (error) {
    throw new UserError({ file, message: `the chat template can't be parsed: ${messageOf(error)}` });
  }
}

export function tokenText(token: z.output<typeof tokenField>): string | undefined {
  return token == null ? undefined : typeof token === 'string' ? token : token.content;
}

/**
 * Noncharacters of Unicode, which no text contains. The first breaks up control tokens that a message spells out, the
 * second marks those that the template wrote.
 */
const breaker = '\u{FDD0}';
const marker = '\u{FDD1}';

/** Keeps control tokens that the template writes apart from the same characters inside a message. */
export interface ControlTokens {
  /** Content of a message, to be rendered by the template. */
  shield(content: string): string;
  /** Rendered text with every true control token marked and the shields of the others taken away. */
  mark(rendered: string): string;
  /** Rendered text without marks and shields, for people. */
  clean(rendered: string): string;
  /** The marked spelling of a control token. */
  marked(token: string): string;
}

/**
 * @param control contents of the tokens that only a template may write
 * @param ordinary contents of other added tokens, which take precedence where they are longer
 */
export function controlTokens(control: readonly string[], ordinary: readonly string[]): ControlTokens {
  const isControl = new Set(control);
  const alternatives = [...control, ...ordinary].sort((a, b) => b.length - a.length).map(escapePattern);
  const token = alternatives.length === 0 ? /(?!)/gu : new RegExp(alternatives.join('|'), 'gu');
  const heads =
    control.length === 0 ? /(?!)/gu : new RegExp(`(?=${control.map(escapePattern).join('|')})(.)`, 'gsu');
  const strays = new RegExp(`[${breaker}${marker}]`, 'gu');
  return {
    shield: (content) => content.replace(strays, '\u{FFFD}').replace(heads, `$1${breaker}`),
    mark: (rendered) =>
      rendered
        .replace(token, (found) => (isControl.has(found) ? marker + found : found))
        .replaceAll(breaker, ''),
    clean: (rendered) => rendered.replace(strays, ''),
    marked: (content) => marker + content,
  };
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
