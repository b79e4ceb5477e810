import type { RandomGenerator } from '../base/random/generator.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { argmax } from '../statistics/descriptive.js';
import {
  createProjection,
  outputNames,
  type ParameterSpec,
  type ParameterVector,
  type Policy,
  type PolicyFamily,
  type PolicyShape,
  policyShapeOf,
  weightParameters,
  weightsFrom,
} from './policy.js';
import type { LinearConfig } from './settings.js';

/** Shape of the weight matrix: a row per observation dimension, plus one for the bias, if any; a column per output. */
interface LinearShape extends PolicyShape {
  readonly bias: boolean;
}

/**
 * Creates linear policies: outputs = observation · W + b. W[i][a], for dimension i of the observation, is at index
 * `i * outputs + a`; the bias b[a], if any, is at `observations * outputs + a`. A discrete action is the argmax (the
 * first if tied). A continuous action is the output vector itself, not clipped, as in Prompted Policy Search
 * (arXiv:2511.21928). The parameters are the weights, row by row, or their coordinates in a random subspace.
 */
export function linearPolicies(config: LinearConfig, environment: EnvironmentSpec): PolicyFamily {
  const { bias } = config;
  const shape: LinearShape = { ...policyShapeOf(environment, config.kind), bias };
  const weightCount = (shape.observations + (bias ? 1 : 0)) * shape.outputs;
  const projection = config.projection && createProjection(config.projection, weightCount);
  const parameters = weightParameters(config, weightNames(shape), projection?.rank);
  return {
    parameters,
    description: { kind: 'linear', ...shape, ...(projection && { projection }) },
    build: (vector) => buildLinear(weightsFrom({ projection }, vector), shape),
    initial: (random) => initialLinear(parameters, bias, random),
  };
}

function buildLinear(values: ParameterVector, shape: LinearShape): Policy {
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
  const sums: number[] = []; // reused, because allocating it at every step would take a third of the time
  return (observation) => argmax(outputsFor(observation as readonly number[], sums)) + firstAction;
}

/** Draws initial parameters. For a range of ±6: Normal(0, 3) with a bias, Uniform(−3, 3) without one. */
function initialLinear(spec: ParameterSpec, bias: boolean, random: RandomGenerator): ParameterVector {
  const center = (spec.low + spec.high) / 2;
  const spread = (spec.high - spec.low) / 4;
  return Array.from({ length: spec.count }, () => {
    const draw = bias ? random.normal(center, spread) : random.uniform(center - spread, center + spread);
    return snapToGrid(draw, spec);
  });
}

/** Draws each parameter uniformly from its range or choices. */
export const uniformVector = (spec: ParameterSpec, random: RandomGenerator): ParameterVector =>
  Array.from({ length: spec.count }, () =>
    spec.choices === undefined
      ? snapToGrid(random.uniform(spec.low, spec.high), spec)
      : random.choice(spec.choices),
  );

/** Returns the allowed value nearest to `value`: within the range, with at most `decimals` decimals, and never -0. */
function snapToGrid(value: number, { low, high, decimals }: Omit<ParameterSpec, 'choices'>): number {
  const scale = 10 ** decimals;
  const minScaled = Math.ceil(low * scale - 1e-6);
  const maxScaled = Math.floor(high * scale + 1e-6);
  return Math.min(maxScaled, Math.max(minScaled, Math.round(value * scale))) / scale + 0;
}

function weightNames(shape: LinearShape): readonly string[] {
  const { bias, observations } = shape;
  const targets = outputNames(shape);
  const weights = Array.from({ length: observations }, (_, i) =>
    targets.map((target) => `weight of observation[${i}] for ${target}`),
  );
  return [...weights.flat(), ...(bias ? targets.map((target) => `bias of ${target}`) : [])];
}
