import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { FormError } from '../../../../../src/models/local/constraint/form/expression-table.js';
import { sealForm } from '../../../../../src/models/local/constraint/form/text-form.js';
import { randomAnswer } from './random-answers.js';

const ajv = new Ajv2020({ strict: false, allErrors: true, multipleOfPrecision: 9 });
addFormats.default(ajv);

const object = (properties: Record<string, unknown>, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});
const text = { type: 'string' };
const node = object({
  value: { type: 'integer' },
  children: { type: 'array', items: { $ref: '#/$defs/Node' }, maxItems: 2 },
});
const linked = object({ value: text, next: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] } });

/** As OpenAI's strict mode, LangChain, pydantic (by hand) and AI SDK (through zod) write them. */
const schemas: Readonly<Record<string, unknown>> = {
  'three numbers': object({ a: { type: 'number' }, b: { type: 'number' }, c: { type: 'number' } }),
  'a string': object({ name: text }),
  'optional properties': { type: 'object', properties: { a: text, b: { type: 'integer' } }, required: ['b'] },
  'only optional properties': { type: 'object', properties: { a: text, b: { type: 'integer' } } },
  'bounded integers': object({ x: { type: 'integer', minimum: -7, maximum: 133 } }),
  'exclusive integers': object({ x: { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 3 } }),
  'bounded numbers': object({ x: { type: 'number', minimum: -1.5, maximum: 2.25 } }),
  'a probability': object({ x: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 } }),
  'a minimum': object({ x: { type: 'number', minimum: 0 } }),
  'a maximum of large size': object({ x: { type: 'number', maximum: 1e12 } }),
  'one number': object({ x: { type: 'number', minimum: 1.1, maximum: 1.1 } }),
  'a tiny range': object({ x: { type: 'number', minimum: 1e-8, maximum: 2e-8 } }),
  'all safe integers': object({ x: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } }),
  'multiples of 5': object({ x: { type: 'integer', multipleOf: 5, minimum: 3, maximum: 40 } }),
  'multiples of a quarter': object({ x: { type: 'number', multipleOf: 0.25 } }),
  'choices of several types': object({ x: { enum: ['a', 'ab', 3, null, true, 0.5] } }),
  'choices of a type': object({ x: { type: 'integer', enum: [1, 'b', 2] } }),
  'choices with bounds': object({ x: { type: 'integer', enum: [1, 5, 9], minimum: 2 } }),
  'choices with escapes': object({ x: { enum: ['é', '日本', '\n', '"\\', '\u0001'] } }),
  'a constant': object({ kind: { const: 'say "hi"' }, version: { const: 2 } }),
  'a constant object': object({ x: { const: { a: [1, { b: null }] } } }),
  'a nullable type': object({ x: { type: ['string', 'null'] } }),
  'a nullable choice': object({ x: { type: 'string', nullable: true } }),
  'Optional of pydantic': object({ x: { anyOf: [text, { type: 'null' }], default: null, title: 'X' } }),
  'a union': object({ x: { anyOf: [{ type: 'integer' }, { type: 'array', items: text }] } }),
  'a union with siblings': object({ x: { type: 'string', anyOf: [{ minLength: 3 }, { maxLength: 1 }] } }),
  'a discriminated union': object({
    x: {
      oneOf: [
        object({ kind: { const: 'a' }, v: { type: 'integer' } }),
        object({ kind: { const: 'b' }, w: text }),
      ],
    },
  }),
  'oneOf of types': object({ x: { oneOf: [text, { type: 'null' }, { type: 'number' }] } }),
  'allOf with bounds': object({ x: { allOf: [{ type: 'integer', minimum: 3 }, { maximum: 9 }] } }),
  'allOf of objects': {
    allOf: [
      { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
      { type: 'object', properties: { b: text, a: { maximum: 3 } }, required: ['b'] },
    ],
  },
  'a list': object({ x: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 4 } }),
  'a list of exactly three': object({
    x: { type: 'array', items: { type: 'number', minimum: 0, maximum: 1 }, minItems: 3, maxItems: 3 },
  }),
  'an empty list': object({ x: { type: 'array', items: text, maxItems: 0 } }),
  'a list of lists': object({
    x: { type: 'array', items: { type: 'array', items: { type: 'boolean' }, minItems: 1 } },
  }),
  'a list of anything': object({ x: { type: 'array' } }),
  'a tuple': object({
    x: { type: 'array', prefixItems: [{ type: 'integer' }, text], minItems: 2, maxItems: 2 },
  }),
  'a tuple that may end': object({
    x: { type: 'array', prefixItems: [{ type: 'integer' }, text], items: false },
  }),
  'a tuple with a rest': object({
    x: { type: 'array', prefixItems: [{ type: 'integer' }], items: text, minItems: 3 },
  }),
  'bounded lengths': object({ x: { type: 'string', minLength: 2, maxLength: 5 } }),
  'a pattern': object({ x: { type: 'string', pattern: '^[A-Z]{2}-\\d{3}$' } }),
  'a pattern anywhere': object({ x: { type: 'string', pattern: '[ a-z]' } }),
  'a pattern with lengths': object({
    x: { type: 'string', pattern: '^[a-z]+(-[a-z]+)*$', minLength: 3, maxLength: 7 },
  }),
  'a pattern with lookaheads': object({
    x: { type: 'string', pattern: '^(?!\\.)(?=.*[0-9])[a-z0-9.]{2,8}$' },
  }),
  'Decimal of pydantic': object({ x: { type: 'string', pattern: '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$' } }),
  'a negated class': object({ x: { type: 'string', pattern: '^[^\\s"\\\\]{1,4}$' } }),
  'a format': object({ x: { type: 'string', format: 'date-time' } }),
  'a model in another': {
    ...object({ n: { $ref: '#/$defs/N' } }),
    $defs: { N: object({ v: { type: 'integer' } }) },
  },
  'a reference with a description': {
    ...object({ n: { $ref: '#/$defs/N', description: 'n' } }),
    $defs: { N: text },
  },
  'a reference with a bound': {
    ...object({ n: { $ref: '#/$defs/N', maximum: 3 } }),
    $defs: { N: { type: 'integer', minimum: 0 } },
  },
  'a tree': { $ref: '#/$defs/Node', $defs: { Node: node } },
  'a linked list': { $ref: '#/$defs/Node', $defs: { Node: linked } },
  'definitions of draft 7': {
    ...object({ n: { $ref: '#/definitions/a~1b' } }),
    definitions: { 'a/b': { type: 'boolean' } },
  },
  'a dictionary': object({ x: { type: 'object', additionalProperties: { type: 'integer' } } }),
  'a dictionary of at least one': object({
    x: { type: 'object', additionalProperties: text, minProperties: 1 },
  }),
  'more properties': {
    type: 'object',
    properties: { a: { type: 'integer' } },
    required: ['a'],
    additionalProperties: text,
  },
  'named keys': object({
    x: { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: text },
  }),
  'keys of a pattern': object({
    x: { type: 'object', patternProperties: { '^k': { type: 'integer' } }, additionalProperties: false },
  }),
  'a required property without schema': { type: 'object', properties: { a: text }, required: ['a', 'z'] },
  'any object': { type: 'object' },
  'any value': {},
  'a number alone': { type: 'number', minimum: 0, maximum: 10 },
  ...Object.fromEntries(
    ['date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri'].map((format) => [
      `the format ${format}`,
      object({ x: { type: 'string', format } }),
    ]),
  ),
};

