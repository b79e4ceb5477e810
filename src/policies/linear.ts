import { UserError } from '../base/errors.js';
import { dimensionsOf, type EnvironmentSpec, type NumericSpace } from '../environments/environment.js';
import type { RandomGenerator } from '../random/generator.js';
import { firstLargest } from '../statistics/descriptive.js';
import { placesOf } from './order.js';
import {
  createProjection,
  linearWeights,
  numericSpace,
  type ParameterSpec,
  type ParameterVector,
  type Policy,
  type PolicyFamily,
  tupleActions,
} from './policy.js';
import type { LinearConfig } from './settings.js';

/**
 * Linear policies: outputs = s·W + b, with weights W[i][a] at `i * outputs + a` (i an observation dimension) and
 * then, with a bias, b[a] at `observations * outputs + a`. A discrete action is the argmax (the first on ties); a
 * continuous action is the output vector itself, not clipped, as in Prompted Policy Search (arXiv:2511.21928). The
 * parameters are the weights, or the coordinates of weights in a random subspace.
 */
export function linearPolicies(config: LinearConfig, environment: EnvironmentSpec): PolicyFamily {
  const { observationSpace, actionSpace } = environment;
  const observations = vectorLength(numericSpace(observationSpace, environment.id), environment.id);
  const { outputs, discrete, firstAction } = outputsOf(
    numericSpace(actionSpace, environment.id),
    environment.id,
  );
  const { bias, low, high, decimals } = config;
  const shape: Shape = { observations, outputs, bias, discrete, firstAction };
  const weights = (observations + (bias ? 1 : 0)) * outputs;
  const projection = config.projection && createProjection(config.projection, weights);
  const places = placesOf(shape, config.order);
  if (projection !== undefined && places !== undefined) throw orderInSubspace();
  const parameters: ParameterSpec = {
    count: projection?.rank ?? weights,
    kind: decimals === 0 ? 'integer' : 'float',
    low,
    high,
    decimals,
    names: projection === undefined ? ordered(weightNames(shape), places) : coordinateNames(projection.rank),
  };
  const made = { ...(projection && { projection }), ...(places && { places }) };
  return {
    parameters,
    description: { kind: 'linear', ...shape, ...made },
    build: (vector) => buildLinear(linearWeights(made, vector), shape),
    initial: (random) => initialLinear(parameters, bias, random),
  };
}

interface Shape {
  readonly observations: number;
  readonly outputs: number;
  readonly bias: boolean;
  readonly discrete: boolean;
  readonly firstAction: number;
}

function buildLinear(values: ParameterVector, shape: Shape): Policy {
  const { observations, outputs, bias, discrete, firstAction } = shape;
  const weights = Float64Array.from(values);
  const outputsFor = (observation: readonly number[], sums: number[]): number[] => {
    for (let a = 0; a < outputs; a++) {
      let sum = bias ? weights[observations * outputs + a]! : 0;
      for (let i = 0; i < observations; i++) sum += observation[i]! * weights[i * outputs + a]!;
      sums[a] = sum;
    }
    return sums;
  };
  if (!discrete) return (observation) => outputsFor(observation as readonly number[], []);
  const sums: number[] = []; // for every step the same one: allocation would take a third of the time
  return (observation) => firstLargest(outputsFor(observation as readonly number[], sums)) + firstAction;
}

/** Normal(0, 3) with a bias and Uniform(−3, 3) without one in a range of ±6, scaled to the range there is. */
function initialLinear(spec: ParameterSpec, bias: boolean, random: RandomGenerator): ParameterVector {
  const centre = (spec.low + spec.high) / 2;
  const spread = (spec.high - spec.low) / 4;
  return Array.from({ length: spec.count }, () => {
    const draw = bias ? random.normal(centre, spread) : random.uniform(centre - spread, centre + spread);
    return toGrid(draw, spec);
  });
}

/** The allowed value nearest to `value`: within the range, with no more decimals than allowed; never -0. */
export function toGrid(value: number, { low, high, decimals }: Omit<ParameterSpec, 'choices'>): number {
  const scale = 10 ** decimals;
  const first = Math.ceil(low * scale - 1e-6);
  const last = Math.floor(high * scale + 1e-6);
  return Math.min(last, Math.max(first, Math.round(value * scale))) / scale + 0;
}

function vectorLength(space: NumericSpace, id: string): number {
  if (space.kind !== 'discrete') return dimensionsOf(space);
  throw new UserError({
    field: 'policy.kind',
    message: `a linear policy needs a vector as observation, but ${id} observes one of ${space.n} states`,
    value: 'linear',
    alternatives: ['q-table'],
    remedy: 'set policy.kind to q-table, or leave policy out',
  });
}

function outputsOf(
  space: NumericSpace,
  id: string,
): { outputs: number; discrete: boolean; firstAction: number } {
  switch (space.kind) {
    case 'discrete':
      return { outputs: space.n, discrete: true, firstAction: space.start ?? 0 };
    case 'box':
      return { outputs: space.low.length, discrete: false, firstAction: 0 };
    case 'tuple':
      throw tupleActions(id);
  }
}

function weightNames({ observations, outputs, bias, discrete, firstAction }: Shape): readonly string[] {
  const targets = Array.from({ length: outputs }, (_, a) =>
    discrete ? `action ${a + firstAction}` : `action[${a}]`,
  );
  const weights = Array.from({ length: observations }, (_, i) =>
    targets.map((target) => `weight of observation[${i}] for ${target}`),
  );
  return [...weights.flat(), ...(bias ? targets.map((target) => `bias of ${target}`) : [])];
}

/** Items that belong to the weights, row by row, as the parameters stand. */
function ordered<T>(items: readonly T[], places: readonly number[] | undefined): readonly T[] {
  if (places === undefined) return items;
  const moved = [...items];
  for (const [weight, place] of places.entries()) moved[place] = items[weight]!;
  return moved;
}

const orderInSubspace = () =>
  new UserError({
    field: 'policy.order',
    message:
      'says how weights stand among the parameters, but with policy.projection no parameter is a weight',
    remedy: 'leave one of the two out',
  });

const coordinateNames = (rank: number) =>
  Array.from({ length: rank }, (_, j) => `coordinate ${j} of the weights`);
