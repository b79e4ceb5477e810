/** The learner of a numeric policy: updates the policy, the value function and the normalization. */

import { createGenerator, deriveSeeds } from '../../../src/base/random/generator.js';
import type { EnvironmentSpec } from '../../../src/environments/environment.js';
import type { TrainingState } from '../../engine/checkpoint.js';
import type { Moments } from '../../engine/optimisers.js';
import type { Parameter } from '../../engine/training-session.js';
import type { UpdateFigures } from '../../train/events.js';
import {
  type Actor,
  addRow,
  emptyMoments,
  type NumericEpisode,
  type RunningMoments,
  rowWidth,
} from './algorithms/episodes.js';
import { ppoUpdate } from './algorithms/ppo.js';
import { trpoUpdate } from './algorithms/trpo.js';
import { fitByLbfgs, makeNumericBatch, type NumericBatch } from './algorithms/values.js';
import {
  initialLayers,
  type LayerSizes,
  mlpDefinition,
  type NumericNetwork,
  openNetwork,
} from './network/network.js';
import { createHead, createNumericPolicy, type NumericPolicy } from './network/policy.js';
import { initialTransformer, openDecoder, transformerDefinition } from './network/transformer.js';
import type { NumericConfig } from './numeric-config.js';

/** First spawn keys of the random streams. */
const streams = { policy: 20, value: 21, order: 22 } as const;

/** Names in checkpoints: the policy, the value function, and the moments of the training observations. */
const parameterNames = ['policy', 'value', 'observed.count', 'observed.mean', 'observed.squares'] as const;

const valuesOf = (parameters: readonly Parameter[], name: (typeof parameterNames)[number]) =>
  parameters[parameterNames.indexOf(name)]!.values as Float64Array;

const momentsIn = (parameters: readonly Parameter[]): RunningMoments => ({
  count: valuesOf(parameters, 'observed.count'),
  mean: valuesOf(parameters, 'observed.mean'),
  squares: valuesOf(parameters, 'observed.squares'),
});

export interface Learner {
  initialParameters(): readonly Parameter[];
  actor(parameters: readonly Parameter[]): Actor;
  /** Updates the state in place; `progress` is the fraction of training done. */
  update(state: TrainingState, episodes: readonly NumericEpisode[], progress: number): Promise<UpdateFigures>;
  close(): Promise<void>;
}

/** @throws UserError if the environment's observations or actions aren't supported, or the decoder can't be read */
export function openLearner(config: NumericConfig, environment: EnvironmentSpec): Learner {
  const inputs = rowWidth(environment);
  const head = createHead(environment);
  const { network, initialValues } = openPolicyNetwork(config, inputs, head.outputs);
  const policy = createNumericPolicy(network, head);
  const valueLayers: LayerSizes = { inputs, ...config.value, outputs: 1 };
  const value = openNetwork(mlpDefinition(valueLayers), config.threads);
  return {
    initialParameters() {
      const theta = Float64Array.from([...initialValues(), ...head.initial]);
      const valueTheta = initialLayers(valueLayers, createGenerator(config.seed, [streams.value]));
      const { count, mean, squares } = emptyMoments(inputs);
      return [theta, valueTheta, count, mean, squares].map((values, i) => ({
        name: parameterNames[i]!,
        shape: [values.length],
        values,
      }));
    },
    actor: (parameters) => ({
      policy,
      theta: valuesOf(parameters, 'policy'),
      moments: momentsIn(parameters),
    }),
    async update(state, episodes, progress) {
      const theta = valuesOf(state.parameters, 'value');
      const batch = await makeNumericBatch(episodes, { network: value, theta }, config);
      const figures = await runUpdate(config, { policy, value }, state, batch, progress);
      const moments = momentsIn(state.parameters);
      for (const { rawObservations } of episodes) for (const row of rawObservations) addRow(moments, row);
      state.step++;
      return figures;
    },
    async close() {
      await policy.close();
      await value.close();
    },
  };
}

async function runUpdate(
  { algorithm, seed }: NumericConfig,
  networks: { readonly policy: NumericPolicy; readonly value: NumericNetwork },
  state: TrainingState,
  batch: NumericBatch,
  progress: number,
): Promise<UpdateFigures> {
  const theta = valuesOf(state.parameters, 'policy');
  const valueTheta = valuesOf(state.parameters, 'value');
  if (algorithm.kind === 'ppo') {
    const learningRate = algorithm.learningRate * (1 - progress);
    const [order] = deriveSeeds(seed, [streams.order, state.step], 1);
    const [moments, valueMoments] = state.moments as [Moments, Moments];
    const ppoState = { theta, valueTheta, moments, valueMoments, adamSteps: state.optimizerSteps };
    const figures = await ppoUpdate(networks, ppoState, batch, algorithm, learningRate, order!);
    state.optimizerSteps = ppoState.adamSteps;
    return figures;
  }
  const update = await trpoUpdate(networks.policy, theta, batch, algorithm);
  const { l2, valueIterations: iterations } = algorithm;
  const fit = await fitByLbfgs(networks.value, valueTheta, batch, { iterations, l2 });
  theta.set(update.theta);
  valueTheta.set(fit.theta);
  const { kl, entropy, gradientNorm, backtracks } = update;
  return { kl, entropy, valueLoss: fit.loss, gradientNorm, backtracks: backtracks ?? null };
}

interface PolicyNetwork {
  readonly network: NumericNetwork;
  initialValues(): Float64Array;
}

function openPolicyNetwork(config: NumericConfig, inputs: number, outputs: number): PolicyNetwork {
  const { policy, seed, threads } = config;
  const { hidden, activation } = policy;
  const random = () => createGenerator(seed, [streams.policy]);
  if (policy.kind === 'mlp') {
    const layers = { inputs, hidden, activation, outputs };
    return {
      network: openNetwork(mlpDefinition(layers), threads),
      initialValues: () => initialLayers(layers, random()),
    };
  }
  const decoder = openDecoder(policy.path, policy.decimals);
  const layers = { inputs: decoder.config.hidden, hidden, activation, outputs };
  return {
    network: openNetwork(transformerDefinition(decoder, layers, 'float32'), threads),
    initialValues: () => initialTransformer(decoder, layers, random()),
  };
}
