/** Translates a JSON schema into an expression for JSON on one line, with properties in the schema's order. */
import { isMapping } from '../../../../settings/schema.js';
import { allCharacters, intersection, jsonCharacter } from './characters.js';
import { FormError } from './expression-table.js';
import type { Expressions } from './expressions.js';
import { formats } from './formats.js';
import { numberExpression } from './numbers.js';
import { anywherePattern } from './pattern.js';
import { type Flat, onlyKeyword, refusedKeywords, SchemaParts, typesOf } from './schema-parts.js';

/** Strings with a maximum length use only these characters, which have length 1 both in code points and in UTF-16. */
const basicPlane = [[0, 0xffff]] as const;

/**
 * @param lenient whether to ignore most keywords that can't be enforced, instead of throwing
 * @throws FormError if the schema is invalid or can't be enforced
 */
export function jsonExpression(e: Expressions, schema: unknown, lenient = false): number {
  return new SchemaTranslator(e, schema, lenient).value(schema, 'schema');
}

class SchemaTranslator {
  readonly #e: Expressions;
  readonly #parts: SchemaParts;
  readonly #lenient: boolean;
  readonly #references = new Map<string, number>();
  readonly #comma: number;
  readonly #colon: number;
  readonly #character: number;
  #any: number | undefined;

  constructor(e: Expressions, root: unknown, lenient: boolean) {
    this.#e = e;
    this.#parts = new SchemaParts(root, lenient);
    this.#lenient = lenient;
    const space = e.optional(e.literal(' '));
    this.#comma = e.concat(e.literal(','), space);
    this.#colon = e.concat(e.literal('":'), space);
    this.#character = jsonCharacter(e, allCharacters);
  }

  value(schema: unknown, field: string): number {
    if (schema === true || (isMapping(schema) && Object.keys(schema).length === 0)) return this.#anyValue();
    const flats = () => this.#parts.flatten(schema, field);
    const only = onlyKeyword(schema);
    const inner = only === undefined ? undefined : (schema as Readonly<Record<string, unknown>>)[only];
    if (only === '$ref') return this.#referred(String(inner), field);
    // Don't flatten references in the options, because they may lead back here.
    if (
      only !== undefined &&
      Array.isArray(inner) &&
      (/^(any|one)Of$/.test(only) || (only === 'allOf' && inner.length === 1))
    ) {
      if (only === 'oneOf') flats();
      return this.#e.either(...inner.map((option, i) => this.value(option, `${field}.${only}.${i}`)));
    }
    return this.#e.either(...flats().map((flat) => this.#flat(flat, field)));
  }

