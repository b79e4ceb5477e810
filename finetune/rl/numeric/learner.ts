/** The learner of a numeric policy: updates the policy, the value function and the normalization. */
import type { EnvironmentSpec } from '../../../src/environments/environment.js';
import { createGenerator, deriveSeeds } from '../../../src/random/generator.js';
import { zeroMoments } from '../../engine/optimisers.js';
import type { Actor, NumericEpisode } from './algorithms/episodes.js';
import { addRow, emptyMoments, type RunningMoments, rowWidth } from './algorithms/episodes.js';
import { type PpoState, ppoUpdate } from './algorithms/ppo.js';
import { trpoUpdate } from './algorithms/trpo.js';
import { type Batch, fitByLbfgs, makeBatch } from './algorithms/values.js';
import {
  initialLayers,
  type Layers,
  mlpDefinition,
  type NumericNetwork,
  openNetwork,
  type Row,
} from './network/network.js';
import { createHead, createPolicy, type NumericPolicy } from './network/policy.js';
import {
  frozenDefinition,
  initialNumbers,
  initialTransformer,
  openDecoder,
  transformerDefinition,
} from './network/transformer.js';
import type { NumericConfig } from './numeric-config.js';

/** First spawn keys of the random streams. */
const streams = { policy: 20, value: 21, order: 22, numbers: 23 } as const;

export interface LearnerState extends PpoState {
  /** Mean and sum of squared deviations of the training observations. */
  readonly observed: RunningMoments;
  /** Number of completed updates; `episodes` and `steps` count what was played for them. */
  updates: number;
  episodes: number;
  steps: number;
  /** The update after which the policy was last evaluated; 0 before the first evaluation. */
  evaluated: number;
}

export interface UpdateFigures {
  /** KL divergence from the policy before the update, in nats; for PPO, the mean over its last epoch. */
  readonly kl: number;
  readonly entropy: number;
  readonly valueLoss: number;
  /** Norm of the gradient of the policy's loss or surrogate. */
  readonly gradientNorm: number;
  /** Fraction of steps whose ratio PPO clipped. */
  readonly clipShare?: number;
  /** Number of times TRPO halved its step; null if no step was accepted. */
  readonly backtracks?: number | null;
}

export interface Learner {
  initial(): LearnerState;
  actor(state: Pick<LearnerState, 'theta' | 'observed'>): Actor;
  /** Updates the state in place; `progress` is the fraction of training done. */
  update(state: LearnerState, episodes: readonly NumericEpisode[], progress: number): Promise<UpdateFigures>;
  close(): Promise<void>;
}

/** @throws UserError if the environment's observations or actions aren't supported, or the decoder can't be read */
export function openLearner(config: NumericConfig, environment: EnvironmentSpec): Learner {
  const inputs = rowWidth(environment);
  const head = createHead(environment, config.logDeviation);
  const { network, first, encode, close } = openPolicyNetwork(config, inputs, head.outputs);
  const policy = createPolicy(network, head);
  const valueLayers: Layers = { inputs, ...config.value, outputs: 1 };
  const value = openNetwork(mlpDefinition(valueLayers), config.threads);
  return {
    initial() {
      const theta = Float64Array.from([...first(), ...head.initial]);
      const valueTheta = initialLayers(valueLayers, createGenerator(config.seed, [streams.value]));
      return {
        theta,
        valueTheta,
        moments: zeroMoments({ values: theta }),
        valueMoments: zeroMoments({ values: valueTheta }),
        adamSteps: 0,
        observed: emptyMoments(inputs),
        ...{ updates: 0, episodes: 0, steps: 0, evaluated: 0 },
      };
    },
    actor: ({ theta, observed }) => ({
      policy,
      theta,
      moments: config.normalizeObservations ? observed : undefined,
      encode,
    }),
    async update(state, episodes, progress) {
      const discounts = { discount: config.discount, lambda: config.lambda };
      const batch = await makeBatch(
        episodes,
        head.width,
        { network: value, theta: state.valueTheta },
        discounts,
      );
      const figures = await improve(config, { policy, value }, state, batch, progress);
      for (const { raw } of episodes) for (const row of raw) addRow(state.observed, row);
      state.updates++;
      state.episodes += episodes.length;
      state.steps += batch.inputs.length;
      return figures;
    },
    async close() {
      await policy.close();
      await value.close();
      await close();
    },
  };
}

async function improve(
  { algorithm, seed }: NumericConfig,
  networks: { readonly policy: NumericPolicy; readonly value: NumericNetwork },
  state: LearnerState,
  batch: Batch,
  progress: number,
): Promise<UpdateFigures> {
  if (algorithm.kind === 'ppo') {
    const rate = algorithm.learningRate * (algorithm.decay ? 1 - progress : 1);
    const [order] = deriveSeeds(seed, [streams.order, state.updates], 1);
    const update = await ppoUpdate(networks, state, batch, algorithm, rate, order!);
    const { kl, entropy, valueLoss, gradientNorm, clipShare } = update;
    return { kl, entropy, valueLoss, gradientNorm, clipShare };
  }
  const update = await trpoUpdate(networks.policy, state.theta, batch, algorithm);
  const fit = await fitByLbfgs(networks.value, state.valueTheta, batch, {
    iterations: algorithm.valueIterations,
    l2: algorithm.l2,
  });
  state.theta.set(update.theta);
  state.valueTheta.set(fit.theta);
  const { kl, entropy, gradientNorm, backtracks } = update;
  return { kl, entropy, valueLoss: fit.loss, gradientNorm, backtracks: backtracks ?? null };
}

interface PolicyNetwork {
  readonly network: NumericNetwork;
  first(): Float64Array;
  /** Computes the network's inputs from observations; set if a frozen decoder reads them first. */
  readonly encode?: (rows: readonly Row[]) => Promise<readonly Row[]>;
  close(): Promise<void>;
}

function openPolicyNetwork(config: NumericConfig, inputs: number, outputs: number): PolicyNetwork {
  const { policy, seed, threads } = config;
  const random = () => createGenerator(seed, [streams.policy]);
  const { hidden, activation } = policy;
  const layersOn = (width: number): Layers => ({ inputs: width, hidden, activation, outputs });
  const perceptron = (width: number) => ({
    network: openNetwork(mlpDefinition(layersOn(width)), threads),
    first: () => initialLayers(layersOn(width), random()),
  });
  if (policy.kind === 'mlp') return { ...perceptron(inputs), close: async () => undefined };
  const { observations: kind, decimals } = policy;
  const decoder = openDecoder(policy.path, kind === 'text' ? { kind, decimals } : { kind }, inputs);
  const width = decoder.config.hidden;
  if (policy.trained === 'all') {
    const layers = layersOn(width);
    return {
      network: openNetwork(transformerDefinition(decoder, layers, 'float32'), threads),
      first: () => initialTransformer(decoder, layers, random()),
      close: async () => undefined,
    };
  }
  const features = openNetwork(frozenDefinition(decoder, 'float32'), threads);
  const numbers = initialNumbers(decoder, createGenerator(seed, [streams.numbers]));
  return {
    ...perceptron(width),
    async encode(rows) {
      const all = await features.forward(numbers, rows);
      return rows.map((_, i) => all.slice(i * width, (i + 1) * width));
    },
    close: () => features.close(),
  };
}
