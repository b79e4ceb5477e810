import { stringify } from 'yaml';
import type { z } from 'zod';
import { closestMatch, type Problem, redactAddresses } from '../errors.js';
import {
  declaredChild,
  discriminatorOf,
  discriminatorValues,
  expectedText,
  keysOf,
  literalsOf,
  nodeAt,
  orList,
  type SchemaNode,
  valueAt,
  variantFor,
  variantsOf,
} from './schema.js';

export type Path = readonly PropertyKey[];

/** A problem and the path of its field. */
export interface FieldProblem {
  readonly path: Path;
  /** The part to point at: the key if it is unknown or has no value, otherwise the value. */
  readonly target: 'key' | 'value';
  readonly problem: Problem;
}

type Issue = z.core.$ZodIssue;

const maxShownProblems = 6;

/** Maximum number of unknown keys to examine: each is compared with all known keys, and few fit on a screen. */
const maxUnknownKeys = 100;

/** Problems in file order, limited to what fits on a screen. */
export function limitProblems(problems: readonly Problem[]): readonly Problem[] {
  const ordered = problems.toSorted(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
  const more = ordered.length - maxShownProblems;
  if (more <= 0) return ordered;
  return [...ordered.slice(0, maxShownProblems), { message: `further problems: ${more}` }];
}

/** The problems found by the schema, described in terms of the settings as written. */
export function schemaProblems(
  issues: readonly Issue[],
  root: SchemaNode,
  content: unknown,
): readonly FieldProblem[] {
  return issues.flatMap((issue) => problemsIn(issue, issue.path, root, content));
}

function problemsIn(issue: Issue, path: Path, root: SchemaNode, content: unknown): readonly FieldProblem[] {
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, maxUnknownKeys);
    return keys.map((key, index) => describeUnknownKey([...path, key], root, content, index === 0));
  }
  const node = nodeAt(root, path, content) ?? {};
  const value = valueAt(path, content);
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // For a union, zod reports every branch; only the problems of the intended branch are useful.
    const variant = variantFor(node, value);
    const branch = variant === undefined ? undefined : issue.errors[variantsOf(node).indexOf(variant)];
    if (branch !== undefined) {
      return branch.flatMap((inner) => problemsIn(inner, [...path, ...inner.path], root, content));
    }
  }
  // A wrong discriminator matches no variant, so the path leads to no schema; the message then lists
  // the values of all variants.
  const isWrongDiscriminator = issue.code === 'invalid_union' && issue.discriminator !== undefined;
  const union = isWrongDiscriminator ? (nodeAt(root, path.slice(0, -1), content) ?? {}) : undefined;
  const discriminatorNode = union && ({ type: 'string', enum: discriminatorValues(union) } as const);
  return [wrongValueProblem(path, discriminatorNode ?? node, value, issue)];
}

/**
 * Describes an unknown key. May suggest a similar key of the same object, and sections or variants that have this key.
 * @param listKeys true to list the object's keys, too
 */
function describeUnknownKey(path: Path, root: SchemaNode, content: unknown, listKeys: boolean): FieldProblem {
  const key = String(path.at(-1));
  const parentPath = path.slice(0, -1);
  const parent = nodeAt(root, parentPath, content);
  const variant = parent && variantFor(parent, valueAt(parentPath, content));
  const keys = keysOf(variant).filter((name) => name !== '$schema');
  const { properties } = variant ?? {};
  const aliasedKey = keys.find((name) => properties?.[name]?.aliases?.some((one) => slug(one) === slug(key)));
  const exactKey = aliasedKey ?? keys.find((name) => slug(name) === slug(key));
  const near = exactKey ?? closestMatch(key, keys);
  const meaning = aliasedKey === undefined ? '' : ` (${properties?.[aliasedKey]?.description})`;
  const field = fieldName(path);
  const places = exactKey === undefined ? keyPaths(key, root).slice(0, 4) : [];
  const ownPlace = places.find((place) => place.startsWith(`\`${field}\` (`));
  const candidates = [...(near === undefined ? [] : [`\`${near}\`${meaning}`]), ...places];
  const hint = ownPlace && { hint: `use this key only with ${ownPlace.slice(field.length + 4, -1)}` };
  const suggestion = ownPlace === undefined && candidates.length > 0 && { near: orList(candidates) };
  const suggestions = { ...(listKeys && { alternatives: keys }), ...suggestion, ...hint };
  return { path, target: 'key', problem: { field, message: 'unknown key', ...suggestions } };
}

