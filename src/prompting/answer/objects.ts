/** Reads `{…}` and `[…]` as JSON, Python and YAML's one-line form write them, across lines. */
import { isHarmless, numberAt, numberValue, type Value } from './values.js';

export type Node =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Node[]; readonly closed: boolean }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Node])[] };

export interface ReadNode {
  /** Undefined where the text is no object. */
  readonly node: Node | undefined;
  /** After its last bracket, or where the reader gave up. */
  readonly end: number;
}

/** Deepest nesting that is read: a matrix in an object in a list is four deep. */
const deepest = 16;
const blank = /[ \t\n]*/y;
/** A comment runs to the end of its line, and holds no number that could be an item: `# state 0`, not `# 2`. */
const comment = /(?:#|\/\/)([^\n]*)(?=\n)/y;
const plainKey = /[\p{L}_][\w[\] .-]{0,60}?(?= {0,8}[:=])|\d{1,9}(?= {0,8}:)/uy;
const literal = /(?:nan|[+-]?inf(?:inity)?|null|none|undefined|true|false)\b/iy;
const placeholder = /<[\w ,.-]{1,80}>|\.{3}|\u2026/y;
const pairs: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')' };

/** @param raw the text before its marks were blanked, for strings */
export function readNode(text: string, raw: string, start: number): ReadNode {
  let at = start;

  function skip(): void {
    for (;;) {
      blank.lastIndex = at;
      at += blank.exec(text)![0].length;
      comment.lastIndex = at;
      const found = comment.exec(text);
      if (found === null || !isHarmless(found[1]!, undefined)) return;
      at += found[0].length;
    }
  }

  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }

  function readText(): string | undefined {
    const quote = raw[at]!;
    let end = at + 1;
    while (end < raw.length && raw[end] !== quote) end += raw[end] === '\\' ? 2 : 1;
    if (end >= raw.length) {
      at = raw.length;
      return undefined;
    }
    const content = raw.slice(at + 1, end);
    at = end + 1;
    return content;
  }

  function read(depth: number): Node | undefined {
    const sign = text[at];
    if (sign === '{') return depth < deepest ? readObject(depth) : undefined;
    if (sign === '[' || sign === '(') return depth < deepest ? readList(depth, pairs[sign]!) : undefined;
    if (sign === '"' || sign === "'") {
      const content = readText();
      if (content === undefined) return undefined;
      const whole = numberAt(content, 0, true)?.length === content.length && content !== '';
      return whole ? { kind: 'value', value: numberValue(content) } : { kind: 'text', text: content };
    }
    if (take(placeholder) !== undefined) return { kind: 'value', value: { kind: 'placeholder' } };
    const none = take(literal);
    if (none !== undefined) return { kind: 'value', value: { kind: 'malformed', text: none } };
    const number = numberAt(text, at, true);
    if (number === undefined) return undefined;
    at += number.length;
    return { kind: 'value', value: numberValue(number) };
  }

  /** Items are set apart by commas, by semicolons or by blanks, in rows too; two ways in one row are no list. */
  function readList(depth: number, close: string): Node | undefined {
    at++;
    const items: Node[] = [];
    let [commas, blanks] = [false, false];
    for (;;) {
      skip();
      if (text[at] === close) {
        at++;
        return commas && blanks ? undefined : { kind: 'list', items, closed: true };
      }
      if (at >= text.length) return { kind: 'list', items, closed: false };
      const item = read(depth + 1);
      if (item === undefined) return undefined;
      items.push(item);
      const end = at;
      skip();
      if (text[at] === ',' || text[at] === ';') {
        commas ||= text[at] === ',';
        at++;
      } else if (at < text.length && text[at] !== close) {
        if (at === end) return undefined;
        blanks ||= !text.slice(end, at).includes('\n');
      }
    }
  }

  function readObject(depth: number): Node | undefined {
    at++;
    const entries: (readonly [string, Node])[] = [];
    for (;;) {
      skip();
      if (text[at] === '}' || (at >= text.length && entries.length > 0)) {
        if (text[at] === '}') at++;
        return { kind: 'object', entries };
      }
      const key = text[at] === '"' || text[at] === "'" ? readText() : take(plainKey);
      skip();
      if (key === undefined || (text[at] !== ':' && text[at] !== '=')) return undefined;
      at++;
      skip();
      const node = read(depth + 1);
      if (node === undefined) return undefined;
      entries.push([key.trim(), node]);
      skip();
      if (text[at] === ',' || text[at] === ';') at++;
      else if (at < text.length && text[at] !== '}') return undefined;
    }
  }

  const node = read(0);
  return { node, end: at };
}
