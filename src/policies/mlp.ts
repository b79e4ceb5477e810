import { UserError } from '../base/errors.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { argmax } from '../statistics/descriptive.js';
import { uniformVector } from './linear.js';
import {
  createProjection,
  outputNames,
  type ParameterVector,
  type Policy,
  type PolicyDescription,
  type PolicyFamily,
  type PolicyShape,
  policyShapeOf,
  weightParameters,
  weightsFrom,
} from './policy.js';
import type { MlpConfig } from './settings.js';

/** Maximum number of parameters, because prompts list all of them. */
const maxParameters = 5000;
/** Maximum number of weights with a projection, which stores one row per weight. */
const maxWeights = 20_000;

/** A layer of a network: `units = f(inputs · W + b)`. f is the activation, or the identity in the last layer. */
export interface Layer {
  readonly inputs: number;
  readonly units: number;
  /** Index of W[0][0] among all weights; W[i][j] is at `weightOffset + i * units + j`. */
  readonly weightOffset: number;
  /** Index of b[0] among all weights. */
  readonly biasOffset: number;
}

type Network = Extract<PolicyDescription, { kind: 'mlp' }>;

/**
 * Creates multilayer perceptrons: each hidden layer computes f(inputs · W + b); the last layer omits f. A discrete
 * action is the argmax (the first if tied). A continuous action is the output vector itself, not clipped, as
 * for linear policies. Parameters are ordered by layer: the weights row by row (one row per input), then the
 * biases. With a projection, the parameters are coordinates in a random subspace instead.
 * @throws UserError if the spaces don't fit, there are too many weights, or more parameters than weights
 */
export function mlpPolicies(config: MlpConfig, environment: EnvironmentSpec): PolicyFamily {
  const { activation, hidden } = config;
  const shape = policyShapeOf(environment, config.kind);
  const layers = layersOf({ ...shape, hidden });
  const weightCount = countWeights(layers);
  checkSize(config, weightCount);
  const projection = config.projection && createProjection(config.projection, weightCount);
  const parameters = weightParameters(config, weightNames(layers, shape), projection?.rank);
  const network: Network = { kind: 'mlp', ...shape, hidden, activation, ...(projection && { projection }) };
  return {
    parameters,
    description: network,
    build: (vector) => buildNetwork(weightsFrom(network, vector), layers, network),
    // As in LLM-RL-finetune, initial weights are uniform over the range.
    initial: (random) => uniformVector(parameters, random),
  };
}

/** Returns the layers of a network, from the observation to the outputs. */
export function layersOf(sizes: Pick<Network, 'observations' | 'hidden' | 'outputs'>): readonly Layer[] {
  const widths = [sizes.observations, ...sizes.hidden, sizes.outputs];
  let offset = 0;
  return widths.slice(1).map((units, i) => {
    const inputs = widths[i]!;
    const layer = { inputs, units, weightOffset: offset, biasOffset: offset + inputs * units };
    offset = layer.biasOffset + units;
    return layer;
  });
}

const countWeights = (layers: readonly Layer[]): number =>
  layers.reduce((sum, { inputs, units }) => sum + (inputs + 1) * units, 0);

function checkSize({ hidden, projection }: MlpConfig, weightCount: number): void {
  const maxSize = projection === undefined ? maxParameters : maxWeights;
  if (weightCount <= maxSize) return;
  const advice =
    projection === undefined && weightCount <= maxWeights
      ? 'use fewer hidden units, set policy.projection to {rank: 10} to propose only 10 parameters'
      : 'use fewer hidden units';
  throw new UserError({
    field: 'policy.hidden',
    message: `this network would have ${weightCount} weights and biases; the maximum is ${maxSize}${projection === undefined ? '' : ' with policy.projection'}`,
    value: hidden,
    hint: `${advice}, or train a larger network by reinforcement learning with \`policyloop finetune rl\``,
  });
}

/** Slope of `leaky-relu` for negative inputs, as in LLM-RL-finetune. */
const negativeSlope = 0.2;

const activations: Readonly<Record<Network['activation'], (x: number) => number>> = {
  tanh: Math.tanh,
  relu: (x) => (x > 0 ? x : 0),
  'leaky-relu': (x) => (x > 0 ? x : negativeSlope * x),
};

function buildNetwork(
  values: ParameterVector,
  layers: readonly Layer[],
  { activation, discrete, firstAction }: Network,
): Policy {
  const weights = Float64Array.from(values);
  const activate = activations[activation];
  const lastIndex = layers.length - 1;
  // Reused at every step, because allocating arrays would be slow.
  const unitValues = layers.map((layer) => new Array<number>(layer.units).fill(0));
  const forward = (observation: readonly number[]): readonly number[] => {
    let inputs = observation;
    for (const [l, layer] of layers.entries()) {
      const outputs = unitValues[l]!;
      for (let j = 0; j < layer.units; j++) {
        let sum = weights[layer.biasOffset + j]!;
        for (let i = 0; i < layer.inputs; i++)
          sum += inputs[i]! * weights[layer.weightOffset + i * layer.units + j]!;
        outputs[j] = l === lastIndex ? sum : activate(sum);
      }
      inputs = outputs;
    }
    return inputs;
  };
  if (!discrete) return (observation) => [...forward(observation as readonly number[])];
  return (observation) => argmax(forward(observation as readonly number[])) + firstAction;
}

/** Examples: `layer 1: weight of observation[0] for unit 3`, `layer 2: bias of action 1`. */
function weightNames(layers: readonly Layer[], shape: PolicyShape): readonly string[] {
  const targets = outputNames(shape);
  return layers.flatMap(({ inputs, units }, l) => {
    const unitNames = l < layers.length - 1 ? Array.from({ length: units }, (_, j) => `unit ${j}`) : targets;
    const inputNames = Array.from({ length: inputs }, (_, i) => (l > 0 ? `unit ${i}` : `observation[${i}]`));
    const weights = inputNames.flatMap((input) => unitNames.map((unit) => `weight of ${input} for ${unit}`));
    const names = [...weights, ...unitNames.map((unit) => `bias of ${unit}`)];
    return names.map((name) => `layer ${l + 1}: ${name}`);
  });
}
