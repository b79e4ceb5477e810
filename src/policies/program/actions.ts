/** Checks the actions that programs return. */
import type { Action, Space } from '../../environments/environment.js';
import { actionsText, isValidAction } from '../../environments/limited-environment.js';
import { actionKinds } from './prelude.js';

/**
 * Reads the action from the buffer that the host shares with the interpreter.
 * @param readText reads the returned text: the JSON of a text action, or a description of an invalid value
 * @returns the action, or the reason why it isn't valid
 */
export function programAction(
  space: Space,
  floats: Float64Array,
  readText: () => string,
): { readonly action: Action } | { readonly reason: string } {
  const action = readAction(space, floats, readText);
  if (action !== undefined && isValidAction(action, space)) return { action };
  const shown = action === undefined ? readText() : typeof action === 'string' ? quote(action) : text(action);
  // A program may return the only number of a vector by itself.
  const expected = space.kind === 'box' && space.low.length === 1 ? 'a finite number' : actionsText(space);
  return { reason: `returned ${shown}, but an action is ${expected}` };
}

function readAction(space: Space, floats: Float64Array, readText: () => string): Action | undefined {
  switch (floats[floats.length - 1]) {
    case actionKinds.number: {
      const number = floats[0]!;
      // Adding 0 turns -0 into 0.
      return space.kind === 'box' && space.low.length === 1 ? [number] : number + 0;
    }
    case actionKinds.vector:
      return Array.from(floats.subarray(0, space.kind === 'box' ? space.low.length : tupleLength(space)));
    case actionKinds.text:
      return JSON.parse(readText()) as string;
    default:
      return undefined;
  }
}

const tupleLength = (space: Space) => (space.kind === 'tuple' ? space.spaces.length : 0);

const quote = (value: string) => JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);

const text = (action: number | readonly number[]) =>
  typeof action === 'number' ? String(action) : `[${action.join(', ')}]`;
