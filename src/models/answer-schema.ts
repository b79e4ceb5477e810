import { jsonIn } from '../base/files/json-depth.js';
import { findAnswer } from './answer-text.js';
import type { AnswerGrammar, NumberKind } from './language-model.js';

interface SchemaOptions {
  /** Puts the numbers before the reason, which could otherwise use up the token limit. */
  readonly numbersFirst?: boolean;
  /** Lists the allowed numbers, if there are at most this many, because many servers ignore bounds. */
  readonly maxChoices?: number;
  readonly maxReasonChars?: number;
  /** False for servers that reject bounds on numbers and lengths. Default: true. */
  readonly hasBounds?: boolean;
}

export const autoSchemaOptions: SchemaOptions = { numbersFirst: true, maxChoices: 1000, maxReasonChars: 300 };

/**
 * Returns the JSON schema of an answer `{"reason": "…", "<key>": [ … ]}`, for servers that can enforce it. By default,
 * the reason comes first, so that a model can think before it commits to numbers. As strict schemas demand, every
 * property is required, and no others are allowed.
 */
export function answerSchema(
  { key, labels, number }: AnswerGrammar,
  { hasBounds = true, maxChoices = 0, maxReasonChars, numbersFirst = false }: SchemaOptions = {},
): Record<string, unknown> {
  const count = labels.length;
  const choices = number.choices ?? allowedNumbers(number, maxChoices);
  const items = hasBounds ? valueSchema({ ...number, choices }) : { type: jsonType(number) };
  const lengthBounds = hasBounds ? { minItems: count, maxItems: count } : {};
  const reason = { reason: { type: 'string', ...(hasBounds && { maxLength: maxReasonChars }) } };
  const numbers = { [key]: { type: 'array', items, ...lengthBounds } };
  return {
    type: 'object',
    properties: numbersFirst ? { ...numbers, ...reason } : { ...reason, ...numbers },
    required: numbersFirst ? [key, 'reason'] : ['reason', key],
    additionalProperties: false,
  };
}

/** True if a reply has the shape of the answer schema (the reason may be missing); if not, the server ignored it. */
export function followsSchema(text: string, { key, labels }: AnswerGrammar): boolean {
  const answer = parseJsonAnswer(text);
  const numbers = answer?.[key];
  return (
    Array.isArray(numbers) &&
    numbers.length === labels.length &&
    numbers.every((value) => typeof value === 'number') &&
    Object.keys(answer!).every((name) => name === key || name === 'reason')
  );
}

/** Parses a reply, apart from its thinking, as a JSON object; undefined if it isn't one. */
export function parseJsonAnswer(text: string): Record<string, unknown> | undefined {
  const value = jsonIn(findAnswer(text).text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

type ValueRange = Omit<NumberKind, 'choices'> & { readonly choices: readonly number[] | undefined };

const jsonType = ({ decimals }: Pick<NumberKind, 'decimals'>) => (decimals === 0 ? 'integer' : 'number');

function valueSchema({ choices, decimals, high, low }: ValueRange): Record<string, unknown> {
  const type = jsonType({ decimals });
  return choices === undefined ? { type, minimum: low, maximum: high } : { type, enum: [...choices] };
}

/** Returns all allowed numbers in order; undefined if there are none or more than `limit`. */
function allowedNumbers({ decimals, high, low }: NumberKind, limit: number): readonly number[] | undefined {
  const scale = 10 ** decimals;
  // Bounds needn't be multiples of the step; `toPrecision` removes rounding errors of the products.
  const first = Math.ceil(Number((low * scale).toPrecision(15)));
  const last = Math.floor(Number((high * scale).toPrecision(15)));
  const count = last - first + 1;
  if (!(count >= 1 && count <= limit)) return undefined;
  return Array.from({ length: count }, (_, i) => Number(((first + i) / scale).toFixed(decimals)) + 0);
}
