/**
 * Answers that follow a JSON schema. Constrained decoding produces a list of numbers within free text, so a
 * schema can only request an object with one list of numbers and at most one string, as the provider `openai`
 * does.
 */

import { z } from 'zod';
import { answerText } from '../models/answer-text.js';
import type { AnswerGrammar, NumberKind } from '../models/language-model.js';
import { multiplesBetween } from '../models/local/constraint/number-grammar.js';
import { answerGrammar } from '../prompting/notation/grammar.js';
import { largest, smallest } from '../statistics/descriptive.js';
import { badRequest, type HttpError } from './http.js';

export interface AnswerShape {
  readonly grammar: AnswerGrammar;
  /** Converts the constrained reply to JSON that follows the schema. */
  write(reply: string): string;
}

/** Far more numbers than fit into a context. */
const mostNumbers = 4096;
const schemaField = 'response_format.json_schema.schema';

const annotations = { title: z.string().optional(), description: z.string().optional() };
const type = z.enum(['number', 'integer']);
const rangeSchema = z.strictObject({ type, minimum: z.number(), maximum: z.number(), ...annotations });
const enumSchema = z.strictObject({ type, enum: z.array(z.number()).min(1), ...annotations });
const listSchema = z
  .strictObject({
    type: z.literal('array'),
    items: z.union([rangeSchema, enumSchema]),
    minItems: z.int().min(1),
    maxItems: z.int(),
    ...annotations,
  })
  .refine(({ minItems, maxItems }) => minItems === maxItems);
const textSchema = z.strictObject({
  type: z.literal('string'),
  maxLength: z.int().min(0).optional(),
  ...annotations,
});
const objectSchema = z.strictObject({
  $schema: z.string().optional(),
  type: z.literal('object'),
  properties: z.record(z.string(), z.union([listSchema, textSchema])),
  required: z.array(z.string()).optional(),
  additionalProperties: z.boolean().optional(),
  ...annotations,
});
type RangeSchema = z.output<typeof rangeSchema>;
type EnumSchema = z.output<typeof enumSchema>;

/** @throws HttpError if the schema can't be enforced */
export function answerShape(schema: unknown): AnswerShape {
  const parsed = objectSchema.safeParse(schema);
  const properties = parsed.success ? Object.entries(parsed.data.properties) : [];
  const lists = properties.flatMap(([name, value]) => (value.type === 'array' ? [{ name, ...value }] : []));
  const [list] = lists;
  const required = parsed.data?.required ?? [];
  if (
    list === undefined ||
    lists.length > 1 ||
    properties.length > 2 ||
    required.some((name) => !properties.some(([property]) => property === name))
  )
    throw badRequest(
      "this schema can't be enforced; use an object with one array of numbers (minItems = maxItems; items with " +
        'minimum and maximum, or enum), at most one string (maxLength) and no other keywords',
      'response_format.json_schema',
    );
  const field = `${schemaField}.properties.${list.name}`;
  if (list.minItems > mostNumbers)
    throw wrong(`${field}.minItems`, `more than ${mostNumbers} numbers are not supported`);
  const count = list.minItems;
  const number = numberKind(list.items, `${field}.items`);
  const pattern = answerPattern(count);
  return {
    grammar: answerGrammar({ count, kind: list.items.type === 'integer' ? 'integer' : 'float', ...number }),
    write(reply) {
      const { text } = answerText(reply);
      const answer = [...text.matchAll(pattern)].at(-1);
      if (answer === undefined) throw new Error('the constrained answer is missing');
      const around = [text.slice(0, answer.index), text.slice(answer.index + answer[0].length)];
      const values = [...answer[0].matchAll(/: (-?[\d.]+)/g)].map(([, value]) => Number(value));
      const remark = around
        .map((part) => part.trim())
        .filter((part) => part !== '')
        .join('\n');
      return JSON.stringify(
        Object.fromEntries(
          properties.map(([name, value]) => [
            name,
            value.type === 'array' ? values : remark.slice(0, value.maxLength),
          ]),
        ),
      );
    },
  };
}

function numberKind(items: RangeSchema | EnumSchema, field: string): NumberKind {
  return 'enum' in items ? choiceKind(items, `${field}.enum`) : rangeKind(items, field);
}

function choiceKind(items: EnumSchema, field: string): NumberKind {
  if (items.enum.length > mostNumbers)
    throw wrong(field, `more than ${mostNumbers} choices are not supported`);
  for (const choice of items.enum) requirePlain(choice, field);
  const choices = items.type === 'integer' ? items.enum.filter(Number.isInteger) : items.enum;
  if (choices.length === 0) throw wrong(field, 'must contain an integer');
  const places = choices.map((choice) => String(choice).split('.')[1]?.length ?? 0);
  const [low, high] = [smallest(choices), largest(choices)];
  return { low, high, decimals: largest(places), choices };
}

/** Schemas don't specify decimals, so use one, or more if the range has fewer than ten steps. */
function rangeKind(items: RangeSchema, field: string): NumberKind {
  const { minimum: low, maximum: high } = items;
  if (low > high) throw wrong(`${field}.minimum`, 'must not exceed maximum');
  const isInteger = items.type === 'integer';
  let decimals = isInteger ? 0 : 1;
  while (!isInteger && decimals < 6 && (high - low) * 10 ** decimals < 10) decimals++;
  for (const name of ['minimum', 'maximum'] as const) {
    requirePlain(items[name], `${field}.${name}`);
    if (Math.abs(items[name]) * 10 ** decimals > Number.MAX_SAFE_INTEGER)
      throw wrong(`${field}.${name}`, `${items[name]} is too large for ${decimals} decimals`);
  }
  const { lowest, highest } = multiplesBetween(low, high, decimals);
  if (lowest > highest)
    throw wrong(
      `${field}.minimum`,
      `there is no number with ${decimals} decimals between minimum and maximum`,
    );
  return { low, high, decimals };
}

/** Numbers are written digit by digit, without exponents. */
function requirePlain(value: number, field: string): void {
  if (String(value).includes('e')) throw wrong(field, `${value} can’t be written without an exponent`);
}

function wrong(field: string, message: string): HttpError {
  return badRequest(`${field}: ${message}`, field);
}

function answerPattern(count: number): RegExp {
  const values = Array.from({ length: count }, (_, index) => `params\\[${index}\\]: -?\\d[\\d.]*`);
  return new RegExp(values.join(', '), 'g');
}
