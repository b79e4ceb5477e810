/** Schemas as plain data (JSON Schema), for error messages, overrides, editors and the reference. */
import { z } from 'zod';
import { closestMatch } from '../errors.js';

/** The subset of JSON Schema 2020-12 that zod generates for settings. */
export interface SchemaNode {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean';
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  /** False for objects whose keys are fixed. */
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly prefixItems?: readonly SchemaNode[];
  readonly minItems?: number;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  /** `uri`; or a path to make absolute: `path`, `name-or-path` (if it has a slash), `name-or-module` (`./file.js`). */
  readonly format?: string;
  /** True for values that messages must not show. */
  readonly writeOnly?: boolean;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  /** Another field with the same keys; the reference documents them only in that field's section. */
  readonly like?: string;
  /** Names that users may try instead of this key; the error message suggests the key. */
  readonly aliases?: readonly string[];
}

/** A kind of settings, such as an experiment config, with everything needed to load a file. */
export interface SettingsKind<Output> {
  readonly schema: z.ZodType<Output>;
  readonly json: SchemaNode;
  /** Example with one or two overrides, shown if an override is malformed. */
  readonly example: string;
  /** Expands the short forms of discriminators, after overrides are applied and before validation. */
  expand?(content: Record<string, unknown>): Record<string, unknown>;
  /** The long form of a value that abbreviates a mapping; undefined if there is none. */
  longForm?(path: readonly PropertyKey[], value: unknown): Record<string, unknown> | undefined;
}

const schemaCache = new WeakMap<z.ZodType, SchemaNode>();

