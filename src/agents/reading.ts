/** Extracts the action from a reply: the last one named in free text, or the last one in JSON. */

import { jsonIn } from '../base/files/json-depth.js';
import type { Action, DiscreteSpace, Space, TextInfo } from '../environments/environment.js';
import { isValidAction } from '../environments/limited-environment.js';
import { findAnswer } from '../models/answer-text.js';

export type ReplyFormat = 'text' | 'json';

/** Answer formats, which determine how replies are parsed. A `constrained` reply can only be a listed action. */
export const answerFormats = ['text', 'json', 'constrained'] as const;

export const replyFormatOf = (act: string): ReplyFormat => (act === 'json' ? act : 'text');

/** Finds the action that a reply names outside its thinking. `choices`: the currently possible actions, if known. */
export function parseAction(
  reply: string,
  space: Space,
  choices: readonly Choice[] | undefined,
  replyFormat: ReplyFormat,
): Action | undefined {
  const { text, hasUnclosedThinking } = findAnswer(reply);
  if (hasUnclosedThinking) return undefined;
  return replyFormat === 'text' ? lastAction(text, space, choices) : jsonAction(text, space, choices);
}

const numberPattern = /-?\d+(?:\.\d+)?/g;

function lastAction(reply: string, space: Space, choices: readonly Choice[] | undefined): Action | undefined {
  if (space.kind === 'text') return choices === undefined ? lastLine(reply) : lastChoice(reply, choices);
  const numbers = (reply.match(numberPattern) ?? []).map(Number);
  if (space.kind === 'discrete') {
    const areNamed = choices?.some(({ text, action }) => text !== String(action));
    if (!areNamed) return numbers.findLast((value) => isValidAction(value, space));
    // A number among other words can mean anything; a number on its own names an action.
    const sole = /^\W*\d+\W*$/.test(reply) ? numbers[0] : undefined;
    return (
      lastChoice(reply, choices!) ?? (sole !== undefined && isValidAction(sole, space) ? sole : undefined)
    );
  }
  const { length } = space.kind === 'box' ? space.low : space.spaces;
  const lastNumbers = numbers.slice(-length);
  return isValidAction(lastNumbers, space) ? lastNumbers : undefined;
}

/** Finds the command in a free-text reply: its last non-empty line, without a leading `>`. */
const lastLine = (reply: string): string | undefined =>
  reply
    .split('\n')
    .map((line) => line.trim().replace(/^>\s*/, ''))
    .findLast((line) => line !== '');

/** Normalises case and word separators. */
const normalize = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, ' ')
    .trim();

/** Finds the last choice in the reply, as a separate phrase; of two that end at the same place, the longer one. */
function lastChoice(reply: string, choices: readonly Choice[]): Action | undefined {
  const text = normalize(reply);
  let found: { readonly action: Action; readonly length: number; readonly end: number } | undefined;
  for (const { text: name, action } of choices) {
    const { length } = normalize(name);
    const end = lastEnd(text, normalize(name));
    if (end === undefined) continue;
    const isLater = found === undefined || end > found.end;
    if (isLater || (end === found?.end && length > found.length)) found = { action, length, end };
  }
  return found?.action;
}

const wordCharacter = /[\p{L}\p{N}_]/u;

/** Finds the end of the last occurrence of `phrase` that isn't part of a longer word. */
function lastEnd(text: string, phrase: string): number | undefined {
  for (let at = text.lastIndexOf(phrase); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(phrase, at - 1)) {
    const end = at + phrase.length;
    const isSeparate = !wordCharacter.test(text[at - 1] ?? ' ') && !wordCharacter.test(text[end] ?? ' ');
    if (isSeparate) return end;
  }
  return undefined;
}

/** An action in a JSON object: a string, a number or a list. */
const actionPattern = /"action"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^[\]]*\]|-?\d[\d.eE+-]*)\s*[,}]/g;

function jsonAction(reply: string, space: Space, choices: readonly Choice[] | undefined): Action | undefined {
  const value = jsonIn([...reply.matchAll(actionPattern)].at(-1)?.[1] ?? '');
  if (typeof value === 'string') {
    const namedChoice = choices?.find(({ text }) => normalize(text) === normalize(value));
    if (namedChoice !== undefined) return namedChoice.action;
    if (space.kind === 'text') return choices === undefined && value.trim() !== '' ? value.trim() : undefined;
    const asNumber = value.trim() === '' ? Number.NaN : Number(value);
    return isValidAction(asNumber, space) ? asNumber : undefined;
  }
  const action = typeof value === 'number' && space.kind === 'box' ? [value] : value;
  const isAction =
    typeof action === 'number' || (Array.isArray(action) && action.every((item) => typeof item === 'number'));
  return isAction && space.kind !== 'text' && isValidAction(action, space) ? action : undefined;
}

/** A currently possible action, with the text that names it. */
export interface Choice {
  readonly text: string;
  readonly action: Action;
}

/** Maximum number of tuple actions to list. */
const maxCombinations = 1000;

/** Lists the actions of a space (names from `words`) or a text world's commands; undefined if they can't be listed. */
export function listedChoices(
  space: Space,
  words?: readonly string[],
  info?: TextInfo,
): readonly Choice[] | undefined {
  switch (space.kind) {
    case 'discrete':
      return actionsIn(space).map((action, i) => ({ text: words?.[i] ?? String(action), action }));
    case 'tuple': {
      if (space.spaces.reduce((product, { n }) => product * n, 1) > maxCombinations) return undefined;
      const combinations = space.spaces.reduce<readonly (readonly number[])[]>(
        (prefixes, part) => prefixes.flatMap((prefix) => actionsIn(part).map((value) => [...prefix, value])),
        [[]],
      );
      return combinations.map((action) => ({ text: action.join(', '), action }));
    }
    case 'text':
      return (info?.admissible ?? space.choices)?.map((text) => ({ text, action: text }));
    case 'box':
      return undefined;
  }
}

const actionsIn = ({ n, start = 0 }: DiscreteSpace): readonly number[] =>
  Array.from({ length: n }, (_, i) => start + i);
