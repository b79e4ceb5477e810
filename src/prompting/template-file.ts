/** Reads template files; errors name file, line and column. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type Handlebars from 'handlebars';
import { messageOf, type Problem, UserError } from '../errors.js';
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
    throw new UserError(syntaxProblem(file, error));
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

/** What the errors of Handlebars' parser carry, as far as they do. */
interface SyntaxDetail {
  readonly lineNumber?: number;
  readonly column?: number;
  readonly hash?: {
    readonly token?: string;
    readonly loc?: { readonly first_line: number; readonly first_column: number };
  };
}

function syntaxProblem(file: string, error: unknown): Problem {
  const { lineNumber, column, hash } = error as SyntaxDetail;
  const message = messageOf(error);
  const line = lineNumber ?? hash?.loc?.first_line ?? Number(/line (\d+)/.exec(message)?.[1] ?? 1);
  const offset = column ?? hash?.loc?.first_column;
  return {
    file,
    line,
    ...(offset !== undefined && { column: offset + 1 }),
    message: syntaxMessage(message, hash?.token),
  };
}

function syntaxMessage(message: string, token: string | undefined): string {
  const mismatch = /^(\S+) doesn't match (\S+)/.exec(message);
  if (mismatch !== null) return `{{#${mismatch[1]}}} is closed by {{/${mismatch[2]}}}`;
  if (token === 'EOF') return 'the template ends before everything is closed: a {{/…}} or }} is missing';
  if (token === 'OPEN_ENDBLOCK') return 'this {{/…}} closes nothing';
  return 'this is no Handlebars syntax';
}
