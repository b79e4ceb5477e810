import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { type Problem, UserError } from '../errors.js';
import { isDeeperThan } from '../files/json-depth.js';
import { limitProblems, type Path, printableText } from './issues.js';

interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The content of a YAML file, and the location of each field. */
export interface ConfigSource {
  readonly content: unknown;
  /** The location of a field's key or value, or of the nearest enclosing field if the file lacks this one. */
  place(path: Path, target: 'key' | 'value'): SourceLocation;
}

/** Maximum number of characters. */
const maxTextLength = 256_000;
/** Maximum number of `:`, `?` and `,`, because `yaml` compares each key with all earlier ones of its mapping. */
const maxKeys = 5_000;
const maxDepth = 100;

/**
 * Parses YAML, of which JSON is a subset.
 * @param version 1.1 for configs of Python programs, where `on` is true and 020 is 16
 * @throws UserError with syntax errors and duplicate keys, by line and column, or for text that is too large or deep
 */
export function parseSource(text: string, file: string, version: '1.1' | '1.2' = '1.2'): ConfigSource {
  if (text.length > maxTextLength)
    throw new UserError({ file, message: `has ${text.length} characters; the maximum is ${maxTextLength}` });
  if ((text.match(/[:?,]/g)?.length ?? 0) > maxKeys)
    throw new UserError({ file, message: 'has too many keys or list items' });
  const lineCounter = new LineCounter();
  const document = withUserErrors(file, () =>
    parseDocument(text, {
      version,
      // Dates stay strings.
      customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || !tag.tag.endsWith(':timestamp')),
      lineCounter: lineCounter,
      prettyErrors: false,
      // With 'error', `yaml` emits no process warnings; they are still in document.warnings.
      logLevel: 'error',
    }),
  );
  const locationOf = (offset: number): SourceLocation => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  // Keep only the first error at each location, because the later ones result from it.
  const errors = new Map(
    [...document.errors, ...document.warnings].toReversed().map((error) => [error.pos[0], error]),
  );
  // Reports no line, because the place where the parser gives up depends on the stack.
  if (document.errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION'))
    throw new UserError({ file, message: tooDeepMessage });
  if (errors.size > 0) {
    const toProblem = (error: YAMLError) => ({ ...locationOf(error.pos[0]), ...syntaxProblem(error, text) });
    throw new UserError(limitProblems([...errors.values()].toReversed().map(toProblem)));
  }
  const content: unknown = withUserErrors(file, () => document.toJS());
  // A value that contains itself throws here.
  const json = withUserErrors(file, () => JSON.stringify(content ?? null));
  if (isDeeperThan(json, maxDepth))
    throw new UserError({ file, message: `is nested more than ${maxDepth} levels deep` });
  return { content, place: (path, target) => locationOf(offsetOf(document, path, target)) };
}

const tooDeepMessage = 'the YAML is nested too deeply';

/** Turns errors of aliases and stack overflows (from text that is nested too deeply) into UserErrors. */
function withUserErrors<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw new UserError({ file, message: tooDeepMessage });
    const { message } = error as Error;
    throw new UserError({
      file,
      message: `not valid YAML: ${error instanceof TypeError ? 'an alias refers to a value that contains it' : printableText(message)}`,
    });
  }
}

function syntaxProblem({ code, message, pos }: YAMLError, text: string): Problem {
  const rest = text.slice(pos[0], pos[0] + 80).split('\n')[0] ?? '';
  switch (code) {
    case 'DUPLICATE_KEY':
      return {
        message: `duplicate key: ${printableText(rest.split(':')[0] ?? rest)}`,
        hint: 'remove one of them',
      };
    case 'MULTIPLE_DOCS':
      return { message: 'not valid YAML: a second document starts here', hint: 'use one config per file' };
    case 'TAB_AS_INDENT':
      return { message: 'not valid YAML: indented with tabs', hint: 'indent with spaces' };
    case 'BLOCK_AS_IMPLICIT_KEY':
      return {
        message: 'not valid YAML: another key starts inside a value',
        hint: 'indent all keys of a section equally; put a value that contains `: ` in quotes',
      };
    default:
      return { message: `not valid YAML: ${message.replaceAll(/\p{C}/gu, '?').slice(0, 200)}` };
  }
}

/** Offset of the key or value at a path, or of the deepest existing field on the path. */
function offsetOf(document: Document.Parsed, path: Path, target: 'key' | 'value'): number {
  let node: unknown = document.contents;
  let [depth, keyOffset] = [0, startOffset(node) ?? 0];
  for (const name of path) {
    if (isAlias(node)) node = node.resolve(document);
    const pair = isMap(node) ? node.items.find((item) => keyText(item.key) === String(name)) : undefined;
    const item = isSeq(node) ? node.items[Number(name)] : undefined;
    if (pair === undefined && item === undefined) break;
    keyOffset = startOffset(pair?.key ?? item) ?? keyOffset;
    node = pair === undefined ? item : pair.value;
    depth++;
  }
  return depth < path.length || target === 'key' ? keyOffset : (startOffset(node) ?? keyOffset);
}

const startOffset = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);

const keyText = (key: unknown): string => String((isScalar(key) ? key.value : key) ?? '');
