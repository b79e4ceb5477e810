/** Reduces JSON schemas to alternatives without `anyOf`, `oneOf`, `allOf` or `$ref` at the top. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { append } from '../../../../base/append.js';
import { isMapping } from '../../../../settings/schema.js';
import { FormError } from './expression-table.js';

const schema = z.union([z.boolean(), z.looseObject({})]);
const length = z.int().min(0).max(1e6).optional();
const number = z.number().optional();
const flatSchema = z.looseObject({
  type: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).max(10_000).optional(),
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: z.number().positive().optional(),
  minLength: length,
  maxLength: length,
  pattern: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  format: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  items: schema.optional(),
  prefixItems: z.array(schema).optional(),
  minItems: length,
  maxItems: length,
  properties: z.record(z.string(), schema).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: schema.optional(),
  patternProperties: z.record(z.string(), schema).optional(),
  propertyNames: schema.optional(),
  minProperties: length,
  maxProperties: length,
});
/** A schema that applies to the value directly, without references or alternatives at the top. */
export type Flat = z.output<typeof flatSchema>;
type Mapping = Readonly<Record<string, unknown>>;

const mostAlternatives = 2000;
const mostParts = 20_000;
/** Maximum length of a path; longer ones come from schemas that expand endlessly. */
const longestField = 4000;
const annotations = new Set(
  (
    'title description default examples example deprecated readOnly writeOnly $comment $schema $id $defs definitions ' +
    'discriminator'
  ).split(' '),
);

/** The only keyword of a schema, apart from annotations; undefined if it has none or several. */
export function onlyKeyword(given: unknown): string | undefined {
  if (!isMapping(given)) return undefined;
  const [only, ...others] = Object.keys(given).filter((key) => !annotations.has(key));
  return others.length === 0 ? only : undefined;
}

/** Resolves the references and alternatives in one schema. */
export class SchemaParts {
  readonly #root: unknown;
  readonly #lenient: boolean;
  #left = mostParts;

  /** @param root the whole schema, in which references are resolved */
  constructor(root: unknown, lenient: boolean) {
    this.#root = root;
    this.#lenient = lenient;
  }

