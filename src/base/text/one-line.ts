/** Checks and quotes strings for files that other programs read line by line, such as scripts and Modelfiles. */
import { UserError } from '../errors.js';

const controlCharacter = /[\p{Cc}\u2028\u2029]/u;

/**
 * Checks every string in plain data before it is written to a script or Modelfile, where a line break starts a new
 * line even inside quotes.
 * @param field name of the data's field, for errors
 * @returns the data
 * @throws UserError for a string with a line break or another control character
 */
export function requireOneLine<T>(data: T, field = ''): T {
  if (typeof data === 'string' && controlCharacter.test(data))
    throw new UserError({
      ...(field !== '' && { field }),
      value: data,
      message: 'contains a line break or another control character, which would corrupt the output file',
      hint: 'remove it, or rename the file or folder',
    });
  if (typeof data !== 'object' || data === null) return data;
  for (const [key, item] of Object.entries(data))
    requireOneLine(item, field === '' ? key : `${field}.${key}`);
  return data;
}

/** Quotes a string so that a shell reads it as a single word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The text with a capital first letter. */
export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The start of a text, on one line of at most 200 characters. */
export const excerpt = (text: string): string => text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200);