test.each(Object.entries(schemas))(
  'random text under a schema with %s validates against it',
  (_name, schema) => {
    const validate = ajv.compile(schema as object);
    const answers = [1, 2, 3].flatMap((seed) => randomAnswer({ kind: 'json', schema }, seed) ?? []);
    expect(answers.length).toBeGreaterThan(0);
    for (const answer of answers) {
      const value: unknown = JSON.parse(answer);
      expect(validate(value), `${answer}: ${ajv.errorsText(validate.errors)}`).toBe(true);
    }
  },
);

const zodSchemas: Readonly<Record<string, z.ZodType>> = {
  recipe: z.object({
    name: z.string(),
    steps: z.array(z.string().min(1)).min(1).max(3),
    rating: z.number().min(0).max(5).optional(),
    tags: z.array(z.enum(['quick', 'vegan'])),
  }),
  formats: z.object({ email: z.email(), id: z.uuid(), day: z.iso.date(), url: z.ipv4() }),
  union: z.union([
    z.object({ a: z.int().positive().lt(10) }),
    z.tuple([z.literal('x'), z.boolean()]),
    z.null(),
  ]),
  choice: z.discriminatedUnion('type', [
    z.object({ type: z.literal('circle'), radius: z.number().positive().max(9) }),
    z.object({ type: z.literal('square'), side: z.int().multipleOf(3).min(0).max(30) }),
  ]),
  record: z.record(z.string().max(4), z.number().nullable()),
  lengths: z.object({
    a: z.string().length(3),
    b: z
      .string()
      .regex(/^[a-f]+$/)
      .max(4),
  }),
};
test.each(Object.entries(zodSchemas))('zod accepts random text under its schema: %s', (_name, schema) => {
  const form = { kind: 'json', schema: z.toJSONSchema(schema) } as const;
  const answers = [1, 2, 3].flatMap((seed) => randomAnswer(form, seed) ?? []);
  expect(answers.length).toBeGreaterThan(0);
  for (const answer of answers)
    expect(schema.safeParse(JSON.parse(answer)), answer).toMatchObject({ success: true });
});