  #referred(pointer: string, field: string): number {
    const known = this.#references.get(pointer);
    if (known !== undefined) return known;
    const reference = this.#e.reference();
    this.#references.set(pointer, reference);
    this.#e.define(reference, this.value(this.#parts.resolve(pointer, field), pointer));
    return reference;
  }

  #flat(flat: Flat, field: string): number {
    const e = this.#e;
    const [refused] = this.#lenient ? [] : refusedKeywords(flat);
    if (refused !== undefined) throw new FormError(`${field}: ${refused} can’t be enforced`);
    const types = typesOf(flat, field);
    const choices = flat.enum;
    if (choices === undefined) return e.either(...types.map((type) => this.#typed(type, flat, field)));
    const { maxProperties = Number.POSITIVE_INFINITY, minProperties = 0, ...rest } = flat;
    const fitting = choices.filter((choice) => {
      if (!types.some((type) => type === typeOf(choice) || (type === 'integer' && Number.isInteger(choice))))
        return false;
      const size = isMapping(choice) ? Object.keys(choice).length : undefined;
      return size === undefined || (minProperties <= size && size <= maxProperties);
    });
    const texts = e.literals(fitting.map((choice) => JSON.stringify(choice)));
    const others = Object.keys(rest).some((key) => bounds.has(key));
    return others ? e.both(texts, e.either(...types.map((type) => this.#typed(type, rest, field)))) : texts;
  }

  #typed(type: string, flat: Flat, field: string): number {
    const e = this.#e;
    switch (type) {
      case 'null':
        return e.literal('null');
      case 'boolean':
        return e.literals(['true', 'false']);
      case 'string':
        return e.sequence(e.literal('"'), this.#text(flat, field), e.literal('"'));
      case 'integer':
      case 'number': {
        const { exclusiveMaximum, exclusiveMinimum, maximum, minimum, multipleOf } = flat;
        const low = highestOf(minimum, exclusiveMinimum);
        const high = lowestOf(maximum, exclusiveMaximum);
        const [above, below] = [
          low !== undefined && low === exclusiveMinimum,
          high !== undefined && high === exclusiveMaximum,
        ];
        return numberExpression(
          e,
          { isInteger: type === 'integer', low, high, above, below, multipleOf },
          field,
        );
      }
      case 'array':
        return this.#array(flat, field);
      default:
        return this.#object(flat, field);
    }
  }

  /** A string without its quotes. */
  #text({ format = [], maxLength, minLength = 0, pattern = [] }: Flat, field: string): number {
    const e = this.#e;
    const character = (ranges: Parameters<typeof jsonCharacter>[1]) => jsonCharacter(e, ranges);
    const one =
      maxLength === undefined ? this.#character : character(intersection(allCharacters, basicPlane));
    const known = format.flatMap((name) => formats[name] ?? []);
    const texts = [...pattern, ...known].map((source) => {
      try {
        return anywherePattern(e, source, character);
      } catch (error) {
        if (error instanceof FormError && this.#lenient) return e.anything;
        throw error instanceof FormError ? new FormError(`${field}.pattern: ${error.message}`) : error;
      }
    });
    const isLimited = texts.every((text) => text === e.anything) || minLength > 0 || maxLength !== undefined;
    return [...(isLimited ? [e.repeat(one, minLength, maxLength)] : []), ...texts].reduce((a, b) =>
      e.both(a, b),
    );
  }

  #array(
    { items, maxItems = Number.POSITIVE_INFINITY, minItems = 0, prefixItems = [] }: Flat,
    field: string,
  ): number {
    const e = this.#e;
    // After a prefix, more items would only distract the model, unless they are required or described.
    const more = items ?? (prefixItems.length === 0 || minItems > prefixItems.length);
    const last = more === false ? Math.min(maxItems, prefixItems.length) : maxItems;
    if (minItems > last) return e.nothing;
    const count = prefixItems.length;
    const item = more === false || last <= count ? e.nothing : this.value(more, `${field}.items`);
    const next = (n: number) => e.repeat(e.concat(this.#comma, item), Math.max(0, minItems - n), last - n);
    let rest = count > 0 || last === 0 ? e.epsilon : e.concat(item, next(1));
    if (count === 0 && minItems === 0) rest = e.optional(rest);
    if (count > 0 && last > count) rest = next(count);
    for (let i = Math.min(count, last) - 1; i >= 0; i--) {
      const one = this.value(prefixItems[i], `${field}.prefixItems.${i}`);
      const part = e.sequence(i > 0 ? this.#comma : e.epsilon, one, rest);
      rest = i >= minItems ? e.optional(part) : part;
    }
    return e.sequence(e.literal('['), rest, e.literal(']'));
  }

  #object(flat: Flat, field: string): number {
    const e = this.#e;
    const {
      maxProperties = Number.POSITIVE_INFINITY,
      minProperties = 0,
      patternProperties,
      propertyNames,
    } = flat;
    const [[pattern, patterned] = []] = Object.entries(patternProperties ?? {});
    const extra = pattern === undefined ? flat.additionalProperties : patterned;
    const required = new Set(flat.required ?? []);
    const missing = [...required].filter((name) => !Object.hasOwn(flat.properties ?? {}, name));
    const properties = [
      ...Object.entries(flat.properties ?? {}),
      ...missing.map((name) => [name, extra ?? true] as const),
    ];
    for (const [name, schema] of properties)
      if (required.size < minProperties && schema !== false) required.add(name);
    // Without `properties`, any property is allowed. With them, others would only distract the model.
    const others = extra ?? flat.properties === undefined;
    const wanting = Math.max(0, minProperties - required.size);
    if (
      (wanting > 1 || (properties.length > maxProperties && required.size < properties.length)) &&
      !this.#lenient
    )
      throw new FormError(`${field}: minProperties and maxProperties can’t be enforced here`);
    const pair = others === false ? e.nothing : this.#pair(others, properties, pattern, propertyNames, field);
    const most = maxProperties - properties.length;
    let [first, later] = [
      e.repeat(
        e.concat(pair, e.repeat(e.concat(this.#comma, pair), 0, Math.max(0, most - 1))),
        Math.min(1, wanting),
        most < 1 ? 0 : 1,
      ),
      e.repeat(e.concat(this.#comma, pair), Math.min(1, wanting), Math.max(0, most)),
    ];
    for (const [name, schema] of properties.toReversed()) {
      const inner = this.value(schema, `${field}.properties.${name}`);
      const own = e.sequence(e.literal(JSON.stringify(name).slice(0, -1)), this.#colon, inner, later);
      const whole = e.concat(this.#comma, own);
      [first, later] = required.has(name) ? [own, whole] : [e.either(own, first), e.either(whole, later)];
    }
    return e.sequence(e.literal('{'), first, e.literal('}'));
  }

  /** A property that the schema doesn't name. */
  #pair(
    schema: unknown,
    named: readonly (readonly [string, unknown])[],
    pattern: string | undefined,
    names: unknown,
    field: string,
  ): number {
    const e = this.#e;
    const own = named.map(([name]) => JSON.stringify(name).slice(1, -1));
    const keys = [
      e.repeat(this.#character),
      ...(own.length > 0 ? [e.not(e.literals(own))] : []),
      ...(pattern === undefined ? [] : [anywherePattern(e, pattern, (ranges) => jsonCharacter(e, ranges))]),
    ].reduce((a, b) => e.both(a, b));
    const key = e.concat(e.literal('"'), keys);
    // `#colon` includes the closing quote of a name.
    const allowed =
      names === undefined
        ? undefined
        : this.value({ allOf: [{ type: 'string' }, names] }, `${field}.propertyNames`);
    const colon = allowed === undefined ? this.#colon : e.concat(e.literal(':'), e.optional(e.literal(' ')));
    const inner = this.value(schema, `${field}.additionalProperties`);
    return e.sequence(
      allowed === undefined ? key : e.both(allowed, e.concat(key, e.literal('"'))),
      colon,
      inner,
    );
  }

  #anyValue(): number {
    if (this.#any !== undefined) return this.#any;
    const any = this.#e.reference();
    this.#any = any;
    const types = ['null', 'boolean', 'string', 'number', 'array', 'object'];
    this.#e.define(any, this.#e.either(...types.map((type) => this.#typed(type, {}, 'any value'))));
    return any;
  }
}

/** Keywords that restrict values of particular types, apart from numbers of properties. */
const bounds = new Set(
  (
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems ' +
    'maxItems items prefixItems properties required additionalProperties propertyNames'
  ).split(' '),
);

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function highestOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function lowestOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
