/**
 * Symmetries of policies: returns don't change if observations are reordered or negated, or actions renamed, so an
 * evaluation of parameters also holds for their image.
 */

import { type RandomGenerator, shuffled } from '../../../src/base/random/generator.js';
import type { ParameterVector, PolicyFamily } from '../../../src/policies/policy.js';

/** The value at position `from`, times `sign`. */
interface Moved {
  readonly from: number;
  readonly sign: 1 | -1;
}

export type Symmetry = (parameters: ParameterVector) => ParameterVector;

/**
 * Draws a symmetry of linear policies or of tables of actions. Signs flip only if the parameters' bounds are symmetric,
 * and those of outputs only if outputs are continuous actions.
 */
export function drawSymmetry({ description, parameters }: PolicyFamily, random: RandomGenerator): Symmetry {
  const flips = parameters.low === -parameters.high;
  const moved = (count: number, flip: boolean): readonly Moved[] =>
    shuffled(Array(count).keys(), random).map((from) => ({
      from,
      sign: flip && random.random() < 0.5 ? -1 : 1,
    }));
  switch (description.kind) {
    case 'q-table': {
      const states = shuffled(Array(description.states).keys(), random);
      const actions = shuffled(description.actions.keys(), random);
      return (table) =>
        states.map((state) => parameters.low + actions.indexOf(table[state]! - parameters.low));
    }
    case 'linear': {
      const observations = moved(description.observations, flips);
      const outputs = moved(description.outputs, flips && !description.discrete);
      const bias: Moved = { from: observations.length, sign: 1 };
      const hasBias = parameters.count > observations.length * outputs.length;
      return (weights) =>
        (hasBias ? [...observations, bias] : observations).flatMap((row) =>
          outputs.map(
            // Adding 0 turns −0 into 0: the two print the same but aren't the same value.
            ({ from, sign }) => row.sign * sign * weights[row.from * outputs.length + from]! + 0,
          ),
        );
    }
    default:
      throw new Error(`the symmetries of ${description.kind} policies are unknown`);
  }
}
