/** Finds tool calls in a model's text, even while it is being generated. */
import { randomUUID } from 'node:crypto';
import type { ToolCall, ToolFormat } from '../models/language-model.js';
import { jsonIn } from '../storage/json-depth.js';

export interface RequestedCalls {
  readonly format: ToolFormat;
  /** Names of the tools. Without the format's mark, only JSON that names one of them is a call. */
  readonly names: readonly string[];
}

export interface ReplyParts {
  readonly content: string;
  /** The last call's arguments may be incomplete. */
  readonly calls: readonly ToolCall[];
}

/** Reads one answer as it grows. Until it ends, content and arguments only get longer. */
export class ReplyReader {
  readonly #requested: RequestedCalls | undefined;
  readonly #ids: string[] = [];
  #text = '';

  constructor(requested: RequestedCalls | undefined) {
    this.#requested = requested;
  }

  push(text: string): ReplyParts {
    this.#text += text;
    return this.#read(false);
  }

  end(): ReplyParts {
    return this.#read(true);
  }

  #read(ended: boolean): ReplyParts {
    const text = this.#text;
    if (this.#requested === undefined) return { content: text, calls: [] };
    const { format, names } = this.#requested;
    const mark = format.before.trim();
    const start = mark === '' ? -1 : text.indexOf(mark);
    if (start < 0 && !mayBeCall(text, ended))
      return { content: ended ? text : text.slice(0, text.length - heldBack(text, mark)), calls: [] };
    const parts = start < 0 ? listed(text) : text.slice(start + mark.length).split(mark);
    const calls = parts
      .flatMap((part) => callIn(part, ended) ?? [])
      .filter(({ name }) => start >= 0 || names.includes(name))
      .map((call, i) => ({ id: this.#idOf(i), ...call }));
    // If nothing turned out to be a call, all of it is text.
    if (ended && calls.length === 0) return { content: text, calls };
    return { content: text.slice(0, Math.max(0, start)).trimEnd(), calls };
  }

  #idOf(index: number): string {
    // Mistral's templates require exactly nine letters and digits.
    const id = this.#ids[index] ?? randomUUID().replaceAll('-', '').slice(0, 9);
    this.#ids[index] = id;
    return id;
  }
}

/** Whether the text may be a call without the mark, which some models omit. */
function mayBeCall(text: string, ended: boolean): boolean {
  if (ended) return /^\s*[[{]/.test(text);
  const begun = text.replace(/\s/g, '').slice(0, 9);
  return ['{"name":', '[{"name":'].some((one) => one.startsWith(begun) || begun.startsWith(one));
}

/** Number of characters to hold back at the end: white space, then what may be the beginning of a mark. */
function heldBack(text: string, mark: string): number {
  if (mark === '') return 0;
  let begun = Math.min(mark.length - 1, text.length);
  while (!text.endsWith(mark.slice(0, begun))) begun--;
  return text.length - text.slice(0, text.length - begun).trimEnd().length;
}

/** The JSON objects in a list, or the single object. */
function listed(text: string): readonly string[] {
  const objects: string[] = [];
  for (let at = text.indexOf('{'); at >= 0; ) {
    const end = jsonEnd(text, at);
    objects.push(text.slice(at, end));
    at = end === undefined ? -1 : text.indexOf('{', end);
  }
  return objects;
}

const head = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\S)/;

function callIn(text: string, ended: boolean): Omit<ToolCall, 'id'> | undefined {
  const found = head.exec(text);
  const name = found === null ? undefined : jsonIn(found[1]!);
  if (found !== null && typeof name === 'string') {
    const from = found[0].length;
    return { name, arguments: text.slice(from, jsonEnd(text, from)) };
  }
  if (!ended) return undefined;
  const start = text.indexOf('{');
  const call = start < 0 ? undefined : jsonIn(text.slice(start, jsonEnd(text, start)));
  if (typeof call !== 'object' || call === null || !('name' in call) || typeof call.name !== 'string')
    return undefined;
  const given = 'arguments' in call ? call.arguments : 'parameters' in call ? call.parameters : {};
  return { name: call.name, arguments: JSON.stringify(given) };
}

/** Index after the end of an object or list; undefined if it is incomplete. */
function jsonEnd(text: string, start: number): number | undefined {
  let depth = 0;
  const part = /"(?:[^"\\]|\\.)*"?|[[{]|[\]}]/gs;
  part.lastIndex = start;
  for (let found = part.exec(text); found !== null; found = part.exec(text)) {
    const [symbol] = found;
    if (symbol === '{' || symbol === '[') depth++;
    else if (symbol === '}' || symbol === ']') depth--;
    if (depth <= 0) return part.lastIndex;
  }
  return undefined;
}