/** JSON Schema of settings as a user writes them. */
export function jsonSchemaOf(schema: z.ZodType): SchemaNode {
  const cachedNode = schemaCache.get(schema);
  if (cachedNode !== undefined) return cachedNode;
  const node = z.toJSONSchema(schema, {
    io: 'input',
    // zod limits every integer to the safe range, which isn't useful to readers.
    override: ({ jsonSchema, zodSchema }) => {
      // zod omits the examples of abbreviated sections, because they are transformed.
      Object.assign(jsonSchema, { examples: z.globalRegistry.get(zodSchema)?.examples });
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  }) as SchemaNode;
  schemaCache.set(schema, node);
  return node;
}

/** Adds the JSON Schema to a kind of settings, generated on first use. */
export const settingsKind = <Output>(kind: Omit<SettingsKind<Output>, 'json'>): SettingsKind<Output> => ({
  ...kind,
  get json() {
    return jsonSchemaOf(kind.schema);
  },
});

/** The alternatives of a union; for any other node, only the node itself. */
export const variantsOf = (node: SchemaNode): readonly SchemaNode[] => node.anyOf ?? node.oneOf ?? [node];

/** The key that distinguishes the variants of a union of objects, e.g. `provider`. */
export function discriminatorOf(node: SchemaNode): string | undefined {
  const [first] = node.oneOf ?? [];
  return Object.keys(first?.properties ?? {}).find((key) => first?.properties?.[key]?.const !== undefined);
}

/** The values of the discriminator that messages may show. */
export function discriminatorValues(node: SchemaNode): readonly string[] {
  const key = discriminatorOf(node) ?? '';
  const values = variantsOf(node).flatMap(({ properties }) => properties?.[key] ?? []);
  return values.flatMap((value) => (value.writeOnly ? [] : (value.const ?? [])));
}

/** The alternative that fits `value` best, by its type, discriminator or keys. */
export function variantFor(node: SchemaNode, value: unknown): SchemaNode | undefined {
  const variants = variantsOf(node).filter((variant) => hasType(variant, value));
  if (variants.length <= 1 || !isMapping(value)) return variants[0];
  const tag = discriminatorOf(node);
  if (tag !== undefined) return variants.find(({ properties }) => properties?.[tag]?.const === value[tag]);
  const similarity = (variant: SchemaNode) =>
    Object.keys(value).reduce((sum, key) => sum + keySimilarity(key, keysOf(variant)), 0);
  return variants.reduce((best, variant) => (similarity(variant) > similarity(best) ? variant : best));
}

function keySimilarity(key: string, keys: readonly string[]): number {
  if (keys.includes(key)) return 1;
  return closestMatch(key, keys) === undefined ? 0 : 0.5;
}

/** The schema of `value[key]`, whether or not that value exists; undefined if there is none for this key. */
function childOf(node: SchemaNode, value: unknown, key: string): SchemaNode | undefined {
  const variant = variantFor(node, value);
  if (variant?.type === 'array') return itemSchema(variant, key);
  if (variant === undefined || variant.type !== 'object') return undefined;
  if (hasKey(variant, key)) return variant.properties?.[key];
  return typeof variant.additionalProperties === 'object' ? variant.additionalProperties : undefined;
}

/** The schema of a key or item in any variant of the node, because a later override may still select that variant. */
export function declaredChild(node: SchemaNode, key: string): SchemaNode | undefined {
  const variants = variantsOf(node);
  const variantWithKey = variants.find((variant) => hasKey(variant, key));
  if (variantWithKey !== undefined) return variantWithKey.properties?.[key];
  if (variants.some((variant) => variant.type === undefined)) return node;
  const openVariant = variants.find((variant) => typeof variant.additionalProperties === 'object');
  if (openVariant !== undefined) return openVariant.additionalProperties as SchemaNode;
  const list = variants.find((variant) => variant.type === 'array');
  return list && itemSchema(list, key);
}

const itemSchema = (list: SchemaNode, key: string) => list.prefixItems?.[Number(key)] ?? list.items;

/** Settings without the keys that the schema lacks. */
export function pickKnown(value: unknown, node: SchemaNode | undefined): unknown {
  const variant = node && variantFor(node, value);
  if (variant === undefined) return value;
  if (Array.isArray(value)) return value.map((item, i) => pickKnown(item, itemSchema(variant, String(i))));
  if (!isMapping(value) || variant.additionalProperties !== false) return value;
  const known = Object.entries(value).filter(([key]) => hasKey(variant, key));
  return Object.fromEntries(known.map(([key, inner]) => [key, pickKnown(inner, variant.properties?.[key])]));
}

export function nodeAt(
  root: SchemaNode,
  path: readonly PropertyKey[],
  value: unknown,
): SchemaNode | undefined {
  let node: SchemaNode | undefined = root;
  let current = value;
  for (const key of path) {
    if (node === undefined) return undefined;
    node = childOf(node, current, String(key));
    current = valueAt([key], current);
  }
  return node;
}

export function valueAt(path: readonly PropertyKey[], value: unknown): unknown {
  return path.reduce<unknown>((current, key) => {
    const holder =
      isMapping(current) || Array.isArray(current) ? (current as Record<PropertyKey, unknown>) : {};
    return Object.hasOwn(holder, key) ? holder[key] : undefined;
  }, value);
}

/** The keys that an object can have; empty if any key is allowed, or if the node isn't an object. */
export function keysOf(node: SchemaNode | undefined): readonly string[] {
  return Object.keys(node?.properties ?? {});
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fixed values that a node accepts: its literals and enumerations. */
export function literalsOf(node: SchemaNode): readonly string[] {
  return variantsOf(node).flatMap(
    (variant) => variant.enum ?? (variant.const === undefined ? [] : [variant.const]),
  );
}

/** Describes what a node accepts: `a whole number from 0 to 6`, `a number or a mapping {return, hold}`. */
export function expectedText(node: SchemaNode): string {
  const discriminator = discriminatorOf(node);
  if (discriminator !== undefined) {
    return `a mapping with ${discriminator}: ${orList(discriminatorValues(node))}`;
  }
  return orList(variantsOf(node).flatMap(variantExpectations));
}

function variantExpectations(node: SchemaNode): readonly string[] {
  if (node.enum !== undefined) return node.enum;
  if (node.const !== undefined) return [node.const];
  return node.type === 'boolean' ? ['true', 'false'] : [typeExpectation(node)];
}

function typeExpectation(node: SchemaNode): string {
  switch (node.type) {
    case 'integer':
      return `a whole number${rangeText(node)}`;
    case 'number':
      return `a number${rangeText(node)}`;
    case 'string':
      if (node.format === 'uri') return 'an http(s) URL';
      if (node.format === 'path') return 'a path';
      return node.examples === undefined ? 'text' : `text such as ${node.examples[0]}`;
    case 'array': {
      if (node.prefixItems !== undefined) return `a list of ${node.prefixItems.length} items`;
      const list = node.minItems === undefined ? 'a list' : 'a non-empty list';
      return `${list}${node.items === undefined ? '' : ` in which each item is ${expectedText(node.items)}`}`;
    }
    case 'object': {
      const [first, ...more] = keysOf(node);
      if (first === undefined) return 'a mapping';
      return `a mapping {${[first, ...more.slice(0, 3), ...(more.length > 3 ? ['…'] : [])].join(', ')}}`;
    }
    default:
      return 'anything';
  }
}

function rangeText({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: SchemaNode): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  const bounds = [
    minimum !== undefined && `of at least ${minimum}`,
    exclusiveMinimum !== undefined && `above ${exclusiveMinimum}`,
    maximum !== undefined && `of at most ${maximum}`,
    exclusiveMaximum !== undefined && `below ${exclusiveMaximum}`,
  ].filter((bound) => bound !== false);
  return bounds.length === 0 ? '' : ` ${bounds.join(' and ')}`;
}

export function orList(items: readonly string[]): string {
  return items.length <= 1 ? items.join('') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`;
}

const hasKey = (node: SchemaNode, key: string): boolean => Object.hasOwn(node.properties ?? {}, key);

function hasType(node: SchemaNode, value: unknown): boolean {
  switch (node.type) {
    case 'object':
      return isMapping(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
    case 'number':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string' && (literalsOf(node).length === 0 || literalsOf(node).includes(value));
    default:
      return true;
  }
}
