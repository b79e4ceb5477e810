/** Users' modules: files that a config names in place of a built-in environment, policy, model, … */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { messageOf, type Problem, UserError } from '../errors.js';
import { nearestFile } from '../files/files.js';
import { looksLikePath } from '../settings/settings.js';

export type ModuleKind = 'environment' | 'policy' | 'model' | 'reward' | 'helpers';

/** The checked default export of a module. */
export interface UserModule {
  /** Absolute path. */
  readonly file: string;
  /** The `name` of the default export; if it has none, the file name without its extension. */
  readonly name: string;
  /**
   * Creates the environment, policy, model, … that the module defines.
   * @param field config field with the options, for errors
   * @throws UserError naming the file, if the options don't match the schema or `create` throws
   */
  create(
    options: Readonly<Record<string, unknown>>,
    field: string,
    ...rest: readonly unknown[]
  ): Promise<unknown>;
}

/** True if a config value is a module's path (`./my-env.js`) rather than a name (`CartPole-v1`). */
export const isModulePath = (name: string): boolean => looksLikePath('name-or-module', name);

/** @throws UserError for a TypeScript file that this version of Node can't run */
export function requireRunnable(file: string, field: string): void {
  const { typescript } = process.features as { readonly typescript?: unknown };
  // When policyloop runs from source, its own TypeScript loader also loads modules.
  if (!/\.[cm]?ts$/.test(file) || typescript || extname(import.meta.url) === '.ts') return;
  throw new UserError({
    field,
    message: `Node ${process.version} can't run TypeScript`,
    value: file,
    hint: 'use Node 22.18 or newer, or write the module in JavaScript (.mjs)',
  });
}

/**
 * Imports a module; Node imports each file once per thread.
 * @param field config field that names the module, for errors
 * @throws UserError if the file is missing, can't be imported or has no suitable default export
 */
export async function loadModule(path: string, kind: ModuleKind, field: string): Promise<UserModule> {
  const file = resolve(path);
  const shapeHint = `write export default { name: '…', create(options) { return … } }, or create an example with policyloop init ${kind} FILE`;
  if (!existsSync(file) || !statSync(file).isFile())
    throw new UserError({
      field,
      message: 'there is no such module',
      value: path,
      near: nearestFile(path, '', /\.[cm]?[jt]s$/),
      hint: `pass the path of a JavaScript or TypeScript file; to create one, run policyloop init ${kind} ${basename(path)}`,
    });
  requireRunnable(file, field);
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const location = error instanceof SyntaxError ? syntaxErrorIn(file) : errorLocation(file, error);
    throw new UserError({ ...location, message: `can't be imported: ${messageOf(error)}` });
  }
  // Compilers write `exports.default` for `export default`.
  const isCompiled = isObject(exported.default) && exported.default.__esModule === true;
  const record = isCompiled ? (exported.default as { readonly default?: unknown }).default : exported.default;
  if (!isObject(record) || typeof record.create !== 'function') {
    const message =
      record === undefined ? 'has no default export' : 'the default export has no create function';
    throw new UserError({ file, message, hint: shapeHint });
  }
  const { name = basename(file, extname(file)), schema } = record;
  const create = record.create.bind(record) as (...given: readonly unknown[]) => unknown;
  return {
    file,
    name: String(name),
    async create(options, optionsField, ...rest) {
      const parsed = isObject(schema) ? parseWith(schema, options, file, optionsField) : options;
      try {
        return await create(parsed, ...rest);
      } catch (error) {
        throw new UserError({ ...errorLocation(file, error), message: `create threw: ${messageOf(error)}` });
      }
    },
  };
}

function parseWith(schema: object, options: unknown, file: string, field: string): unknown {
  try {
    return (schema as { parse(value: unknown): unknown }).parse(options);
  } catch (error) {
    throw new UserError({ field, message: `${basename(file)}: ${messageOf(error)}`, value: options });
  }
}

/** The file and, if it has a syntax error, the error's line, which only `node --check` reports. */
function syntaxErrorIn(file: string): Pick<Problem, 'file' | 'line'> {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' });
  const [, line] = /:(\d+)$/.exec(stderr.split('\n', 1)[0]!) ?? [];
  return line === undefined ? { file } : { file, line: Number(line) };
}

/** The file, with the line and column if the stack contains them. */
export function errorLocation(file: string, error: unknown): Pick<Problem, 'file' | 'line' | 'column'> {
  const trace = String((error as Partial<Error> | undefined)?.stack ?? '');
  const position = [pathToFileURL(file).href, file]
    .map((name) => trace.split(name)[1])
    .map((rest) => /^(?:\?[^:\s]*)?:(\d+)(?::(\d+))?/.exec(rest ?? ''))
    .find((match) => match !== null);
  if (position === undefined) return { file };
  const [, line, column] = position;
  return { file, line: Number(line), ...(column !== undefined && { column: Number(column) }) };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}
