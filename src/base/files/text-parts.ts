/** Encodes text relative to an earlier text, as pieces to copy and new text between them. */
import { append } from '../append.js';

/** New text, or a piece of the earlier text: start and length, in UTF-16 units. */
export type TextPart = string | readonly [start: number, length: number];

/** Minimum length of a copied piece, unless it is the whole text. Shorter ones save little and are hard to read. */
const minLength = 32;

/** The parts of `text` relative to `earlier`; `decodeText` is the inverse. */
export function encodeText(text: string, earlier: string): readonly TextPart[] {
  if (text === earlier) return text === '' ? [] : [[0, text.length]];
  const [prefixLength, suffixLength] = sharedEndLengths(text, earlier);
  const parts: TextPart[] = prefixLength === 0 ? [] : [[0, prefixLength]];
  append(parts, middleParts(text.slice(prefixLength, text.length - suffixLength), earlier));
  if (suffixLength > 0) parts.push([earlier.length - suffixLength, suffixLength]);
  return parts;
}

/** @throws RangeError if a piece isn't inside the earlier text */
export function decodeText(parts: readonly TextPart[], earlier: string): string {
  const pieces = parts.map((part) => {
    if (typeof part === 'string') return part;
    const [start, length] = part;
    const fits = Number.isInteger(start) && start >= 0 && length > 0 && start + length <= earlier.length;
    if (!fits)
      throw new RangeError(`the earlier text doesn't have ${length} characters starting at ${start}`);
    return earlier.slice(start, start + length);
  });
  return pieces.join('');
}

/** Lengths of the common prefix and suffix, which don't overlap; 0 if too short to copy. */
function sharedEndLengths(text: string, earlier: string): readonly [before: number, after: number] {
  const maxLength = Math.min(text.length, earlier.length);
  let before = 0;
  while (before < maxLength && text[before] === earlier[before]) before++;
  if (before < minLength) before = 0;
  let after = 0;
  while (after < maxLength - before && text.at(-1 - after) === earlier.at(-1 - after)) after++;
  return [before, after < minLength ? 0 : after];
}

/**
 * Looks up the text at each position among the blocks of the earlier text and extends matches. Any common piece
 * that is at least twice as long as a block contains a whole block, so it can be found.
 */
function middleParts(text: string, earlier: string): readonly TextPart[] {
  if (text.length < minLength || earlier.length < minLength) return text === '' ? [] : [text];
  const blocks = new Map<string, number>();
  for (let at = 0; at + minLength <= earlier.length; at += minLength) {
    blocks.set(earlier.slice(at, at + minLength), at);
  }
  const parts: TextPart[] = [];
  let partStart = 0;
  for (let at = 0; at + minLength <= text.length; ) {
    const found = blocks.get(text.slice(at, at + minLength));
    if (found === undefined) {
      at++;
      continue;
    }
    let back = 0;
    while (at - back > partStart && found > back && text[at - back - 1] === earlier[found - back - 1]) back++;
    let length = minLength;
    while (at + length < text.length && text[at + length] === earlier[found + length]) {
      if (found + length >= earlier.length) break;
      length++;
    }
    if (at - back > partStart) parts.push(text.slice(partStart, at - back));
    parts.push([found - back, back + length]);
    at += length;
    partStart = at;
  }
  if (partStart < text.length) parts.push(text.slice(partStart));
  return parts;
}
