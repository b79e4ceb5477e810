/** Loads settings of any kind: a file with `key=value` overrides, validated by a schema, with locations of problems. */
import { resolve } from 'node:path';
import { type Problem, UserError } from '../errors.js';
import { expandHome, requireShortNames } from '../files/regular-file.js';
import { limitProblems, type Path, schemaProblems } from './issues.js';
import { applyOverrides, type OverrideResult, overrideOf, pathStartsWith } from './overrides.js';
import {
  declaredChild,
  isMapping,
  pickKnown,
  type SchemaNode,
  type SettingsKind,
  valueAt,
  variantsOf,
} from './schema.js';
import type { ConfigSource } from './yaml-source.js';

/** Gives a problem's location, which is printed first: `file:line:column`, or the override. */
export type FieldLocator = (path: Path, target: 'key' | 'value') => Pick<Problem, 'file' | 'line' | 'column'>;

export interface SettingsSource extends Pick<ConfigSource, 'place'> {
  readonly content: Record<string, unknown>;
  /** True for a bundled config: dropping its values needs no note. */
  readonly isBundled?: boolean;
}

export interface Settings extends OverrideResult {
  /** The location of a field: its place in the file, or the override that set it. */
  readonly where: FieldLocator;
  /** Adds locations to problems that are found only after loading. */
  locate(error: UserError): UserError;
  /**
   * Makes relative paths absolute.
   * @param fileFolder base of paths in the file; undefined leaves them relative
   * @param cwd base of paths in overrides
   */
  absolute<T>(value: T, fileFolder: string | undefined, cwd: string): T;
}

/** Applies overrides to a file's content. @throws UserError naming malformed overrides */
export function toSettings(
  kind: SettingsKind<unknown>,
  { content, isBundled, place }: SettingsSource,
  texts: readonly string[],
): Settings {
  const overrideResult = applyOverrides(content, texts, kind);
  const { overrides } = overrideResult;
  const fileContent = kind.expand?.(content) ?? content;
  // A short form in an override (`model.provider=./my-model.js`) sets other fields, too.
  const isFromOverride = (path: Path) =>
    overrides.some((override) => pathStartsWith(path, override.path)) ||
    valueAt(path, fileContent) !== valueAt(path, overrideResult.content);
  const where: FieldLocator = (path, target) => {
    const parentPath = path.slice(0, -1);
    const isNew = valueAt(parentPath, content) === undefined;
    const override = overrideOf(path, overrides) ?? (isNew ? overrideOf(parentPath, overrides) : undefined);
    return override === undefined ? place(path, target) : { file: override.name };
  };
  return {
    ...overrideResult,
    notes: isBundled ? [] : overrideResult.notes,
    where,
    locate: (error) => new UserError(error.problems.map((problem) => locateProblem(problem, where))),
    absolute: (value, fileFolder, cwd) =>
      withAbsolutePaths(value, kind.json, (path) => (isFromOverride(path) ? cwd : fileFolder)),
  };
}

/** Adds the location of a problem's field, unless it has a location already, or the field is an option (`--out`). */
function locateProblem(problem: Problem, where: FieldLocator): Problem {
  return problem.field === undefined || problem.field.startsWith('--') || problem.file !== undefined
    ? problem
    : { ...where(problem.field.split('.'), 'value'), ...problem };
}

/** Settings that an older version recorded, without keys that no longer exist. */
export const withoutUnknownKeys = <Source extends Pick<SettingsSource, 'content'>>(
  source: Source,
  { json }: Pick<SettingsKind<unknown>, 'json'>,
): Source => ({ ...source, content: pickKnown(source.content, json) });

/**
 * Validates settings by their schema and fills in defaults.
 * @throws UserError with as many problems as fit on a screen
 */
export function parseSettings<Output>(
  kind: SettingsKind<Output>,
  input: unknown,
  where: FieldLocator = () => ({}),
): Output {
  const parsed = kind.schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(parsed.error.issues, kind.json, input);
  throw new UserError(
    limitProblems(problems.map(({ path, target, problem }) => ({ ...where(path, target), ...problem }))),
  );
}

/**
 * A copy of settings with relative paths made absolute, and `~` and `$HOME` replaced; a field's format determines
 * whether it contains a path.
 * @param folderOf returns the folder for relative paths at a field; if undefined, they stay relative
 * @throws UserError for a path with a name that is too long, or with a variable that isn't expanded
 */
export function withAbsolutePaths<T>(
  value: T,
  root: SchemaNode,
  folderOf: (path: Path) => string | undefined,
): T {
  const walk = (item: unknown, node: SchemaNode | undefined, path: Path): unknown => {
    if (node === undefined) return item;
    if (typeof item === 'string') {
      if (!isPath(item, node)) return item;
      const place = { field: path.join('.') };
      const expanded = expandHome(item, place);
      const folder = folderOf(path);
      return folder === undefined ? expanded : requireShortNames(resolve(folder, expanded), place);
    }
    if (Array.isArray(item))
      return item.map((part, i) => walk(part, declaredChild(node, String(i)), [...path, i]));
    if (!isMapping(item)) return item;
    return Object.fromEntries(
      Object.entries(item).map(([key, part]) => [key, walk(part, declaredChild(node, key), [...path, key])]),
    );
  };
  return walk(value, root, []) as T;
}

const isPath = (text: string, node: SchemaNode) =>
  variantsOf(node).some(({ format }) => format !== undefined && looksLikePath(format, text));

const pathPatterns: Readonly<Record<string, RegExp>> = {
  path: /^/,
  'name-or-path': /[\\/]/,
  'name-or-module': /^[^\\/]*[\\/].*\.(?:[cm]?js|m?ts)$/s,
};

/** True if text in a field of this format is a path; ids with a scheme (`package:…`, `gymnasium:…`) aren't. */
export const looksLikePath = (format: string, text: string): boolean =>
  !/^[a-z][\w+.-]+:/i.test(text) && pathPatterns[format]?.test(text) === true;
