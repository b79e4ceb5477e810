/** Restricts a reply to one of several given texts: each token must continue at least one of them. */
import { largest } from '../../../statistics/descriptive.js';
import type { Constraint, ConstraintState } from './constraint.js';
import type { TokenMask } from './sampling.js';

/** A common prefix of some of the texts, and the tokens that can follow it. */
interface Branch {
  readonly children: Map<number, Branch>;
  readonly mask: TokenMask;
}

/** @param choices at least one list of token ids, each ending with the end token, so none is a prefix of another */
export function choiceConstraint(choices: readonly (readonly number[])[]): Constraint {
  if (choices.length === 0) throw new RangeError('there must be at least one choice');
  const root = branchOf(choices);
  return {
    // The end token isn't part of the text.
    answerTokens: largest(choices.map(({ length }) => length - 1)),
    start: () => new ChoiceState(root),
  };
}

function branchOf(choices: readonly (readonly number[])[]): Branch {
  const children = new Map<number, Branch>();
  for (const id of new Set(choices.flatMap(([first]) => first ?? [])))
    children.set(id, branchOf(choices.filter(([first]) => first === id).map((choice) => choice.slice(1))));
  return { children, mask: { kind: 'only', ids: Int32Array.from(children.keys()).sort() } };
}

class ChoiceState implements ConstraintState {
  #branch: Branch;

  constructor(root: Branch) {
    this.#branch = root;
  }

  mask(): TokenMask {
    return this.#branch.mask;
  }

  accept(id: number): void {
    const next = this.#branch.children.get(id);
    if (next === undefined) throw new Error(`token ${id} doesn't continue any of the choices`);
    this.#branch = next;
  }
}