test('values outside an enum are never written', () => {
  const form = { kind: 'json', schema: object({ x: { enum: ['yes', 'no'] } }) } as const;
  const answers = new Set(
    [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => randomAnswer(form, seed)?.replaceAll(' ', '')),
  );
  expect([...answers].sort()).toEqual(['{"x":"no"}', '{"x":"yes"}']);
});

test('a string that is longer than the token limit stays unfinished', () => {
  expect(randomAnswer({ kind: 'json', schema: { type: 'string', minLength: 5000 } }, 1)).toBeUndefined();
});

const chain = (keyword: string) => ({
  $ref: '#/$defs/d50',
  $defs: Object.fromEntries(
    Array.from({ length: 51 }, (_, i) => {
      const before = { $ref: `#/$defs/d${i - 1}` };
      return [`d${i}`, i === 0 ? text : { [keyword]: [before, before], minLength: 1 }];
    }),
  ),
});
const refusals: readonly (readonly [string, unknown, RegExp])[] = [
  [
    'uniqueItems',
    object({ x: { type: 'array', uniqueItems: true } }),
    /schema\.properties\.x: uniqueItems can’t/,
  ],
  ['not', { not: text }, /schema: not can’t be enforced/],
  ['if', { type: 'object', if: { minProperties: 1 } }, /schema: if can’t/],
  [
    'options that overlap',
    { oneOf: [{ type: 'integer' }, { type: 'number' }] },
    /schema\.oneOf: .* use anyOf/,
  ],
  ['an empty range', { type: 'integer', minimum: 0.2, maximum: 0.8 }, /schema: there is no allowed number/],
  ['no choice', { enum: [] }, /no text has this form/],
  [
    'a pattern that is too long',
    { type: 'string', pattern: '^a{5}$', maxLength: 3 },
    /no text has this form/,
  ],
  ['a value that contains itself', object({ x: { $ref: '#' } }), /no text has this form/],
  ['a missing reference', { $ref: '#/$defs/X' }, /schema\.\$ref: "#\/\$defs\/X" is not in this schema/],
  ['an unknown type', { type: 'date' }, /schema\.type: "date" is not a type/],
  ['a bad bound', { type: 'number', minimum: '3' }, /schema\.minimum: Invalid input/],
  ['a bad pattern', { type: 'string', pattern: '(' }, /schema\.pattern: not an ECMAScript pattern/],
  ['a word boundary', { type: 'string', pattern: '\\bx' }, /word boundaries .* not supported/],
  ['allOf that doubles', chain('allOf'), /too complex/],
  ['anyOf that doubles', chain('anyOf'), /too many alternatives|too complex/],
  ['a constant of 3 MB', { const: 'x'.repeat(3e6) }, /too complex/],
  ['200,000 choices', { enum: Array.from({ length: 200_000 }, (_, i) => i) }, /schema\.enum: Too big/],
  [
    '5,000 properties',
    object(Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, text]))),
    /too complex/,
  ],
];
test.each(refusals)(
  'a schema is refused with a clear error within 6 seconds: %s',
  (_name, schema, message) => {
    const start = performance.now();
    expect(() => sealForm({ kind: 'json', schema })).toThrow(FormError);
    expect(() => sealForm({ kind: 'json', schema })).toThrow(message);
    expect(performance.now() - start).toBeLessThan(6000);
  },
);

test.each<[string, object, unknown]>([
  ['minProperties', { minProperties: 2 }, { a: 1, b: 2 }],
  ['maxProperties', { maxProperties: 1 }, { a: 1 }],
  ['propertyNames', { propertyNames: { enum: ['a'] } }, { a: 1 }],
])('%s restricts choices', (_name, more, allowed) => {
  const schema = { enum: [{ a: 1 }, { a: 1, b: 2 }], ...more };
  const answers = Array.from({ length: 8 }, (_, seed) => randomAnswer({ kind: 'json', schema }, seed));
  expect(answers.map((answer) => JSON.parse(answer ?? 'null'))).toEqual(answers.map(() => allowed));
});

test.each<[object, RegExp]>([
  [{ type: 'integer', minimum: 1e16 }, /numbers as large as 10000000000000000 are not supported/],
  [{ type: 'integer', minimum: 1e16, maximum: 2e16 }, /numbers as large as/],
])('numbers with more than 15 digits are refused: %j', (schema, message) => {
  expect(() => sealForm({ kind: 'json', schema })).toThrow(message);
});

test('a lenient schema ignores keywords that can’t be enforced', () => {
  const schema = object({ x: { type: 'array', items: { enum: [1, 2] }, uniqueItems: true, minItems: 1 } });
  const answer = randomAnswer({ kind: 'json', schema, lenient: true }, 1);
  expect(JSON.parse(answer ?? '')).toMatchObject({ x: expect.any(Array) });
});
