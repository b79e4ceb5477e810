import { existsSync, readFileSync } from 'node:fs';
import type { z } from 'zod';
import { messageOf, UserError } from '../errors.js';

/**
 * A JSON file of a model directory, or undefined where there is none.
 * @throws UserError when it is not JSON
 */
export function readJson(file: string): unknown {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UserError({ file, message: `this is not JSON: ${messageOf(error)}` });
  }
}

/**
 * @param section path of the value within the file
 * @param prefix of the messages
 * @throws UserError naming file and field of everything that does not fit the schema
 */
export function checkedValue<S extends z.ZodType>(
  schema: S,
  value: unknown,
  file: string,
  { section = [], prefix = '' }: { readonly section?: readonly string[]; readonly prefix?: string } = {},
): z.output<S> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data as z.output<S>;
  throw new UserError(
    error.issues.map(({ path, message }) => ({
      file,
      field: [...section, ...path].join('.'),
      message: prefix + message,
    })),
  );
}
