/** Renders messages with a model's Jinja template; control tokens such as `<|im_end|>` in messages stay text. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { messageOf, UserError } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../base/files/files.js';
import { readRegularFile } from '../../../base/files/regular-file.js';
import { withTimeLimit } from '../../../base/time-limit.js';
import type { ChatMessage } from '../../language-model.js';
import { isGguf, openGguf } from '../weights/gguf.js';
import { ggufTokenizerConfig } from './gguf-tokenizer.js';
import { jinjaFunctions } from './jinja/functions.js';
import { renderNode } from './jinja/render.js';
import { type Node, nodesOf, parseTemplate } from './jinja/syntax.js';
import { Callable, textOf, toValue, UnsupportedError, type Value } from './jinja/values.js';
import { escapePattern } from './tokenizer-settings.js';

const tokenField = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();
const tokenFields = {
  bos_token: tokenField,
  eos_token: tokenField,
  unk_token: tokenField,
  pad_token: tokenField,
  sep_token: tokenField,
  cls_token: tokenField,
  mask_token: tokenField,
};
const namedTemplate = z.looseObject({ name: z.string(), template: z.string() });
const tokenizerConfigSchema = z.looseObject({
  ...tokenFields,
  chat_template: z.union([z.string(), z.array(namedTemplate)]).nullish(),
});
const specialTokens = Object.keys(tokenFields) as readonly (keyof typeof tokenFields)[];
export type TokenizerConfig = z.output<typeof tokenizerConfigSchema>;

export function readTokenizerConfig(directory: string): TokenizerConfig {
  if (isGguf(directory))
    return checkedValue(tokenizerConfigSchema, ggufTokenizerConfig(openGguf(directory)), directory);
  const file = path.join(directory, 'tokenizer_config.json');
  return checkedValue(tokenizerConfigSchema, readJson(file) ?? {}, file);
}

export interface ChatTemplate {
  readonly file: string;
  /** All strings in the template, whether or not they are ever output. */
  readonly literals: readonly string[];
  /** Strings that the template may search for in messages, such as `</think>`: arguments of methods and of `in`. */
  readonly searchedTexts: readonly string[];
  /** Renders the prompt's text before tokenisation; it ends where the assistant's reply begins. */
  render(messages: readonly ChatMessage[]): string;
}

/** Opens a chat template; `variables` can override the usual ones. @throws UserError if it is missing or unusable */
export function openChatTemplate(
  directory: string,
  config: TokenizerConfig,
  variables: Readonly<Record<string, unknown>> = {},
): ChatTemplate {
  const { source, file } = templateSource(directory, config);
  const template = parse(source, file);
  const tokens = specialTokens.flatMap((name) => {
    const text = tokenText(config[name]);
    return text === undefined ? [] : ([[name, text]] as const);
  });
  const fixedVariables = new Map<string, Value>([
    ...globals,
    ...tokens,
    // Transformers passes these two as None, and templates test `is not none`.
    ['tools', null],
    ['documents', null],
    ['add_generation_prompt', true],
  ]);
  const userVariables = Object.entries(variables).map(([name, value]) => [name, toValue(value)] as const);
  return {
    file,
    ...literalsOf(template),
    render(messages) {
      const allVariables = new Map([...fixedVariables, ['messages', toValue(messages)], ...userVariables]);
      try {
        // Searching a long text repeatedly takes few steps but a long time, so limit the time too.
        return withTimeLimit(maxSeconds, () => renderNode(template, allVariables));
      } catch (error) {
        if (error instanceof UnsupportedError) throw templateError(error, file);
        throw new UserError({
          file,
          message: `the chat template can't render these messages: ${messageOf(error)}`,
          value: messages.map(({ role }) => role),
          hint: 'check the template and the roles: some templates reject system messages or require roles to alternate',
        });
      }
    },
  };
}

function literalsOf(template: Node): Pick<ChatTemplate, 'literals' | 'searchedTexts'> {
  const nodes = nodesOf(template);
  const texts = (found: readonly Node[]) =>
    found.flatMap((node) => (node.type === 'StringLiteral' ? [node.value] : []));
  const searchedNodes = nodes.flatMap((node) => {
    if (node.type === 'CallExpression' && node.callee.type === 'MemberExpression') return node.args;
    return node.type === 'BinaryExpression' && /in$/.test(node.operator.value) ? [node.left] : [];
  });
  return { literals: texts(nodes), searchedTexts: texts(searchedNodes) };
}

const templateError = (error: UnsupportedError, file: string) =>
  new UserError({
    file,
    message: `the chat template uses ${error.message}, which is not supported: the prompt could differ from the one that Transformers writes`,
    hint: 'serve this model with another program and use the provider `openai` or `ollama`, or change the template',
  });

/** Values available to every template in addition to its variables. */
const globals = new Map<string, Value>([
  ...jinjaFunctions,
  ['true', true],
  ['false', false],
  ['none', null],
  ['True', true],
  ['False', false],
  ['None', null],
  [
    'raise_exception',
    new Callable(({ positional: [message] }) => {
      throw new Error(textOf(message));
    }),
  ],
  ['strftime_now', new Callable(({ positional: [format] }) => fixedDate(textOf(format)))],
]);

