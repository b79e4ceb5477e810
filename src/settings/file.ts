/** YAML files of the fine-tuner's commands, `key=value` over them, and the places of what is wrong. */
import { existsSync, readFileSync } from 'node:fs';
import type { z } from 'zod';
import { nearest, type Problem, UserError } from '../errors.js';
import { type Path, printable } from './issues.js';
import { isMapping, valueAt } from './schema.js';
import { parseSource } from './yaml-source.js';

/** Where a value or its key stands: in the file, or in an override. */
export type Place = (path: Path, aim: 'key' | 'value') => Pick<Problem, 'file' | 'line' | 'column'>;

interface Override {
  readonly text: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

/**
 * @param overrides `key=value`, with dots between the keys of what is nested; the value is YAML
 * @param example an override or two, for who wrote one wrongly
 * @throws UserError for a file that is missing or no YAML, and for what is no override
 */
export function readSettings(
  file: string,
  overrides: readonly string[],
  example: string,
): { readonly content: unknown; readonly place: Place } {
  if (!existsSync(file)) {
    throw new UserError({
      message: 'there is no such config',
      value: file,
      remedy: 'give the path of a YAML file',
    });
  }
  const source = parseSource(readFileSync(file, 'utf8'), file);
  const set = overrides.map((text) => parseOverride(text, example));
  return {
    content: set.reduce<unknown>((changed, { path, value }) => assign(changed, path, value), source.content),
    place: (path, aim) => {
      const override = set.findLast((item) => item.path.every((key, i) => String(path[i]) === key));
      return override === undefined
        ? source.place(path, aim)
        : { file: `override ${printable(override.text)}` };
    },
  };
}

function parseOverride(text: string, example: string): Override {
  const equals = text.indexOf('=');
  const path = text.slice(0, Math.max(0, equals)).trim().split('.');
  const file = `override ${printable(text)}`;
  if (equals < 0 || path.some((key) => key === '' || key === '__proto__')) {
    throw new UserError({
      file,
      message: 'an override is written key=value',
      remedy: `for example ${example}`,
    });
  }
  return { text, path, value: parseSource(text.slice(equals + 1), file).content };
}

/** A copy with one field set. What stands in the way is the schema's to complain of. */
function assign(content: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(content)) {
    return content.map((item: unknown, i) => (String(i) === key ? assign(item, rest, value) : item));
  }
  const own = isMapping(content) ? content : {};
  return { ...own, [key]: assign(own[key], rest, value) };
}

/** @param known keys at the top, and what to do about one that is none of them nor like one */
export function schemaProblems(
  issue: z.core.$ZodIssue,
  content: unknown,
  place: Place,
  known: { readonly keys: readonly string[]; readonly remedy?: string },
): readonly Problem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      return {
        ...place(path, 'key'),
        field: fieldOf(path),
        message: 'unknown key',
        ...(issue.path.length === 0 && keyAdvice(key, known)),
      };
    });
  }
  const value = valueAt(issue.path, content);
  return [
    {
      ...place(issue.path, 'value'),
      ...(issue.path.length > 0 && { field: fieldOf(issue.path) }),
      message: value === undefined ? 'missing' : issue.message,
      ...(value !== undefined && !isMapping(value) && !Array.isArray(value) && { value }),
    },
  ];
}

function keyAdvice(
  key: string,
  { keys, remedy }: { readonly keys: readonly string[]; readonly remedy?: string },
): Partial<Problem> {
  const meant = nearest(key, keys);
  const advice = meant === undefined ? remedy : `did you mean ${meant}?`;
  return { alternatives: keys, ...(advice !== undefined && { remedy: advice }) };
}

export const fieldOf = (path: Path): string => path.map((key) => printable(String(key))).join('.');
