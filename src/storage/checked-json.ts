import { existsSync, readFileSync } from 'node:fs';
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
