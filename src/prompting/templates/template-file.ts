/** Reads template files; errors name file, line and column. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type Handlebars from 'handlebars';
import { messageOf, type Problem, UserError } from '../../errors.js';
import type { ParsedTemplate } from './template-check.js';

export type HandlebarsInstance = ReturnType<typeof Handlebars.create>;

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** @throws UserError when it can't be read, or is no Handlebars template. */
export function readTemplate(handlebars: HandlebarsInstance, file: string): ParsedTemplate {
  let source: string;
  try {
    source = readFileSync(file, 'utf8')
      .replace(/^\uFEFF/, '')
      .replaceAll('\r\n', '\n');
  } catch (error) {
    throw new UserError({ file, message: `can't be read: ${messageOf(error)}` });
  }
  try {
    return { file, source, program: handlebars.parse(source) };
  } catch (error) {
    throw new UserError(syntaxProblem(file, source, error));
  }
}

/** All templates of a folder by their names without `.hbs`; none when there is no such folder. */
export function readTemplates(
  handlebars: HandlebarsInstance,
  folder: string,
): ReadonlyMap<string, ParsedTemplate> {
  if (!isFolder(folder)) return new Map();
  const names = readdirSync(folder).filter((name) => name.endsWith('.hbs'));
  return new Map(
    names.sort().map((name) => [basename(name, '.hbs'), readTemplate(handlebars, join(folder, name))]),
  );
}

/** Says in one line where and what Handlebars' parser did not understand; its own messages list grammar symbols. */
function syntaxProblem(file: string, source: string, error: unknown): Problem {
  const message = messageOf(error);
  const mismatch = /^(\S+) doesn't match (\S+) - (\d+):(\d+)$/.exec(message);
  if (mismatch !== null) {
    const [, opened, closed, line, column] = mismatch;
    return {
      file,
      line: Number(line),
      column: Number(column) + 1,
      message: `{{#${opened}}} is closed by {{/${closed}}}`,
    };
  }
  const [, line = '1', excerpt = '', pointer = '', token = ''] =
    /on line (\d+):?\n(.*)\n(-*)\^(?:[\s\S]*got '(\w+)')?/.exec(message) ?? [];
  const column = columnOf(source, Number(line), excerpt.slice(0, pointer.length).replace(/^\.\.\./, ''));
  return { file, line: Number(line), ...(column !== undefined && { column }), message: syntaxMessage(token) };
}

/** Where the parser stopped: `before` is the text it had read last, without line breaks. */
function columnOf(source: string, line: number, before: string): number | undefined {
  const lines = source.split('\n').slice(0, line);
  const lineStart = lines.slice(0, -1).join('').length;
  const found = lines.join('').indexOf(before, Math.max(0, lineStart - before.length));
  return found < 0 ? undefined : found + before.length - lineStart + 1;
}

function syntaxMessage(token: string): string {
  if (token === 'EOF') return 'the template ends before everything is closed: a {{/…}} is missing';
  if (token === 'OPEN_ENDBLOCK') return 'this {{/…}} closes nothing';
  return 'this is no Handlebars syntax';
}
