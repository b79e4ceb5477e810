import { type Problem, UserError } from '../errors.js';
import { fieldName, limitProblems, type Path, printableText, schemaProblems } from './issues.js';
import {
  declaredChild,
  discriminatorOf,
  isMapping,
  nodeAt,
  type SchemaNode,
  type SettingsKind,
  valueAt,
  variantsOf,
} from './schema.js';
import { parseSource } from './yaml-source.js';

/** A `key=value` from the command line. */
export interface Override {
  readonly text: string;
  /** Name in error messages: the text, but without a value that may be secret. */
  readonly name: string;
  readonly path: readonly string[];
  /** The text after `=`. If it is empty, the key is removed so that its default applies. */
  readonly source: string;
  readonly value: unknown;
}

/** The content of a file after applying overrides. */
export interface OverrideResult {
  readonly content: Record<string, unknown>;
  readonly overrides: readonly Override[];
  readonly notes: readonly string[];
}

type Kind = Pick<SettingsKind<unknown>, 'schema' | 'json' | 'example' | 'longForm' | 'expand'>;

/**
 * Applies `key=value` overrides, in order. A shorthand on the path (`warmup: 20` before `warmup.from=…`) is
 * expanded first. If an override selects another variant, fields from the file that this variant rejects are
 * removed, with a note.
 * @throws UserError naming overrides that are malformed
 */
export function applyOverrides(
  content: Record<string, unknown>,
  texts: readonly string[],
  kind: Kind,
): OverrideResult {
  const newContent = structuredClone(content);
  const overrides: Override[] = [];
  const problems: Problem[] = [];
  for (const text of texts) {
    const parsed = parseOverride(text, kind.example, overrideName(text, kind.json));
    if ('message' in parsed) problems.push(parsed);
    else {
      assign(newContent, parsed, kind);
      overrides.push(parsed);
    }
  }
  if (problems.length > 0) throw new UserError(limitProblems(problems));
  const expanded = kind.expand?.(newContent) ?? newContent;
  const notes = dropForeignFields(content, expanded, overrides, kind);
  return { content: expanded, overrides, notes };
}

/** Parses a `key=value`, whether or not the key exists. */
function parseOverride(
  text: string,
  example: string,
  name = `override ${printableText(text)}`,
): Override | Problem {
  const equalsIndex = text.indexOf('=');
  const path = text.slice(0, Math.max(0, equalsIndex)).trim().split('.');
  if (equalsIndex < 0 || path.some((key) => key === '' || key === '__proto__')) {
    return { file: name, message: "isn't of the form key=value", hint: `write, for example, ${example}` };
  }
  const source = text.slice(equalsIndex + 1).trim();
  try {
    return { text, name, path, source, value: parseSource(source, name).content };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const message = error.problems[0]?.message ?? error.message;
    const hint = `if it is text, put it in quotes: '${fieldName(path)}="…"'`;
    return { file: name, message: `the value can't be read: ${message}`, hint };
  }
}

function overrideName(text: string, root: SchemaNode): string {
  const [key = ''] = text.split('=', 1);
  const parts = key.trim().split('.');
  const node = parts.reduce<SchemaNode | undefined>((at, part) => at && declaredChild(at, part), root);
  // An unknown key may belong to another program, and its value may be secret.
  const isSecret = node === undefined ? /key|token|secret|passw|auth|credential/i.test(key) : node.writeOnly;
  return `override ${printableText(isSecret === true ? `${key}=…` : text)}`;
}

/** The last override that set the field at `path`, a part of it, or a section that contains it. */
export const overrideOf = (path: Path, overrides: readonly Override[]): Override | undefined =>
  path.length === 0
    ? undefined
    : overrides.findLast(({ path: other }) => pathStartsWith(path, other) || pathStartsWith(other, path));

export const pathStartsWith = (path: Path, start: Path): boolean =>
  start.length <= path.length && start.every((key, i) => String(path[i]) === String(key));

/**
 * If an override selects a new variant, such as another `model.provider`, removes from `changed` the file's fields that
 * this variant lacks or whose values it rejects. Returns notes on the removed fields.
 */
function dropForeignFields(
  content: Record<string, unknown>,
  changed: Record<string, unknown>,
  overrides: readonly Override[],
  { json, schema }: Kind,
): readonly string[] {
  const notes: string[] = [];
  for (const { path, text } of overrides) {
    const [section, key = ''] = [path.slice(0, -1), path.at(-1)];
    const node = nodeAt(json, section, changed);
    const [before, after] = [valueAt(section, content), valueAt(section, changed)];
    const isDiscriminator = node !== undefined && discriminatorOf(node) === key;
    if (!isDiscriminator || !isMapping(before) || !isMapping(after) || before[key] === after[key]) continue;
    const rejectedKeys = schemaProblems(schema.safeParse(changed).error?.issues ?? [], json, changed)
      .filter((problem) => pathStartsWith(problem.path, section))
      .map((problem) => String(problem.path[section.length]));
    const isFromFile = (name: string) =>
      Object.hasOwn(before, name) && overrideOf([...section, name], overrides) === undefined;
    const foreignKeys = [...new Set(rejectedKeys)].filter(isFromFile);
    if (foreignKeys.length === 0) continue;
    for (const name of foreignKeys) delete after[name];
    notes.push(
      `${text}: ignored ${foreignKeys.map((name) => [...section, name].join('.')).join(', ')} from the file, because ${String(after[key])} doesn't accept ${foreignKeys.length === 1 ? 'it' : 'them'}`,
    );
  }
  return notes;
}

type Holder = Record<string, unknown> | unknown[];

/** Sets one field; shorthands on its path are expanded. Unknown keys are set, too; the schema reports them. */
function assign(content: Record<string, unknown>, { path, source, value }: Override, kind: Kind): void {
  let node: SchemaNode | undefined = kind.json;
  let holder: Holder = content;
  for (const [depth, key] of path.entries()) {
    node = node && declaredChild(node, key);
    if (depth === path.length - 1) {
      const isPlain = typeof value === 'number' || typeof value === 'boolean';
      // A model called `123` is text, although YAML parses it as a number.
      const newValue = isPlain && node !== undefined && acceptsOnlyText(node) ? source : value;
      setKey(holder, key, source === '' ? undefined : newValue);
      return;
    }
    const current = valueAt([key], holder);
    const isHolder = isMapping(current) || Array.isArray(current);
    const hasValue = current !== undefined && current !== null;
    const longForm = hasValue ? kind.longForm?.(path.slice(0, depth + 1), current) : undefined;
    const inner: Holder = isHolder ? (current as Holder) : (longForm ?? {});
    setKey(holder, key, inner);
    holder = inner;
  }
}

function setKey(holder: Holder, key: string, value: unknown): void {
  if (value === undefined && !Array.isArray(holder)) delete holder[key];
  else (holder as Record<string, unknown>)[key] = value;
}

function acceptsOnlyText(node: SchemaNode): boolean {
  const types = variantsOf(node).map((variant) => variant.type);
  return types.includes('string') && types.every((type) => type === 'string' || type === 'object');
}
