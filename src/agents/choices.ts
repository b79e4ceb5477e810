/** The currently possible actions, each with the text that names it. */
import type { Action, DiscreteSpace, Space, TextInfo } from '../environments/environment.js';

export interface Choice {
  /** The text that names it in a reply. */
  readonly text: string;
  readonly action: Action;
}

/** Larger products are not listed. */
const mostCombinations = 1000;

/**
 * The choices of an action space; undefined if they can't be listed.
 * @param words names of a discrete space's actions, in order; defaults to their numbers
 * @param info current state of a text world, whose admissible commands are the choices
 */
export function listedChoices(
  space: Space,
  words?: readonly string[],
  info?: TextInfo,
): readonly Choice[] | undefined {
  switch (space.kind) {
    case 'discrete':
      return members(space).map((action, i) => ({ text: words?.[i] ?? String(action), action }));
    case 'tuple': {
      if (space.spaces.reduce((product, { n }) => product * n, 1) > mostCombinations) return undefined;
      const combined = space.spaces.reduce<readonly (readonly number[])[]>(
        (found, part) => found.flatMap((before) => members(part).map((value) => [...before, value])),
        [[]],
      );
      return combined.map((action) => ({ text: action.join(', '), action }));
    }
    case 'text':
      return (info?.admissible ?? space.choices)?.map((text) => ({ text, action: text }));
    case 'box':
      return undefined;
  }
}

const members = ({ n, start = 0 }: DiscreteSpace): readonly number[] =>
  Array.from({ length: n }, (_, i) => start + i);
