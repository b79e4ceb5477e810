/** Texts for files that other programs interpret line by line: scripts, Modelfiles, instructions. */
import { UserError } from '../base/errors.js';

const breaking = /[\p{Cc}\u2028\u2029]/u;

/**
 * Checks every text in plain data before it is written to such a file, where quoting can't stop a line break
 * from starting a new line.
 * @param field of the data, for errors
 * @returns the data
 * @throws UserError for a text with a line break or another control character
 */
export function requireOneLine<T>(data: T, field = ''): T {
  if (typeof data === 'string' && breaking.test(data))
    throw new UserError({
      ...(field !== '' && { field }),
      value: data,
      message:
        'contains a line break or another control character, which would break the file that it is written to',
      remedy: 'remove it, or rename the file or folder',
    });
  if (typeof data !== 'object' || data === null) return data;
  for (const [key, item] of Object.entries(data))
    requireOneLine(item, field === '' ? key : `${field}.${key}`);
  return data;
}

/** Quotes a text as a single word for the shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
