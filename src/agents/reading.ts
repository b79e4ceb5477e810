/** What a reply means as an action: in free text the last action that it names, or the last JSON object's. */

import type { Action, Space } from '../environments/environment.js';
import { isValidAction } from '../environments/limited-environment.js';
import { answerText } from '../models/answer-text.js';
import { isMapping } from '../settings/schema.js';
import { jsonIn } from '../storage/json-depth.js';
import type { Choice } from './choices.js';

/** How a reply is read. */
export type Reading = 'text' | 'json';

/** Ways to act: how a reply is read; `constrained` replies can be nothing but one of the actions, in their words. */
export const ways = ['text', 'json', 'constrained'] as const;

/**
 * The action that a reply names, its thinking aside; undefined where it names none.
 * @param choices the actions that can be taken now, where they can be listed
 */
export function readAction(
  reply: string,
  space: Space,
  choices: readonly Choice[] | undefined,
  reading: Reading,
): Action | undefined {
  const { text, unclosedThinking } = answerText(reply);
  if (unclosedThinking) return undefined;
  return reading === 'json' ? jsonAction(text, space, choices) : lastAction(text, space, choices);
}

const number = /-?\d+(?:\.\d+)?/g;

function lastAction(reply: string, space: Space, choices: readonly Choice[] | undefined): Action | undefined {
  if (space.kind === 'text') return choices === undefined ? lastLine(reply) : lastChoice(reply, choices);
  const numbers = (reply.match(number) ?? []).map(Number);
  if (space.kind === 'discrete') {
    const named = choices?.some(({ text, action }) => text !== String(action));
    if (!named) return numbers.findLast((value) => isValidAction(value, space));
    // Beside words a number may count anything; alone it is the action's own.
    const alone = /^\W*\d+\W*$/.test(reply) ? numbers[0] : undefined;
    return (
      lastChoice(reply, choices!) ?? (alone !== undefined && isValidAction(alone, space) ? alone : undefined)
    );
  }
  const { length } = space.kind === 'box' ? space.low : space.spaces;
  const last = numbers.slice(-length);
  return isValidAction(last, space) ? last : undefined;
}

/** A free command: what a reply ends with. */
const lastLine = (reply: string): string | undefined =>
  reply
    .split('\n')
    .map((line) => line.trim().replace(/^>\s*/, ''))
    .findLast((line) => line !== '');

/** Case, and what stands between the words of an action, make no difference. */
const plain = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, ' ')
    .trim();

/** The choice that ends last as words of its own, the longest of those that end there. */
function lastChoice(reply: string, choices: readonly Choice[]): Action | undefined {
  const text = plain(reply);
  let found: { readonly action: Action; readonly length: number; readonly end: number } | undefined;
  for (const { text: words, action } of choices) {
    const { length } = plain(words);
    const end = lastEnd(text, plain(words));
    if (end === undefined) continue;
    const isLater = found === undefined || end > found.end;
    if (isLater || (end === found?.end && length > found.length)) found = { action, length, end };
  }
  return found?.action;
}

const inWord = /[\p{L}\p{N}_]/u;

/** Where the last occurrence ends that no letter or digit goes on. */
function lastEnd(text: string, words: string): number | undefined {
  for (let at = text.lastIndexOf(words); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(words, at - 1)) {
    const end = at + words.length;
    const isOwn = !inWord.test(text[at - 1] ?? ' ') && !inWord.test(text[end] ?? ' ');
    if (isOwn) return end;
  }
  return undefined;
}

/** The `action` of the last JSON object that has one. */
function jsonAction(reply: string, space: Space, choices: readonly Choice[] | undefined): Action | undefined {
  const value = objectsIn(reply).findLast((object) => Object.hasOwn(object, 'action'))?.action;
  if (typeof value === 'string') {
    const named = choices?.find(({ text }) => plain(text) === plain(value));
    if (named !== undefined) return named.action;
    if (space.kind === 'text') return choices === undefined && value.trim() !== '' ? value.trim() : undefined;
    const asNumber = value.trim() === '' ? Number.NaN : Number(value);
    return isValidAction(asNumber, space) ? asNumber : undefined;
  }
  const action = typeof value === 'number' && space.kind === 'box' ? [value] : value;
  const isAction = typeof action === 'number' || (Array.isArray(action) && action.every(isNumber));
  return isAction && space.kind !== 'text' && isValidAction(action, space) ? action : undefined;
}

const isNumber = (value: unknown): value is number => typeof value === 'number';

/** A reply holds few; more braces than that are no answer. */
const mostBraces = 200;

/** The JSON objects of a text in their order, those within others left out. */
function objectsIn(text: string): readonly Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  let from = text.indexOf('{');
  for (let tries = 0; from >= 0 && tries < mostBraces; tries++) {
    const object = objectAt(text, from);
    if (object !== undefined) found.push(object.value);
    from = text.indexOf('{', object?.end ?? from + 1);
  }
  return found;
}

function objectAt(text: string, from: number) {
  let closing = text.indexOf('}', from);
  for (let tries = 0; closing >= 0 && tries < mostBraces; tries++) {
    const value = jsonIn(text.slice(from, closing + 1));
    // Otherwise it goes on to a later brace, or is no JSON.
    if (isMapping(value)) return { value, end: closing + 1 };
    closing = text.indexOf('}', closing + 1);
  }
  return undefined;
}
