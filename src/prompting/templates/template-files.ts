/** Reads the files of a prompt set. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import Handlebars from 'handlebars';
import { messageOf, type Problem, UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';

export interface ParsedTemplate {
  readonly file: string;
  readonly source: string;
  readonly program: hbs.AST.Program;
}

/** True for regular files; false for folders and devices. */
export const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Path of a set's template; `example` is a built-in set to copy from. @throws UserError if the template is missing */
export function fileOfSet(
  folder: string,
  name: string,
  required: readonly string[],
  field: string,
  example: string,
): string {
  const file = join(folder, `${name}.hbs`);
  if (isFile(file)) return file;
  throw new UserError({
    field,
    file,
    message: `the prompt set lacks ${name}.hbs`,
    alternatives: required.map((one) => `${one}.hbs`),
    hint: `write it, or copy and adapt the one in ${join(packageRoot(), 'prompts', example)}`,
  });
}

/** Reads a template. @throws UserError if it can't be read or parsed */
export function readTemplate(file: string): ParsedTemplate {
  let source: string;
  try {
    source = readFileSync(file, 'utf8')
      .replace(/^\uFEFF/, '')
      .replaceAll('\r\n', '\n');
  } catch (error) {
    throw new UserError({ file, message: `can't be read: ${messageOf(error)}` });
  }
  try {
    return { file, source, program: Handlebars.parse(source) };
  } catch (error) {
    throw new UserError(syntaxProblem(file, source, error));
  }
}

/** All templates in a set's `partials/`, by name without `.hbs`; empty if there is no such folder. */
export function readPartials(set: string): ReadonlyMap<string, ParsedTemplate> {
  const folder = join(set, 'partials');
  if (!isFolder(folder)) return new Map();
  const names = readdirSync(folder).filter((name) => name.endsWith('.hbs'));
  return new Map(names.sort().map((name) => [basename(name, '.hbs'), readTemplate(join(folder, name))]));
}

/** A one-line message with the location of a syntax error; Handlebars' own messages list grammar symbols. */
function syntaxProblem(file: string, source: string, error: unknown): Problem {
  const message = messageOf(error);
  const mismatch = /^(\S+) doesn't match (\S+) - (\d+):(\d+)$/.exec(message);
  if (mismatch !== null) {
    const [, opened, closed, line, column] = mismatch;
    const message = `{{#${opened}}} is closed by {{/${closed}}}`;
    return { file, line: Number(line), column: Number(column) + 1, message };
  }
  const [, line = '1', excerpt = '', pointer = '', token = ''] =
    /on line (\d+):?\n(.*)\n(-*)\^(?:[\s\S]*got '(\w+)')?/.exec(message) ?? [];
  const column = columnOf(source, Number(line), excerpt.slice(0, pointer.length).replace(/^\.\.\./, ''));
  return { file, line: Number(line), ...(column !== undefined && { column }), message: syntaxMessage(token) };
}

/** The column where the parser stopped; `before` is the text it read last, without line breaks. */
function columnOf(source: string, line: number, before: string): number | undefined {
  const lines = source.split('\n').slice(0, line);
  const lineStart = lines.slice(0, -1).join('').length;
  const found = lines.join('').indexOf(before, Math.max(0, lineStart - before.length));
  return found < 0 ? undefined : found + before.length - lineStart + 1;
}

function syntaxMessage(token: string): string {
  if (token === 'EOF') return 'the template ends before all blocks are closed: a {{/…}} is missing';
  if (token === 'OPEN_ENDBLOCK') return 'this {{/…}} has no matching block';
  return 'invalid Handlebars syntax';
}
