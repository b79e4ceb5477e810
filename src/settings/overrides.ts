import { shorthands } from '../config/config.js';
import { nearest, type Problem, UserError } from '../errors.js';
import { fieldName, oneScreen, type Path, printable } from './issues.js';
import {
  configJsonSchema,
  discriminatorOf,
  expectation,
  isMapping,
  keysOf,
  type SchemaNode,
  variantFor,
  variantsOf,
} from './schema.js';
import { parseSource } from './yaml-source.js';

/** One `key=value` of the command line. */
export interface Override {
  /** As it was written. */
  readonly text: string;
  readonly path: readonly string[];
  /** The text after `=`; when it is empty, the key is taken out, so that its default applies. */
  readonly source: string;
  /** That text, read as YAML. */
  readonly value: unknown;
}

/** The content of a config after its overrides. */
export interface Overridden {
  readonly content: Record<string, unknown>;
  readonly overrides: readonly Override[];
}

/**
 * Applies `key=value` overrides, in order, to the content of a config. A shorthand that stands in the way
 * (`warmup: 20` before `warmup.from=…`) is written out first.
 * @throws UserError that names each override which is malformed or leads to no field.
 */
export function applyOverrides(content: Record<string, unknown>, texts: readonly string[]): Overridden {
  const changed = structuredClone(content);
  const overrides: Override[] = [];
  const problems: Problem[] = [];
  for (const text of texts) {
    const parsed = parseOverride(text);
    const problem = 'message' in parsed ? parsed : assign(changed, parsed);
    if (problem !== undefined) problems.push(problem);
    else if ('path' in parsed) overrides.push(parsed);
  }
  if (problems.length > 0) throw new UserError(oneScreen(problems));
  return { content: changed, overrides };
}

/** Reads one `key=value`, whatever the key. */
export function parseOverride(text: string): Override | Problem {
  const equals = text.indexOf('=');
  const path = text.slice(0, Math.max(0, equals)).trim().split('.');
  if (equals < 0 || path.some((key) => key === '')) {
    return {
      file: overrideName(text),
      message: 'an override is written key=value',
      remedy: 'for example iterations=50 or model.name=qwen3:8b',
    };
  }
  const source = text.slice(equals + 1).trim();
  try {
    return { text, path, source, value: parseSource(source, overrideName(text)).content };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const message = error.problems[0]?.message ?? error.message;
    return {
      file: overrideName(text),
      message: `the value is ${message}`,
      remedy: `put it in quotes: '${fieldName(path)}="…"'`,
    };
  }
}

export function overrideName(text: string): string {
  // What is given for the name of a variable may be the key itself.
  return `override ${printable(text.replace(/^(model\.apiKeyEnv=).*$/s, '$1…'))}`;
}

/** The last override that set (or made) the field at `path`, of which the file has the first `depth` keys. */
export function overrideOf(path: Path, depth: number, overrides: readonly Override[]): Override | undefined {
  const made = path.slice(0, depth + 1);
  return overrides.findLast(
    (override) =>
      startsWith(path, override.path) ||
      (depth < path.length && (startsWith(override.path, made) || choosesSiblings(override, path))),
  );
}

/** Whether the override picked the variant (say, the provider) of the object that `path` is missing from. */
function choosesSiblings(override: Override, path: Path): boolean {
  const parent = path.slice(0, -1);
  const [section, key] = override.path;
  const node = configJsonSchema().properties?.[section ?? ''];
  return parent.length === 1 && parent[0] === section && node !== undefined && discriminatorOf(node) === key;
}

/** Whether a path is `start`, or leads on from it. */
export function startsWith(path: Path, start: Path): boolean {
  return start.length <= path.length && start.every((key, i) => String(path[i]) === String(key));
}

type Holder = Record<string, unknown> | unknown[];

/** Sets one field, writing shorthands out on the way. */
function assign(content: Record<string, unknown>, override: Override): Problem | undefined {
  let node = configJsonSchema();
  let holder: Holder = content;
  for (const [depth, key] of override.path.entries()) {
    const child = possibleChild(node, holder, key);
    if (child === undefined) return unknownPath(override, depth, node, holder);
    if (depth === override.path.length - 1) {
      set(
        holder,
        key,
        override.source === '' ? undefined : acceptsOnlyText(child) ? textOf(override) : override.value,
      );
      return undefined;
    }
    const inner = open(child, get(holder, key), override.path.slice(0, depth + 1));
    if (inner === undefined) {
      return {
        file: overrideName(override.text),
        field: fieldName(override.path.slice(0, depth + 1)),
        message: `is ${expectation(child)}, without a part named ${printable(override.path[depth + 1]!)}`,
      };
    }
    set(holder, key, inner);
    holder = inner;
    node = child;
  }
  return undefined;
}

/** The schema of a key that some variant of the node has: which variant it will be may be up to a later override. */
function possibleChild(node: SchemaNode, holder: Holder, key: string): SchemaNode | undefined {
  if (Array.isArray(holder)) {
    const items = variantsOf(node).find((variant) => variant.type === 'array')?.items;
    return Object.hasOwn(holder, key) && key !== 'length' ? items : undefined;
  }
  if (key === '__proto__') return undefined;
  const variants = variantsOf(node);
  const having = variants.find((variant) => Object.hasOwn(variant.properties ?? {}, key));
  if (having !== undefined) return having.properties?.[key];
  if (variants.some((variant) => variant.type === undefined)) return node;
  const open = variants.find((variant) => typeof variant.additionalProperties === 'object');
  return open?.additionalProperties as SchemaNode | undefined;
}

/** The object or list to go on in: the one there is, or the long form of the shorthand there is. */
function open(node: SchemaNode, current: unknown, path: readonly string[]): Holder | undefined {
  if (isMapping(current) || Array.isArray(current)) return current as Holder;
  const takesObjects = variantsOf(node).some(
    (variant) => variant.type === 'object' || variant.type === undefined,
  );
  if (!takesObjects) return undefined;
  const [section = ''] = path;
  if (path.length > 1 || current === undefined || current === null || !isShorthand(section)) return {};
  const expand = shorthands[section] as (value: unknown) => Record<string, unknown>;
  return expand(current);
}

function isShorthand(section: string): section is keyof typeof shorthands {
  return Object.hasOwn(shorthands, section);
}

function unknownPath(override: Override, depth: number, node: SchemaNode, holder: Holder): Problem {
  const key = override.path[depth]!;
  const problem = { file: overrideName(override.text), field: fieldName(override.path.slice(0, depth + 1)) };
  if (Array.isArray(holder)) {
    return { ...problem, message: `no such item: the list has ${holder.length}, counted from 0` };
  }
  const variant = variantFor(node, holder);
  const keys = (variant ? [variant] : variantsOf(node)).flatMap(keysOf).filter((name) => name !== '$schema');
  const near = nearest(key, keys);
  return {
    ...problem,
    message: 'unknown key',
    alternatives: [...new Set(keys)],
    ...(near !== undefined && { remedy: `did you mean \`${near}\`?` }),
  };
}

function get(holder: Holder, key: string): unknown {
  return Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
}

function set(holder: Holder, key: string, value: unknown): void {
  if (value === undefined && !Array.isArray(holder)) delete holder[key];
  else (holder as Record<string, unknown>)[key] = value;
}

function acceptsOnlyText(node: SchemaNode): boolean {
  const types = variantsOf(node).map((variant) => variant.type);
  return types.includes('string') && types.every((type) => type === 'string' || type === 'object');
}

/** A model named `123` is text, though YAML reads a number. */
function textOf({ value, source }: Override): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? source : value;
}