const maxSeconds = 20;

/** Formats a fixed date (the default of Llama's templates), so that prompts don't change from day to day. */
function fixedDate(format: string): string {
  const parts: Readonly<Record<string, string>> = {
    Y: '2024',
    y: '24',
    m: '07',
    b: 'Jul',
    B: 'July',
    d: '26',
    A: 'Friday',
    a: 'Fri',
    H: '00',
    M: '00',
    S: '00',
  };
  return format.replace(/%([a-zA-Z])/g, (whole, letter: string) => parts[letter] ?? whole);
}

/** Maximum size of `chat_template.jinja` in bytes, or of a GGUF file's template in characters. */
const maxTemplate = 2 ** 20;

/** Finds the source of a model's chat template; the directory's chat_template.jinja takes precedence. */
export function templateSource(directory: string, config: TokenizerConfig): { source: string; file: string } {
  const configTemplate = config.chat_template;
  const source = Array.isArray(configTemplate)
    ? configTemplate.find(({ name }) => name === 'default')?.template
    : (configTemplate ?? undefined);
  if (isGguf(directory)) {
    if (source !== undefined && source.length <= maxTemplate) return { source, file: directory };
  } else {
    const own = path.join(directory, 'chat_template.jinja');
    if (existsSync(own)) return { source: readRegularFile(own, maxTemplate).toString('utf8'), file: own };
    if (source !== undefined) return { source, file: path.join(directory, 'tokenizer_config.json') };
    // Some older models keep the template in a separate JSON file.
    const jsonFile = path.join(directory, 'chat_template.json');
    const parsed = z.looseObject({ chat_template: z.string() }).safeParse(readJson(jsonFile));
    if (parsed.success) return { source: parsed.data.chat_template, file: jsonFile };
  }
  const names = Array.isArray(configTemplate) ? configTemplate.map(({ name }) => name) : undefined;
  throw new UserError({
    field: 'model.path',
    value: directory,
    message: names
      ? `none of the model's chat templates is named \`default\`: ${names.join(', ')}`
      : 'this model has no chat template, so its prompt format is unknown',
    hint:
      'use the instruction-tuned variant of the model, or add a chat_template.jinja to its directory, e.g. ' +
      '{% for m in messages %}{{ m.content + "\\n\\n" }}{% endfor %}',
  });
}

function parse(source: string, file: string): Node {
  try {
    return parseTemplate(source);
  } catch (error) {
    if (error instanceof UnsupportedError) throw templateError(error, file);
    throw new UserError({ file, message: `the chat template can't be parsed: ${messageOf(error)}` });
  }
}

export function tokenText(token: z.output<typeof tokenField>): string | undefined {
  return token == null ? undefined : typeof token === 'string' ? token : token.content;
}

/** Unicode noncharacters, absent from ordinary text: the first breaks up control tokens, the second marks real ones. */
const breaker = '\u{FDD0}';
const marker = '\u{FDD1}';

/** Distinguishes the template's control tokens from the same characters in a message. */
export interface ControlTokens {
  /** Breaks up the control tokens in a message, so that they stay text; replies keep the ones they may contain. */
  shield(content: string, isReply: boolean): string;
  /** Marks the real control tokens in rendered text, and removes the breakers. */
  mark(rendered: string): string;
  /** Removes marks and breakers. */
  clean(rendered: string): string;
  /** Spells a token as `mark` writes it. */
  spell(token: string): string;
}

/**
 * Distinguishes control tokens from text. Where several tokens match, the longest wins.
 * @param control the tokens that only a template may write, except for `inReplies`
 * @param inReplies those that a reply may also contain, such as `</think>`
 * @param ordinary other added tokens
 */
export function createControlTokens(
  control: readonly string[],
  inReplies: readonly string[],
  ordinary: readonly string[],
): ControlTokens {
  const controlTexts = new Set(control);
  const tokenPattern = anyOf([...control, ...ordinary].sort((a, b) => b.length - a.length));
  const headPattern = (tokens: readonly string[]) => new RegExp(`(?=${anyOf(tokens).source})(.)`, 'gsu');
  const heads = headPattern(control);
  const headsInReplies = headPattern(control.filter((token) => !inReplies.includes(token)));
  const strays = new RegExp(`[${breaker}${marker}]`, 'gu');
  const spelled = (found: string) => (controlTexts.has(found) ? marker + found : found);
  return {
    shield: (content, isReply) =>
      content.replace(strays, '\u{FFFD}').replace(isReply ? headsInReplies : heads, `$1${breaker}`),
    mark: (rendered) => rendered.replace(tokenPattern, spelled).replaceAll(breaker, ''),
    clean: (rendered) => rendered.replace(strays, ''),
    spell: spelled,
  };
}

const anyOf = (texts: readonly string[]) =>
  texts.length === 0 ? /(?!)/gu : new RegExp(texts.map(escapePattern).join('|'), 'gu');
