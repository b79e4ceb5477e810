/**
 * Answers that follow a JSON schema. The model's decoding is constrained to a vector of numbers with free text around
 * it, so what can be promised are objects of one list of numbers and, at most, one text: the form in which the provider
 * `openai` asks for parameters.
 */
import { z } from 'zod';
import type { ParameterSpec } from '../policies/policy.js';
import { answerText } from '../prompting/reply-scanner.js';
import { badRequest } from './http-error.js';

export interface AnswerShape {
  /** What decoding is constrained to. */
  readonly spec: ParameterSpec;
  /** A constrained reply as JSON that follows the schema. */
  write(reply: string): string;
}

const annotations = { title: z.string().optional(), description: z.string().optional() };
const type = z.enum(['number', 'integer']);
const numberSchema = z.union([
  z.strictObject({ type, minimum: z.number(), maximum: z.number(), ...annotations }),
  z.strictObject({ type, enum: z.array(z.number()).min(1), ...annotations }),
]);
const listSchema = z
  .strictObject({
    type: z.literal('array'),
    items: numberSchema,
    minItems: z.int().min(1),
    maxItems: z.int(),
    ...annotations,
  })
  .refine(({ minItems, maxItems }) => minItems === maxItems);
const textSchema = z.strictObject({ type: z.literal('string'), ...annotations });
const objectSchema = z.strictObject({
  $schema: z.string().optional(),
  type: z.literal('object'),
  properties: z.record(z.string(), z.union([listSchema, textSchema])),
  required: z.array(z.string()).optional(),
  additionalProperties: z.boolean().optional(),
  ...annotations,
});
type NumberSchema = z.output<typeof numberSchema>;

/** @throws HttpError for a schema that can't be promised */
export function answerShape(schema: unknown): AnswerShape {
  const parsed = objectSchema.safeParse(schema);
  const properties = parsed.success ? Object.entries(parsed.data.properties) : [];
  const lists = properties.flatMap(([, value]) => (value.type === 'array' ? [value] : []));
  const [list] = lists;
  const required = parsed.data?.required ?? [];
  if (
    list === undefined ||
    lists.length > 1 ||
    properties.length > 2 ||
    required.some((name) => !properties.some(([property]) => property === name))
  )
    throw badRequest(
      'this schema can’t be enforced: an object can be that has one array of numbers (minItems = maxItems; items with ' +
        'minimum and maximum, or enum) and at most one string, with no other keywords',
      'response_format.json_schema',
    );
  const spec = numberSpec(list.items, list.minItems);
  const pattern = answerPattern(spec.count);
  return {
    spec,
    write(reply) {
      const { text } = answerText(reply, spec.count);
      const answer = [...text.matchAll(pattern)].at(-1);
      if (answer === undefined) throw new Error('the constrained answer is not there');
      const around = [text.slice(0, answer.index), text.slice(answer.index + answer[0].length)];
      const values = [...answer[0].matchAll(/: (-?[\d.]+)/g)].map(([, value]) => Number(value));
      const remark = around
        .map((part) => part.trim())
        .filter((part) => part !== '')
        .join('\n');
      return JSON.stringify(
        Object.fromEntries(
          properties.map(([name, value]) => [name, value.type === 'array' ? values : remark]),
        ),
      );
    },
  };
}

/** A schema says nothing of decimals. One, as policies have by default, unless the range is narrower than ten steps. */
function numberSpec(items: NumberSchema, count: number): ParameterSpec {
  const kind = items.type === 'integer' ? 'integer' : 'float';
  if ('enum' in items) {
    const places = items.enum.map((choice) => String(choice).split('.')[1]?.length ?? 0);
    const [low, high] = [Math.min(...items.enum), Math.max(...items.enum)];
    return { count, kind, low, high, decimals: Math.max(...places), choices: items.enum };
  }
  const { minimum: low, maximum: high } = items;
  if (low > high) throw badRequest('minimum lies above maximum', 'response_format.json_schema');
  let decimals = kind === 'integer' ? 0 : 1;
  while (kind === 'float' && decimals < 6 && (high - low) * 10 ** decimals < 10) decimals++;
  const unit = 10 ** decimals;
  if (Math.ceil(low * unit) > Math.floor(high * unit))
    throw badRequest('no number lies between minimum and maximum', 'response_format.json_schema');
  return { count, kind, low, high, decimals };
}

function answerPattern(count: number): RegExp {
  const values = Array.from({ length: count }, (_, index) => `params\\[${index}\\]: -?\\d[\\d.]*`);
  return new RegExp(values.join(', '), 'g');
}
