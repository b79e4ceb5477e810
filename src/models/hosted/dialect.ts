/** Learns from a server's errors and replies which parameters it accepts. */

import { answerSchema, autoSchemaOptions, followsSchema, parseJsonAnswer } from '../answer-schema.js';
import { findAnswer } from '../answer-text.js';
import type { AnswerGrammar, Completion } from '../language-model.js';
import type { OpenAIConfig } from '../settings.js';
import type { AttemptError } from './retry.js';

/** Formats that can be requested under `format: auto`, strictest first. */
const formats = ['json_schema', 'json_object', 'text'] as const;
type Format = (typeof formats)[number];

export interface Dialect {
  /** Request fields that aren't sent, because the server rejected them or may have. */
  readonly refusedKeys: Set<string>;
  /** The server's name for the token limit. */
  tokenLimitKey: 'max_tokens' | 'max_completion_tokens';
  answerFormat: Format;
  /** False if the server rejects schemas with bounds on numbers and lengths. */
  hasBounds: boolean;
  /** Appended to the base URL. */
  prefix: '' | '/v1';
}

/** Fields of a request; undefined ones aren't sent. */
export type RequestFields = Readonly<Record<string, unknown>>;

/** Creates a dialect. OpenAI's reasoning models reject `max_tokens`; some other servers ignore the newer name. */
export const newDialect = ({ hostname }: URL, { format }: OpenAIConfig): Dialect => ({
  refusedKeys: new Set(),
  tokenLimitKey: /(^|\.)openai\.com$|\.openai\.azure\.com$/.test(hostname)
    ? 'max_completion_tokens'
    : 'max_tokens',
  answerFormat: format === 'text' ? 'text' : 'json_schema',
  hasBounds: true,
  prefix: '',
});

export function responseFormat(
  { format }: OpenAIConfig,
  { hasBounds, answerFormat }: Dialect,
  grammar: AnswerGrammar | undefined,
): RequestFields | undefined {
  if (grammar === undefined || answerFormat === 'text') return undefined;
  if (answerFormat === 'json_object') return { type: 'json_object' };
  const schema = answerSchema(grammar, format === 'auto' ? { ...autoSchemaOptions, hasBounds } : {});
  return { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };
}

/** The config key that sets each request field. */
const configKeys: Readonly<Record<string, keyof OpenAIConfig>> = {
  temperature: 'temperature',
  top_p: 'topP',
  max_tokens: 'maxTokens',
  max_completion_tokens: 'maxTokens',
  reasoning_effort: 'reasoningEffort',
};

function configFields(config: OpenAIConfig): ReadonlyMap<string, string> {
  const setFields = Object.keys(configKeys).filter((field) => config[configKeys[field]!] !== undefined);
  return new Map([
    ...setFields.map((field) => [field, `model.${configKeys[field]}`] as const),
    ...(config.format === 'json' ? [['response_format', 'model.format'] as const] : []),
    ...Object.keys(config.extra ?? {}).map((field) => [field, `model.extra.${field}`] as const),
  ]);
}

/** True if a message mentions a field, in snake case or in camel case (xAI). */
function cites(message: string, field: string): boolean {
  if (field === 'n') return /['"`]n['"`]/.test(message);
  const camelCase = field.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return new RegExp(`(?<![\\w-])(${field}|${camelCase})(?![\\w-])`, 'i').test(message);
}

const formatNames = /response_?format|json_?(schema|object)/i;
/** Words in error messages that reject a format without naming the field, or that reject a bound. */
const formatWords = /json|schema|structured output|grammar|samplers/i;
const boundWords = /minimum|maximum|(min|max)(Items|Length)|enum\b/;

/** Returns the config key of the rejected field; undefined if `message` names no field that the user set. */
export function refusedKey(config: OpenAIConfig, sent: RequestFields, message: string): string | undefined {
  return [...configFields(config)].find(([field]) => sent[field] !== undefined && cites(message, field))?.[1];
}

/**
 * Adapts the dialect after a rejected request, without dropping anything that the user set.
 * @param before the dialect when the request was sent
 * @returns whether to repeat the request
 */
export function adaptDialect(
  dialect: Dialect,
  config: OpenAIConfig,
  sent: RequestFields,
  before: Pick<Dialect, 'answerFormat' | 'hasBounds'>,
  { kind, message }: AttemptError,
): boolean {
  const userFields = configFields(config);
  const mayDrop = (field: string) => sent[field] !== undefined && !userFields.has(field);
  const isAuto = config.format === 'auto' && mayDrop('response_format');
  const refusedFields = droppableFields.filter((field) => mayDrop(field) && cites(message, field));
  const rejectsFormat =
    isAuto && (formatNames.test(message) || (refusedFields.length === 0 && formatWords.test(message)));
  // Some servers return a server error (5xx) for a schema that they can't convert to a grammar.
  if (kind !== 'bad-request' && !(kind === 'server' && rejectsFormat)) return false;
  if (renameLimit(dialect, sent, message)) return true;
  if (refusedKey(config, sent, message) !== undefined) return false;
  for (const field of refusedFields) dialect.refusedKeys.add(field);
  // A concurrent request may have been refused for the same reason.
  const isKnown = dialect.answerFormat !== before.answerFormat || dialect.hasBounds !== before.hasBounds;
  if (rejectsFormat && !isKnown) {
    if (dialect.answerFormat === 'json_schema' && dialect.hasBounds && boundWords.test(message))
      dialect.hasBounds = false;
    else dialect.answerFormat = formats[formats.indexOf(dialect.answerFormat) + 1] ?? 'text';
  }
  if (refusedFields.length > 0 || rejectsFormat) return true;
  // The message names no field that can be dropped, so first drop `n`, which the fewest servers support.
  if (mayDrop('n')) dialect.refusedKeys.add('n');
  else if (isAuto) dialect.answerFormat = 'text';
  else return false;
  return true;
}

/** Fields that are no longer sent once the server rejects them, unless the config sets them. */
const droppableFields = ['seed', 'n', 'temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty'];

/** Switches to the other name of the token limit if the error cites `max_completion_tokens`. @returns whether it did */
function renameLimit(dialect: Dialect, sent: RequestFields, message: string): boolean {
  const name = sent.max_tokens === undefined ? 'max_completion_tokens' : 'max_tokens';
  const other = name === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  // Never switches back, so that requests don't alternate forever.
  if (sent[name] === undefined || !cites(message, 'max_completion_tokens') || dialect.refusedKeys.has(other))
    return false;
  dialect.refusedKeys.add(name);
  dialect.tokenLimitKey = other;
  return true;
}

/** Returns the format to request next under `format: auto`: the same one, or `text` if the server ignored it. */
export function nextFormat(
  { finishReason, text }: Pick<Completion, 'finishReason' | 'text'>,
  sent: Format,
  grammar: AnswerGrammar,
): Format {
  const answer = findAnswer(text).text.trim();
  // Without an answer, the format can't be judged; a truncated reply shows only how the answer starts.
  if (sent === 'text' || answer === '' || !['stop', 'length'].includes(finishReason)) return sent;
  if (finishReason === 'length') return answer.startsWith('{') ? sent : 'text';
  const isKept = sent === 'json_schema' ? followsSchema(text, grammar) : parseJsonAnswer(text) !== undefined;
  return isKept ? sent : 'text';
}
