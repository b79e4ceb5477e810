import {
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  type ParseOptions,
  parseDocument,
  type SchemaOptions,
  visit,
  type YAMLError,
} from 'yaml';
import { type Problem, UserError } from '../errors.js';
import { oneScreen, type Path, printable } from './issues.js';

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The content of a YAML file, and the location of each field. */
export interface ConfigSource {
  readonly content: unknown;
  depth(path: Path): number;
  /** The location of a field's key or value, or of the nearest enclosing field if the file lacks this one. */
  place(path: Path, aim: 'key' | 'value'): Place;
}

/** Scalars, except dates, that PyYAML doesn't read as strings; other YAML 1.1 readers also convert `y` and `1e3`. */
const pyYamlValues =
  /^(?:~|null|Null|NULL||yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][\d_]*)|[-+]?0x[\da-fA-F_]+|[-+]?[1-9][\d_]*(?::[0-5]?\d)+|[-+]?\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?|\.\d[\d_]*(?:[eE][-+]\d+)?|[-+]?\d[\d_]*(?::[0-5]?\d)+\.[\d_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** Options that make `yaml` read YAML 1.1 like PyYAML's `safe_load`; dates stay strings. */
const pyYaml: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  customTags: (tags) =>
    tags.map((tag) => {
      if (typeof tag === 'string' || !('test' in tag) || tag.test === undefined || tag.default === 'key')
        return tag;
      return { ...tag, test: new RegExp(`(?=${pyYamlValues.source})(?:${tag.test.source})`) } as typeof tag;
    }),
};

/**
 * Parses YAML, of which JSON is a subset.
 * @param reader `pyyaml` for configs of Python programs: YAML 1.1, where `on` is true and 020 is 16
 * @throws UserError with syntax errors and duplicate keys, by line and column, or if the text is too large
 */
export function parseSource(text: string, file: string, reader: 'core' | 'pyyaml' = 'core'): ConfigSource {
  const lines = new LineCounter();
  if (text.length > largestText)
    throw new UserError({
      file,
      message: `has ${text.length} characters; the maximum is ${largestText}`,
    });
  const keys = countedKeys();
  const document = parsed(text, file, {
    ...(reader === 'pyyaml' && pyYaml),
    lineCounter: lines,
    prettyErrors: false,
    // With 'error', `yaml` emits no process warnings; they are still in document.warnings.
    logLevel: 'error',
    uniqueKeys: keys.isSame,
  });
  if (keys.tooMany()) throw new UserError({ file, message: `has too many keys: more than ${mostKeys}` });
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problems = distinct([...document.errors, ...document.warnings]).map((error) => ({
    ...placeOf(error.pos[0]),
    ...syntaxProblem(error, text),
  }));
  if (problems.length > 0) throw new UserError(oneScreen(problems));
  if (isTooDeep(document))
    throw new UserError({ file, message: `is nested more than ${deepest} levels deep` });
  const aliases = brokenAliases(document).map(({ offset, message }) => ({ ...placeOf(offset), message }));
  if (aliases.length > 0) throw new UserError(aliases);
  return {
    content: contentOf(document, file),
    depth: (path) => walk(document, path).length,
    place: (path, aim) => placeOf(offsetOf(document, path, aim)),
  };
}

