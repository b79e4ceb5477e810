import type { EnvironmentSpec, Space } from '../environments/environment.js';
import { UserError } from '../errors.js';
import type { RandomGenerator } from '../random/generator.js';
import {
  createProjection,
  type ParameterSpec,
  type ParameterVector,
  type Policy,
  type PolicyFamily,
  project,
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
  const observations = vectorLength(observationSpace, environment.id);
  const { outputs, discrete, firstAction } = outputsOf(actionSpace, environment.id);
  const { bias, low, high, decimals } = config;
  const shape: Shape = { observations, outputs, bias, discrete, firstAction };
  const weights = (observations + (bias ? 1 : 0)) * outputs;
  const projection =
    config.projection === undefined ? undefined : createProjection(config.projection, weights);
  const parameters: ParameterSpec = {
    count: projection?.rank ?? weights,
    kind: decimals === 0 ? 'integer' : 'float',
    low,
    high,
    decimals,
    names: projection === undefined ? weightNames(shape) : coordinateNames(projection.rank),
  };
  return {
    parameters,
    description: { kind: 'linear', ...shape, ...(projection && { projection }) },
    build: (vector) => buildLinear(projection === undefined ? vector : project(projection, vector), shape),
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
  const { observations, outputs, discrete, firstAction } = shape;
  const weights = Float64Array.from(values);
  const biasStart = shape.bias ? observations * outputs : -1;
  const output = (observation: readonly number[], a: number): number => {
    let sum = biasStart < 0 ? 0 : weights[biasStart + a]!;
    for (let i = 0; i < observations; i++) sum += observation[i]! * weights[i * outputs + a]!;
    return sum;
  };
  if (discrete) {
    return (observation) => {
      const state = observation as readonly number[];
      let best = 0;
      let bestOutput = output(state, 0);
      for (let a = 1; a < outputs; a++) {
        const value = output(state, a);
        if (value > bestOutput) {
          best = a;
          bestOutput = value;
        }
      }
      return best + firstAction;
    };
  }
  return (observation) => {
    const action: number[] = [];
    for (let a = 0; a < outputs; a++) action.push(output(observation as readonly number[], a));
    return action;
  };
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

function vectorLength(space: Space, id: string): number {
  switch (space.kind) {
    case 'box':
      return space.low.length;
    case 'tuple':
      return space.spaces.length;
    case 'discrete':
      throw new UserError({
        field: 'policy.kind',
        message: `a linear policy needs a vector as observation, but ${id} observes one of ${space.n} states`,
        value: 'linear',
        alternatives: ['q-table'],
        remedy: 'set policy.kind to q-table, or leave policy out',
      });
  }
}

function outputsOf(space: Space, id: string): { outputs: number; discrete: boolean; firstAction: number } {
  switch (space.kind) {
    case 'discrete':
      return { outputs: space.n, discrete: true, firstAction: space.start ?? 0 };
    case 'box':
      return { outputs: space.low.length, discrete: false, firstAction: 0 };
    case 'tuple':
      throw new UserError({
        field: 'environment',
        message: `no policy can act in ${id}: its action is a tuple`,
      });
  }
}

function weightNames({ observations, outputs, bias, discrete, firstAction }: Shape): readonly string[] {
  const target = (a: number) => (discrete ? `action ${a + firstAction}` : `action[${a}]`);
  const names: string[] = [];
  for (let i = 0; i < observations; i++) {
    for (let a = 0; a < outputs; a++) names.push(`weight of observation[${i}] for ${target(a)}`);
  }
  if (bias) for (let a = 0; a < outputs; a++) names.push(`bias of ${target(a)}`);
  return names;
}

const coordinateNames = (rank: number) =>
  Array.from({ length: rank }, (_, j) => `coordinate ${j} of the weights`);
