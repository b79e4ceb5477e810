/** Tokenizer and chat template of a model: the only way from messages to token ids. */
import path from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { messageOf, UserError } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../base/files/files.js';
import { isMapping } from '../../../base/settings/schema.js';
import { TimeLimitError, withTimeLimit } from '../../../base/time-limit.js';
import type { ChatMessage } from '../../language-model.js';
import { maxTokenId } from '../weights/generation-config.js';
import { isGguf, openGguf } from '../weights/gguf.js';
import {
  type ChatTemplate,
  type ControlTokens,
  createControlTokens,
  openChatTemplate,
  readTokenizerConfig,
  tokenText,
} from './chat-template.js';
import { ggufTokenizerJson } from './gguf-tokenizer.js';
import { createTokenBytes, TextStream, type TokenBytes } from './token-text.js';
import {
  adaptSettings,
  escapePattern,
  settingError,
  type TokenizerJson,
  tokenizerSchema,
} from './tokenizer-settings.js';

export interface ChatTokenizer {
  promptText(messages: readonly ChatMessage[]): string;
  /** Encodes the prompt. Control tokens in messages stay text, except the ones allowed in assistant messages. */
  encodePrompt(messages: readonly ChatMessage[]): number[];
  /** Encodes the text between the last reply, whose ids are already known, and the start of the next reply. */
  encodeNext(messages: readonly ChatMessage[]): number[];
  /** Encodes a reply. Control tokens stay text, except non-special ones that the template searches for. */
  encodeText(text: string): number[];
  /** Decodes tokens to text, omitting special tokens. */
  decode(ids: readonly number[]): string;
  readonly bytes: TokenBytes;
  /** Ids that end a reply according to the tokenizer. */
  readonly eosTokens: readonly number[];
  readonly largestId: number;
  readonly controlIds: ReadonlySet<number>;
  readonly template: ChatTemplate;
  readonly file: string;
}

/** Placeholder for a reply in a rendered conversation, to find its position. */
const replyMark = '⟦the reply that was given⟧';

/** @param variables passed to the chat template @throws UserError if a file is missing or unsupported */
export function openTokenizer(
  directory: string,
  variables: Readonly<Record<string, unknown>> = {},
): ChatTokenizer {
  const config = readTokenizerConfig(directory);
  const template = openChatTemplate(directory, config, variables);
  const { file, json, special, control, tokenizer, encode } = openEncoder(directory, template);
  const tokens = tokensById(tokenizer, json);
  const bytes = createTokenBytes(json, tokens, file);
  const render = (messages: readonly ChatMessage[]) =>
    template.render(
      messages.map(({ content, role }) => ({ role, content: control.shield(content, role === 'assistant') })),
    );
  const eosText = tokenText(config.eos_token);
  return {
    promptText: (messages) => control.clean(render(messages)),
    encodePrompt: (messages) => encode(control.mark(render(messages))),
    encodeNext(messages) {
      const replyIndex = messages.findLastIndex(({ role }) => role === 'assistant');
      const rendered = render(
        messages.map((message, i) =>
          i === replyIndex ? ({ role: 'assistant', content: replyMark } as const) : message,
        ),
      );
      const end = rendered.indexOf(replyMark);
      if (end < 0)
        throw new UserError({
          file: template.file,
          message: "the chat template doesn't include the assistant's replies",
        });
      return encode(control.mark(rendered.slice(end + replyMark.length)));
    },
    encodeText: (text) => encode(control.mark(control.shield(control.clean(text), true))),
    decode(ids) {
      const stream = new TextStream(bytes);
      return ids.map((id) => stream.push(id)).join('') + stream.end();
    },
    bytes,
    largestId: tokens.length - 1,
    eosTokens: json.added_tokens.filter((token) => token.content === eosText).map((token) => token.id),
    controlIds: new Set(special.map((token) => token.id)),
    template,
    file,
  };
}

/** Returns an `encodeText` for models without a chat template; control tokens stay text. @throws as `openTokenizer` */
export function openTextEncoder(directory: string): ChatTokenizer['encodeText'] {
  const { control, encode } = openEncoder(directory);
  return (text) => encode(control.clean(text));
}

