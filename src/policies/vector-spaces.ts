/** Spaces of policies that compute outputs from a vector: linear policies and networks. */
import { UserError } from '../base/errors.js';
import { dimensionsOf, type EnvironmentSpec } from '../environments/environment.js';
import { numericSpace, type ParameterSpec, tupleActions, type VectorShape } from './policy.js';

/** @throws UserError if the observation is not a vector, or the action is a tuple or a text */
export function vectorShape(
  { id, observationSpace, actionSpace }: EnvironmentSpec,
  kind: string,
): VectorShape {
  const observed = numericSpace(observationSpace, id);
  if (observed.kind === 'discrete') {
    throw new UserError({
      field: 'policy.kind',
      message: `${kind === 'mlp' ? 'a network' : `a ${kind} policy`} needs a vector as observation, but ${id} observes one of ${observed.n} states`,
      value: kind,
      alternatives: ['q-table'],
      remedy: 'set policy.kind to q-table, or leave policy out',
    });
  }
  const observations = dimensionsOf(observed);
  const acted = numericSpace(actionSpace, id);
  switch (acted.kind) {
    case 'discrete':
      return { observations, outputs: acted.n, discrete: true, firstAction: acted.start ?? 0 };
    case 'box':
      return { observations, outputs: acted.low.length, discrete: false, firstAction: 0 };
    case 'tuple':
      throw tupleActions(id);
  }
}

/** The meaning of each output: `action 1` (a score) or `action[1]` (a dimension). */
export const outputNames = ({
  outputs,
  discrete,
  firstAction,
}: Omit<VectorShape, 'observations'>): readonly string[] =>
  Array.from({ length: outputs }, (_, a) => (discrete ? `action ${a + firstAction}` : `action[${a}]`));

/** Parameters that are weights with these names, or their coordinates in a random subspace of rank `rank`. */
export const weightParameters = (
  { decimals, high, low }: Pick<ParameterSpec, 'decimals' | 'high' | 'low'>,
  names: readonly string[],
  rank: number | undefined,
): ParameterSpec => ({
  count: rank ?? names.length,
  kind: decimals === 0 ? 'integer' : 'float',
  ...{ low, high, decimals },
  names:
    rank === undefined ? names : Array.from({ length: rank }, (_, j) => `coordinate ${j} of the weights`),
});
