/** JSON from outside: how deep it nests is known before it is parsed, since code that walks it may recurse. */

/** No file or message that is read here nests more than a tenth as deep. */
export const deepestJson = 200;

/**
 * @param change of each value, the innermost first
 * @throws SyntaxError for what is no JSON, and for what nests more than `deepestJson` deep
 */
export function parseJson(text: string, change?: (value: unknown) => unknown): unknown {
  if (isDeeperThan(text, deepestJson))
    throw new SyntaxError(`it nests lists and objects more than ${deepestJson} deep`);
  return JSON.parse(text, change && ((_, value: unknown) => change(value)));
}

/** The value of JSON text; undefined for what is no JSON, and for what nests more than `deepestJson` deep. */
export function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Whether lists and objects nest deeper than `limit` in JSON text. Brackets in strings don't count. */
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

/** Position of the quote that ends a string; the end of the text where none does. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