function openEncoder(directory: string, template?: ChatTemplate) {
  const file = tokenizerFile(directory);
  const json = readTokenizerJson(directory);
  const special = json.added_tokens.filter((token) => token.special);
  const contents = json.added_tokens.map((token) => token.content);
  const templateTokens = template === undefined ? [] : writtenTokens(contents, template);
  const controlTexts = new Set([...special.map((token) => token.content), ...templateTokens]);
  const own = json.added_tokens.filter((token) => !token.special).map((token) => token.content);
  const control = createControlTokens(
    [...controlTexts],
    own.filter((one) => controlTexts.has(one) && template?.searchedTexts.some((text) => text.includes(one))),
    contents.filter((content) => !controlTexts.has(content)),
  );
  const tokenizer = createTokenizer(json, control, file);
  const strip = createStripper(json, control);
  const options = { add_special_tokens: false };
  const encode = (text: string) =>
    text === '' ? [] : runLimited(file, () => tokenizer.encode(strip(text), options).ids);
  return { file, json, special, control, tokenizer, encode };
}

const roles = [['user'], ['system', 'user'], ['user', 'assistant', 'user']] as const;

/** Finds added tokens that the template may write, such as turn markers; not white space or single characters. */
function writtenTokens(contents: readonly string[], template: ChatTemplate): readonly string[] {
  const samples = roles.map((turns) => {
    try {
      return template.render(turns.map((role) => ({ role, content: '' })));
    } catch {
      return '';
    }
  });
  const texts = [...template.literals, ...samples];
  return contents.filter((one) => /[^\s▁]{2}/.test(one) && texts.some((text) => text.includes(one)));
}

/** Creates a function that removes the white space that added tokens absorb. */
function createStripper(json: TokenizerJson, control: ControlTokens): (text: string) => string {
  const patterns = json.added_tokens
    .filter(({ lstrip, rstrip }) => lstrip || rstrip)
    .map(({ content, lstrip, rstrip }) => {
      const space = (isStripped: boolean) => (isStripped ? '\\p{White_Space}*' : '');
      const token = escapePattern(control.spell(content));
      return new RegExp(`${space(lstrip)}(${token})${space(rstrip)}`, 'gu');
    });
  return (text) => patterns.reduce((rest, pattern) => rest.replace(pattern, '$1'), text);
}

/** Creates a tokenizer that recognises control tokens only in their marked form, which no message can produce. */
function createTokenizer(json: TokenizerJson, control: ControlTokens, file: string): Tokenizer {
  const settings = adaptSettings(json, file);
  const added = settings.added_tokens.map((token) => ({ ...token, content: control.spell(token.content) }));
  try {
    return runLimited(file, () => new Tokenizer({ ...settings, added_tokens: added }, {}));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError({ file, message: `the tokenizer can't be read: ${messageOf(error)}` });
  }
}

/** Time limit for a tokenizer, far longer than any prompt needs. */
const maxSeconds = 20;

/** Limits the time for a model's patterns, which may backtrack for a very long time. @throws UserError if exceeded */
function runLimited<T>(file: string, work: () => T): T {
  try {
    return withTimeLimit(maxSeconds, work);
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    throw new UserError({
      file,
      message: `${error.message} to tokenize text with this file's patterns`,
      hint: 'repeat the command if the machine was very busy; otherwise use the tokenizer published with these weights',
    });
  }
}

function tokensById(tokenizer: Tokenizer, json: TokenizerJson): (string | undefined)[] {
  const tokens: (string | undefined)[] = [];
  for (const [token, id] of tokenizer.get_vocab()) tokens[id] = token;
  for (const { id, content } of json.added_tokens) tokens[id] = content;
  return tokens;
}

/** Checks token ids, because the library's tables are as long as the largest id. A schema would be too slow here. */
function rejectInvalidIds({ vocab }: TokenizerJson['model'], file: string): void {
  const ids: readonly unknown[] = isMapping(vocab) ? Object.values(vocab) : [vocab];
  const value = ids.find((id) => !(Number.isInteger(id) && Number(id) >= 0 && Number(id) <= maxTokenId));
  if (value === undefined) return;
  const message = `is not a token id: must be a whole number from 0 to ${maxTokenId}`;
  throw new UserError({ file, field: 'model.vocab', value, message });
}

const tokenizerFile = (model: string) => (isGguf(model) ? model : path.join(model, 'tokenizer.json'));

export function readTokenizerJson(model: string): TokenizerJson {
  const file = tokenizerFile(model);
  if (isGguf(model)) return checkedValue(tokenizerSchema, ggufTokenizerJson(openGguf(model)), file);
  const raw = readJson(file);
  if (raw === undefined)
    throw new UserError({
      file,
      message: 'this file is missing',
      hint: 'download the whole model directory again, or convert tokenizer.model once with Transformers: AutoTokenizer.from_pretrained(dir).save_pretrained(dir)',
    });
  const json = checkedValue(tokenizerSchema, raw, file);
  const { type = null } = json.model;
  if (type !== 'BPE' && type !== null) throw settingError('model.type', type, ['BPE'], file);
  rejectInvalidIds(json.model, file);
  return json;
}