/** Describes an unknown key; undefined if the settings have it. */
export function unknownKeyProblem(key: string, root: SchemaNode): Problem | undefined {
  const path = key.split('.');
  const node = path.reduce<SchemaNode | undefined>((at, part) => at && declaredChild(at, part), root);
  return node === undefined ? describeUnknownKey(path, root, {}, false).problem : undefined;
}

/** Lists where a key of this name exists: `evaluation.episodes`, `model.population (provider: cma-es or genetic)`. */
function keyPaths(key: string, root: SchemaNode): readonly string[] {
  const search = (node: SchemaNode, path: string): readonly string[] => {
    const discriminator = discriminatorOf(node) ?? '';
    const variants = variantsOf(node);
    const names = new Set(variants.flatMap(keysOf).filter((name) => slug(name) === slug(key)));
    const ownMatches = [...names].map((name) => {
      const matchingVariants = variants.filter((variant) => keysOf(variant).includes(name));
      const kinds = matchingVariants.flatMap((variant) => variant.properties?.[discriminator]?.const ?? []);
      const isRestricted = kinds.length > 0 && matchingVariants.length < variants.length;
      return `\`${path}${name}\`${isRestricted ? ` (${discriminator}: ${orList(kinds)})` : ''}`;
    });
    const children = variants.flatMap((variant) => Object.entries(variant.properties ?? {}));
    return [...ownMatches, ...children.flatMap(([name, child]) => search(child, `${path}${name}.`))];
  };
  return [...new Set(search(root, ''))];
}

function wrongValueProblem(path: Path, node: SchemaNode, value: unknown, issue: Issue): FieldProblem {
  const field = path.length > 0 && { field: fieldName(path) };
  const problem = { ...field, ...describeWrongValue(path, node, value, issue) };
  return { path, target: value === undefined || value === null ? 'key' : 'value', problem };
}

function describeWrongValue(path: Path, node: SchemaNode, value: unknown, issue: Issue): Problem {
  if (value === undefined) {
    const key = String(path.at(-1));
    const [example] = node.examples ?? [];
    const meaning = example !== undefined || node.description === undefined ? '' : ` (${node.description})`;
    return {
      message: 'missing',
      alternatives: [`${expectedText(node)}${meaning}`],
      hint:
        example === undefined
          ? `add \`${key}\``
          : `add it, for example \`${key}: ${stringify(example, { collectionStyle: 'flow' }).trim()}\``,
    };
  }
  if (value === null) {
    return {
      message: path.length === 0 ? 'is empty' : 'has no value',
      alternatives: [expectedText(node)],
      ...(path.length > 0 && { hint: 'set a value, or remove the key' }),
    };
  }
  const hasOwnMessage = issue.code === 'custom' || (node.pattern !== undefined && typeof value === 'string');
  if (hasOwnMessage) return { message: issue.message, value };
  if (value === '') return { message: 'must not be empty', value };
  // A union's own message says what to write.
  const isUnion = issue.code === 'invalid_union' || discriminatorOf(node) !== undefined;
  const own = isUnion && !issue.message.startsWith('Invalid') ? issue.message : undefined;
  const near = own || typeof value === 'object' ? undefined : closestMatch(String(value), literalsOf(node));
  const hint = own ?? (near === undefined ? hintFor(path, node, value) : undefined);
  return { message: `must be ${expectedText(node)}`, value, near, ...(hint !== undefined && { hint }) };
}

function hintFor(path: Path, node: SchemaNode, value: unknown): string | undefined {
  const discriminator = discriminatorOf(node);
  if (discriminator !== undefined && typeof value === 'string') {
    return `write \`${String(path.at(-1))}: {${discriminator}: ${printableText(value)}, …}\``;
  }
  const isAddress = variantsOf(node).some(({ format }) => format === 'uri') && typeof value === 'string';
  if (isAddress && !value.includes('//')) return `write http://${value}`;
  const types = variantsOf(node).map((variant) => variant.type);
  const isNumeric = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value));
  if (isNumeric && (types.includes('number') || types.includes('integer'))) return 'remove the quotes';
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return isPlain && types.every((type) => type === 'string') ? `put it in quotes: "${value}"` : undefined;
}

const slug = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, '');

/** A dotted path; keys that would garble the output are quoted. */
export const fieldName = (path: Path): string => path.map((key) => printableText(String(key))).join('.');

/** Makes text from a file safe to display: short, on one line, with no control characters or secrets in URLs. */
export function printableText(text: string): string {
  const safe = redactAddresses(text);
  const short = safe.length <= 60 ? safe : `${safe.slice(0, 59)}…`;
  return /^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(short) ? short : JSON.stringify(short.replaceAll(/\p{C}/gu, '?'));
}