  /** @throws FormError */
  resolve(pointer: string, field: string): unknown {
    const steps = /^#(\/|$)/.test(pointer) ? pointer.split('/').slice(1) : undefined;
    const found = steps?.reduce<unknown>((at, step) => {
      const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      return (isMapping(at) || Array.isArray(at)) && Object.hasOwn(at, key)
        ? (at as Mapping)[key]
        : undefined;
    }, this.#root);
    if (found !== undefined) return found;
    throw new FormError(`${field}.$ref: ${JSON.stringify(pointer)} is not in this schema`);
  }

  /** @returns alternatives, of which a value must follow at least one @throws FormError */
  flatten(given: unknown, field: string): readonly Flat[] {
    if (given === true) return [{}];
    if (given === false) return [];
    if (!isMapping(given)) throw new FormError(`${field}: must be a JSON schema`);
    if (this.#left-- < 1 || field.length > longestField)
      throw new FormError('this schema is too complex to enforce');
    const { $ref, allOf, anyOf, const: only, not, nullable, oneOf, ...own } = given;
    if (not === true || (isMapping(not) && Object.keys(not).length === 0)) return [];
    const rest = { ...own, ...(only !== undefined && { const: only }), ...(not !== undefined && { not }) };
    const factors: (readonly Flat[])[] = [[flat(rest, nullable === true, field)]];
    if ($ref !== undefined) factors.push(this.flatten(this.resolve(String($ref), field), `${field}.$ref`));
    if (allOf !== undefined) append(factors, this.#list(allOf, `${field}.allOf`));
    if (anyOf !== undefined) factors.push(this.#list(anyOf, `${field}.anyOf`).flat());
    if (oneOf !== undefined) factors.push(this.#oneOf(oneOf, `${field}.oneOf`));
    return factors.reduce<readonly Flat[]>(
      (found, factor) => {
        if (found.length * factor.length > mostAlternatives)
          throw new FormError(`${field}: has too many alternatives`);
        return found.flatMap((a) => factor.flatMap((b): Flat[] => merge(a, b, field) ?? []));
      },
      [{}],
    );
  }

  #list(list: unknown, field: string): readonly (readonly Flat[])[] {
    if (!Array.isArray(list)) throw new FormError(`${field}: must be a list of schemas`);
    return list.map((one, i) => this.flatten(one, `${field}.${i}`));
  }

  #oneOf(list: unknown, field: string): readonly Flat[] {
    const options = this.#list(list, field);
    const overlap = options.some((a, i) =>
      options
        .slice(i + 1)
        .some((b) => a.some((one) => b.some((other) => !this.#areDisjoint(one, other, field)))),
    );
    if (overlap && !this.#lenient)
      throw new FormError(`${field}: options that may overlap can’t be enforced; use anyOf`);
    return options.flat();
  }

  /** True if types, choices or properties such as a discriminator show that no value can follow both. */
  #areDisjoint(a: Flat, b: Flat, field: string): boolean {
    if (commonTypes(typesOf(a, field), typesOf(b, field)).length === 0) return true;
    if (a.enum !== undefined && b.enum !== undefined)
      return !a.enum.some((one) => b.enum!.some((other) => isDeepStrictEqual(one, other)));
    const shared = (a.required ?? []).filter((name) => b.required?.includes(name));
    return shared.some((name) => {
      const [one = [], other = []] = [a, b].map(({ properties }) =>
        this.flatten(properties?.[name] ?? true, field),
      );
      return one.every((x) =>
        other.every((y) => x.enum !== undefined && y.enum !== undefined && this.#areDisjoint(x, y, field)),
      );
    });
  }
}

function flat(own: Mapping, nullable: boolean, field: string): Flat {
  const kept = Object.fromEntries(Object.entries(own).filter(([key]) => !annotations.has(key)));
  if ('const' in kept) {
    kept.enum = [kept.const];
    delete kept.const;
  }
  // Before draft 2020-12, `items` could be a list.
  if (Array.isArray(kept.items)) {
    const { additionalItems, items } = kept;
    delete kept.items;
    Object.assign(kept, { prefixItems: items }, additionalItems !== undefined && { items: additionalItems });
  }
  const parsed = flatSchema.safeParse(kept);
  if (parsed.success)
    return nullable && parsed.data.type
      ? { ...parsed.data, type: [...parsed.data.type, 'null'] }
      : parsed.data;
  const [issue] = parsed.error.issues;
  throw new FormError(`${[field, ...(issue?.path ?? [])].join('.')}: ${issue?.message}`);
}

type Merge = (a: never, b: never) => unknown;
const highest: Merge = (a: number, b: number) => Math.max(a, b);
const lowest: Merge = (a: number, b: number) => Math.min(a, b);
const together: Merge = (a: readonly unknown[], b: readonly unknown[]) => [...new Set([...a, ...b])];
const both: Merge = (a: unknown, b: unknown) => ({ allOf: [a, b] });
const merges: Readonly<Record<string, Merge>> = {
  ...{
    minimum: highest,
    exclusiveMinimum: highest,
    minLength: highest,
    minItems: highest,
    minProperties: highest,
  },
  ...{
    maximum: lowest,
    exclusiveMaximum: lowest,
    maxLength: lowest,
    maxItems: lowest,
    maxProperties: lowest,
  },
  ...{ required: together, pattern: together, format: together },
  ...{ items: both, propertyNames: both, additionalProperties: both },
  type: (a: readonly string[], b: readonly string[]) => commonTypes(a, b),
  enum: (a: readonly unknown[], b: readonly unknown[]) =>
    a.filter((one) => b.some((other) => isDeepStrictEqual(one, other))),
  multipleOf: (a: number, b: number) => (a % b === 0 ? a : b % a === 0 ? b : a * b),
};

/** A schema for values that follow both; undefined if they share no type or choice. @throws FormError if unsupported */
function merge(a: Flat, b: Flat, field: string): Flat[] | undefined {
  const merged: Record<string, unknown> = { ...a, ...b };
  for (const key of Object.keys(a)) {
    if (!Object.hasOwn(b, key) || isDeepStrictEqual(a[key], b[key])) continue;
    if (key === 'properties') continue;
    const combine = merges[key] as ((a: unknown, b: unknown) => unknown) | undefined;
    if (combine === undefined) throw new FormError(`${field}: several schemas with ${key} can’t be combined`);
    merged[key] = combine(a[key], b[key]);
  }
  if (a.properties !== undefined || b.properties !== undefined) {
    const names = new Set([...Object.keys(a.properties ?? {}), ...Object.keys(b.properties ?? {})]);
    merged.properties = Object.fromEntries(
      [...names].map((name) => {
        const [one, other] = [a, b].map(({ additionalProperties = true, properties = {} }) =>
          Object.hasOwn(properties, name) ? properties[name] : additionalProperties,
        );
        return [name, one === true ? other : other === true ? one : { allOf: [one, other] }];
      }),
    );
  }
  const result = merged as Flat;
  return result.type?.length === 0 || result.enum?.length === 0 ? undefined : [result];
}

/** Types that both lists allow; every integer is a number. */
function commonTypes(a: readonly string[], b: readonly string[]): readonly string[] {
  const isIn = (type: string, types: readonly string[]) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...a.filter((type) => isIn(type, b)), ...b.filter((type) => isIn(type, a))])];
}

const allTypes = ['null', 'boolean', 'string', 'number', 'array', 'object'];
/** Keywords that imply a type if the schema states none. */
const suggesting = {
  object: [
    'properties',
    'required',
    'additionalProperties',
    'patternProperties',
    'propertyNames',
    'minProperties',
  ],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  string: ['pattern', 'format', 'minLength', 'maxLength'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};

export function typesOf({ type, ...rest }: Flat, field: string): readonly string[] {
  const unknown = type?.find((one) => one !== 'integer' && !allTypes.includes(one));
  if (unknown !== undefined) throw new FormError(`${field}.type: "${unknown}" is not a type`);
  if (type !== undefined) return type;
  const suggested = Object.entries(suggesting).flatMap(([one, keys]) =>
    keys.some((key) => key in rest) ? [one] : [],
  );
  return suggested.length > 0 && rest.enum === undefined ? suggested : allTypes;
}

const refused = [
  'not',
  'if',
  'contains',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  '$dynamicRef',
];

/** Keywords that restrict values in ways that can't be enforced. */
export function refusedKeywords(given: Flat): readonly string[] {
  const { additionalProperties, maxItems = 2, patternProperties = {}, properties } = given;
  const patterns = Object.keys(patternProperties).length;
  return [
    ...refused.filter((key) => key in given),
    ...(given.uniqueItems === true && maxItems > 1 ? ['uniqueItems'] : []),
    ...(patterns > 0 && (patterns > 1 || properties !== undefined || additionalProperties !== false)
      ? ['patternProperties with other properties']
      : []),
  ];
}
