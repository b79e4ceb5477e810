import { UserError } from '../base/errors.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { createGenerator, type RandomGenerator, shuffled } from '../random/generator.js';
import { firstLargest } from '../statistics/descriptive.js';
import {
  createProjection,
  linearWeights,
  outputNames,
  type ParameterSpec,
  type ParameterVector,
  type Policy,
  type PolicyFamily,
  type VectorShape,
  vectorShape,
  weightParameters,
} from './policy.js';
import type { LinearConfig, LinearOrder } from './settings.js';

/** Shape of the weight matrix: a row per observation dimension, plus one for the bias, if any; a column per output. */
interface LinearShape extends VectorShape {
  readonly bias: boolean;
}

/** For each weight (row by row, biases last), the index of its parameter; undefined if the order is the same. */
function placesOf(
  { observations, outputs, bias }: LinearShape,
  order: LinearOrder | undefined,
): readonly number[] | undefined {
  const rows = observations + (bias ? 1 : 0);
  const weights = Array.from({ length: rows * outputs }, (_, weight) => weight);
  if (order === undefined || order === 'rows') return undefined;
  if (order === 'columns') return weights.map((w) => (w % outputs) * rows + Math.floor(w / outputs));
  if (order === 'bias-first') return bias ? weights.map((w) => (w + outputs) % weights.length) : undefined;
  return shuffled(weights, createGenerator(order.shuffled));
}

/**
 * Linear policies: outputs = s·W + b. Weight W[i][a] is at `i * outputs + a`, where i is an observation dimension;
 * the bias b[a], if any, is at `observations * outputs + a`. A discrete action is the argmax (the first if
 * tied). A continuous action is the output vector itself, not clipped, as in Prompted Policy Search
 * (arXiv:2511.21928). The parameters are the weights in `config.order`, or their coordinates in a random
 * subspace.
 */
export function linearPolicies(config: LinearConfig, environment: EnvironmentSpec): PolicyFamily {
  const { bias } = config;
  const shape: LinearShape = { ...vectorShape(environment, config.kind), bias };
  const weights = (shape.observations + (bias ? 1 : 0)) * shape.outputs;
  const projection = config.projection && createProjection(config.projection, weights);
  const places = placesOf(shape, config.order);
  if (projection !== undefined && places !== undefined) throw orderInSubspace();
  const parameters = weightParameters(config, ordered(weightNames(shape), places), projection?.rank);
  const made = { ...(projection && { projection }), ...(places && { places }) };
  return {
    parameters,
    description: { kind: 'linear', ...shape, ...made },
    build: (vector) => buildLinear(linearWeights(made, vector), shape),
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
  return (observation) => firstLargest(outputsFor(observation as readonly number[], sums)) + firstAction;
}

/** Draws initial parameters. For a range of ±6: Normal(0, 3) with a bias, Uniform(−3, 3) without. */
function initialLinear(spec: ParameterSpec, bias: boolean, random: RandomGenerator): ParameterVector {
  const centre = (spec.low + spec.high) / 2;
  const spread = (spec.high - spec.low) / 4;
  return Array.from({ length: spec.count }, () => {
    const draw = bias ? random.normal(centre, spread) : random.uniform(centre - spread, centre + spread);
    return toGrid(draw, spec);
  });
}

/** The allowed value nearest to `value`: within the range, with at most `decimals` decimals, and never -0. */
export function toGrid(value: number, { low, high, decimals }: Omit<ParameterSpec, 'choices'>): number {
  const scale = 10 ** decimals;
  const first = Math.ceil(low * scale - 1e-6);
  const last = Math.floor(high * scale + 1e-6);
  return Math.min(last, Math.max(first, Math.round(value * scale))) / scale + 0;
}

function weightNames(shape: LinearShape): readonly string[] {
  const { bias, observations } = shape;
  const targets = outputNames(shape);
  const weights = Array.from({ length: observations }, (_, i) =>
    targets.map((target) => `weight of observation[${i}] for ${target}`),
  );
  return [...weights.flat(), ...(bias ? targets.map((target) => `bias of ${target}`) : [])];
}

/** Reorders one item per weight from row-by-row order into parameter order. */
function ordered<T>(items: readonly T[], places: readonly number[] | undefined): readonly T[] {
  if (places === undefined) return items;
  const moved = [...items];
  for (const [weight, place] of places.entries()) moved[place] = items[weight]!;
  return moved;
}

const orderInSubspace = () =>
  new UserError({
    field: 'policy.order',
    message: 'has no effect with policy.projection, because the parameters are then not weights',
    remedy: 'omit policy.order or policy.projection',
  });
