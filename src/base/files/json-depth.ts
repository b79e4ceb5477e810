/** Limits the nesting of untrusted JSON, so that recursive code that traverses it can't overflow the stack. */

/** Maximum nesting depth; legitimate files and messages need far less. */
export const maxJsonDepth = 200;

/**
 * @param change function applied to each value, innermost first
 * @throws SyntaxError for invalid JSON, or for more than `maxJsonDepth` levels
 */
export function parseJson(text: string, change?: (value: unknown, key: string) => unknown): unknown {
  if (isDeeperThan(text, maxJsonDepth))
    throw new SyntaxError(`lists and objects are nested more than ${maxJsonDepth} levels deep`);
  return JSON.parse(text, change && ((key, value: unknown) => change(value, key)));
}

/** The parsed value; undefined if the text isn't JSON or is nested too deeply. */
export function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** True if lists and objects are nested deeper than `limit`. Brackets in strings don't count. */
export function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > limit) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x22: // "
        at = endOfString(text, at + 1);
    }
  }
  return false;
}

/** Position of the closing quote, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