/** A stack overflow in `yaml` means that the text is nested too deeply. */
function parsed(text: string, file: string, options: Parameters<typeof parseDocument>[1]): Document.Parsed {
  try {
    return parseDocument(text, options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UserError({ file, message: 'the YAML is nested too deeply' });
  }
}

/** Maximum number of characters, far more than any config has. */
const largestText = 256_000;

/** Number of keys that are never too many, far more than any config has. */
const mostKeys = 600;

/**
 * Compares keys as `yaml` does, but fails after too many comparisons: `yaml` compares each key with all earlier
 * keys of the mapping, which would take minutes for tens of thousands.
 */
function countedKeys() {
  const most = mostKeys ** 2 / 2;
  let comparisons = 0;
  return {
    tooMany: () => comparisons > most,
    isSame(a: ParsedNode, b: ParsedNode): boolean {
      // `yaml` catches this error and reports what it has read so far.
      if (++comparisons > most) throw new RangeError('too many keys');
      return a === b || (isScalar(a) && isScalar(b) && a.value === b.value);
    },
  };
}

/** Keeps one error per location, because `yaml` also reports the errors that result from the first. */
function distinct(errors: readonly YAMLError[]): readonly YAMLError[] {
  const exhausted = errors.find((error) => error.code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) return [exhausted];
  const byPlace = new Map<number, YAMLError>();
  for (const error of errors) if (!byPlace.has(error.pos[0])) byPlace.set(error.pos[0], error);
  return [...byPlace.values()];
}

function syntaxProblem(error: YAMLError, text: string): Problem {
  const rest = text.slice(error.pos[0], error.pos[0] + 80).split('\n')[0] ?? '';
  switch (error.code) {
    case 'DUPLICATE_KEY':
      return {
        message: `duplicate key: ${printable(rest.split(':')[0] ?? rest)}`,
        hint: 'remove one of them',
      };
    case 'RESOURCE_EXHAUSTION':
      return { message: 'the YAML is nested too deeply' };
    case 'MULTIPLE_DOCS':
      return { message: 'not valid YAML: a second document starts here', hint: 'use one config per file' };
    case 'TAB_AS_INDENT':
      return { message: 'not valid YAML: indented with tabs', hint: 'indent with spaces' };
    case 'BAD_INDENT': {
      const bracket = /^Flow .* end with a ([\]}])/.exec(error.message)?.[1];
      if (bracket === undefined) break;
      return {
        message: `not valid YAML: \`${bracket}\` expected before this`,
        hint: `close the ${bracket === '}' ? '{' : '['} on an earlier line, or indent this line`,
      };
    }
    case 'BLOCK_AS_IMPLICIT_KEY':
      return {
        message: 'not valid YAML: another key starts inside a value',
        hint: 'indent all keys of a section equally; put a value that contains `: ` in quotes',
      };
  }
  return { message: `not valid YAML: ${error.message.replaceAll(/\p{C}/gu, '?').slice(0, 200)}` };
}

/** Maximum nesting of lists and mappings; the limit of `yaml` itself depends on the available stack. */
const deepest = 100;

function isTooDeep(document: Document.Parsed): boolean {
  let found = false;
  try {
    visit(document, {
      Collection(_key, _collection, ancestors) {
        found = ancestors.filter((node) => isMap(node) || isSeq(node)).length >= deepest;
        return found ? visit.BREAK : undefined;
      },
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    found = true;
  }
  return found;
}

const mostAliases = 100;

/** Finds aliases without an anchor, inside their own anchor, or beyond the maximum number of aliases. */
function brokenAliases(document: Document.Parsed): readonly { offset: number; message: string }[] {
  const broken: { offset: number; message: string }[] = [];
  const add = (alias: Node, wrong: string) =>
    broken.push({ offset: startOf(alias) ?? 0, message: `not valid YAML: ${wrong}` });
  let count = 0;
  visit(document, {
    Alias(_key, alias, ancestors) {
      const name = printable(`*${alias.source}`);
      const node = count++ < mostAliases ? alias.resolve(document) : undefined;
      if (count > mostAliases) add(alias, `more than ${mostAliases} aliases`);
      else if (node === undefined) add(alias, `${name} refers to an undefined anchor`);
      else if (ancestors.includes(node)) add(alias, `${name} refers to a value that contains it`);
      return broken.length < 6 ? undefined : visit.BREAK;
    },
  });
  return broken;
}

function contentOf(document: Document.Parsed, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    // Nested aliases can expand to exponentially more data.
    const message = 'not valid YAML: its aliases expand to too much data';
    throw new UserError({ file, line: 1, column: 1, message });
  }
}

/** The existing nodes along a path; `key` is the offset of the key or list item. */
function walk(document: Document.Parsed, path: Path) {
  const found: { readonly key: number; readonly value: Node | undefined }[] = [];
  let node: Node | undefined = document.contents ?? undefined;
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find((item) => keyText(item.key) === String(key));
      if (pair === undefined) break;
      node = isNode(pair.value) ? pair.value : undefined;
      found.push({ key: startOf(pair.key) ?? startOf(node) ?? 0, value: node });
    } else if (isSeq(node)) {
      const item = node.items[Number(key)];
      if (!isNode(item)) break;
      node = item;
      found.push({ key: startOf(item) ?? 0, value: item });
    } else {
      break;
    }
  }
  return found;
}

function offsetOf(document: Document.Parsed, path: Path, aim: 'key' | 'value'): number {
  const found = walk(document, path);
  const last = found.at(-1);
  if (last === undefined) return startOf(document.contents) ?? 0;
  if (found.length < path.length || aim === 'key') return last.key;
  return startOf(last.value) ?? last.key;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function keyText(key: unknown): string {
  if (!isNode(key)) return String(key);
  const value: unknown = 'value' in key ? key.value : key;
  return value === null ? '' : String(value);
}
