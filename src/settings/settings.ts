/** Settings of any kind: a file with `key=value` overrides, validated by a schema, with the place of every problem. */
import { type Problem, UserError } from '../base/errors.js';
import { oneScreen, type Path, schemaProblems } from './issues.js';
import { applyOverrides, type Overridden, overrideOf } from './overrides.js';
import { withAbsolutePaths } from './paths.js';
import { type SettingsKind, valueAt } from './schema.js';
import type { ConfigSource } from './yaml-source.js';

/** The first part of a problem's output: `file:line:column`, or the override. */
export type Where = (path: Path, aim: 'key' | 'value') => Pick<Problem, 'file' | 'line' | 'column'>;

/** The content of a file, with the places of its fields. */
export interface SettingsSource extends Pick<ConfigSource, 'depth' | 'place'> {
  readonly content: Record<string, unknown>;
}

export interface Settings extends Overridden {
  /** The place of a field in the file, or the override that set it. */
  readonly where: Where;
  /** Adds places to problems with a field that were found later. */
  locate(error: UserError): UserError;
  /**
   * Makes relative paths absolute.
   * @param fileFolder base of paths in the file; undefined leaves them unchanged
   * @param cwd base of paths in overrides
   */
  absolute<T>(value: T, fileFolder: string | undefined, cwd: string): T;
}

/** @throws UserError that names each override that is malformed or refers to no field */
export function overlaid(
  kind: SettingsKind<unknown>,
  { content, depth, place }: SettingsSource,
  texts: readonly string[],
): Settings {
  const overridden = applyOverrides(content, texts, kind);
  const causeOf = (path: Path) => overrideOf(path, depth(path), overridden.overrides, kind.json);
  // A short form in an override (`model.provider=./my-model.js`) also sets other fields.
  const isFromOverride = (path: Path) =>
    causeOf(path) !== undefined ||
    (depth(path) === path.length && valueAt(path, content) !== valueAt(path, overridden.content));
  const where: Where = (path, aim) => {
    const override = causeOf(path);
    return override === undefined ? place(path, aim) : { file: override.name };
  };
  return {
    ...overridden,
    where,
    locate: (error) => new UserError(error.problems.map((problem) => placed(problem, where))),
    absolute: (value, fileFolder, cwd) =>
      withAbsolutePaths(value, kind.json, (path) => (isFromOverride(path) ? cwd : fileFolder)),
  };
}

/** Adds the place of a problem's field, unless it already has a place, names no field, or names an option (`--out`). */
function placed(problem: Problem, where: Where): Problem {
  return problem.field === undefined || problem.field.startsWith('--') || problem.file !== undefined
    ? problem
    : { ...where(problem.field.split('.'), 'value'), ...problem };
}

/**
 * Validates settings by their schema and fills in defaults.
 * @throws UserError with every problem
 */
export function parseSettings<Output>(
  kind: SettingsKind<Output>,
  input: unknown,
  where: Where = () => ({}),
): Output {
  const parsed = kind.schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(parsed.error.issues, kind.json, input);
  throw new UserError(
    oneScreen(problems.map(({ path, aim, problem }) => ({ ...where(path, aim), ...problem }))),
  );
}
