/**
 * Symmetries of policy classes: the same policy, in an environment whose observations are told in another order or with
 * another sign and whose actions are called otherwise. Returns do not change, so that an evaluation of parameters is one
 * of the transformed parameters too.
 */
import type { ParameterVector, PolicyFamily } from '../src/policies/policy.js';
import type { RandomGenerator } from '../src/random.js';

/** What now stands in a place: what stood at `from`, times `sign`. */
export interface Moved {
  readonly from: number;
  readonly sign: 1 | -1;
}

export type Symmetry =
  /** Observation i of the other environment is `observations[i]` of this one, output a is `outputs[a]`. */
  | { readonly kind: 'linear'; readonly observations: readonly Moved[]; readonly outputs: readonly Moved[] }
  /** Another basis of the subspace that weights are projected from: its column j is `coordinates[j]` of this one. */
  | { readonly kind: 'projected'; readonly coordinates: readonly Moved[] }
  /** State s of the other environment is `states[s]` of this one, and its action a is `actions[a]`. */
  | { readonly kind: 'table'; readonly states: readonly number[]; readonly actions: readonly number[] };

/**
 * A symmetry of a policy class, each equally likely. Signs flip only where the range of the parameters is the same on
 * both sides of 0, those of outputs only where they are the action itself (of an argmax, the order would be reversed).
 */
export function drawSymmetry({ parameters, description }: PolicyFamily, random: RandomGenerator): Symmetry {
  const flips = parameters.low === -parameters.high;
  const moved = (count: number, flip: boolean): readonly Moved[] =>
    permutation(count, random).map((from) => ({ from, sign: flip && random.random() < 0.5 ? -1 : 1 }));
  if (description.kind === 'q-table') {
    const { states, actions } = description;
    return {
      kind: 'table',
      states: permutation(states, random),
      actions: permutation(actions.length, random),
    };
  }
  if (description.projection !== undefined) {
    return { kind: 'projected', coordinates: moved(parameters.count, flips) };
  }
  const { observations, outputs, discrete } = description;
  return {
    kind: 'linear',
    observations: moved(observations, flips),
    outputs: moved(outputs, flips && !discrete),
  };
}

/** The parameters of the same policy in the other environment. */
export function transformed(
  parameters: ParameterVector,
  symmetry: Symmetry,
  family: Pick<PolicyFamily, 'parameters' | 'description'>,
): ParameterVector {
  switch (symmetry.kind) {
    case 'projected':
      return symmetry.coordinates.map(({ from, sign }) => signed(sign, parameters[from]!));
    case 'linear': {
      const { observations, outputs } = symmetry;
      const rows: readonly Moved[] =
        parameters.length > observations.length * outputs.length
          ? [...observations, { from: observations.length, sign: 1 }]
          : observations;
      return rows.flatMap((row) =>
        outputs.map(({ from, sign }) =>
          signed(row.sign * sign, parameters[row.from * outputs.length + from]!),
        ),
      );
    }
    case 'table':
      return transformedTable(parameters, symmetry, family);
  }
}

function transformedTable(
  parameters: ParameterVector,
  { states, actions }: Extract<Symmetry, { kind: 'table' }>,
  { parameters: { low }, description }: Pick<PolicyFamily, 'parameters' | 'description'>,
): ParameterVector {
  if (description.kind === 'q-table' && description.form === 'values')
    return states.flatMap((state) => actions.map((action) => parameters[state * actions.length + action]!));
  const called = new Map(actions.map((action, name) => [low + action, low + name]));
  return states.map((state) => called.get(parameters[state]!)!);
}

/** Never -0, which is written like 0 and not equal to it. */
const signed = (sign: number, value: number): number => sign * value + 0;

/** Every order equally likely (Fisher and Yates 1938). */
function permutation(count: number, random: RandomGenerator): readonly number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = random.integers(0, i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
