import { basename } from 'node:path';
import { z } from 'zod';
import { settingsKind } from '../../../src/base/settings/schema.js';
import { baselineNames } from '../../../src/config/baselines.js';
import { openConfig } from '../../../src/config/file.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import {
  type ConfigArgs,
  commonSettings,
  count,
  fraction,
  positive,
  readTrainingConfig,
} from '../../train/train-config.js';
import {
  type EnvironmentSetting,
  environmentLongForm,
  environmentSetting,
  withOptions,
} from '../learning/settings.js';

const hidden = z.array(count(1)).default([64, 64]).describe('Widths of the hidden layers');
const activation = z
  .enum(['tanh', 'relu'])
  .default('tanh')
  .describe('Activation function of the hidden layers');

const policySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('mlp').describe('A multilayer perceptron'), hidden, activation }),
  z.strictObject({
    kind: z
      .literal('transformer')
      .describe('A decoder such as GPT-2, with a perceptron on its last hidden state'),
    path: z
      .string()
      .min(1)
      .describe('Directory of the decoder, in Hugging Face format')
      .meta({ format: 'path' }),
    decimals: count(0)
      .max(6)
      .default(2)
      .describe('Digits after the decimal point in observations, which the decoder reads as text'),
    hidden,
    activation,
  }),
]);

const ppoSchema = z.strictObject({
  kind: z.literal('ppo').describe('Proximal policy optimisation'),
  clip: positive.default(0.2).describe('Clipping range of probability ratios: 1 ± this value'),
  valueClip: positive
    .optional()
    .describe('Clipping range of value estimates: the previous ones ± this value (default: no clipping)'),
  epochs: count(1).default(10).describe('Passes over a batch'),
  minibatchSteps: count(1).default(64).describe('Environment steps per optimiser step'),
  entropy: z.number().min(0).default(0).describe('Weight of the entropy bonus'),
  valueFactor: positive.default(0.5).describe('Weight of the value loss'),
  maxGradientNorm: positive
    .default(0.5)
    .describe('Maximum gradient norm of each network; larger gradients are scaled down'),
  learningRate: positive.default(3e-4).describe('Initial learning rate of Adam; it falls linearly to 0'),
});

const trpoSchema = z.strictObject({
  kind: z.literal('trpo').describe('Trust region policy optimisation'),
  maxKl: positive.default(0.01).describe('Target KL divergence of a step, in nats'),
  damping: z.number().min(0).default(0.1).describe('Value added to the diagonal of the Fisher matrix'),
  conjugateGradientSteps: count(1)
    .default(10)
    .describe('Conjugate gradient iterations for the step direction'),
  backtracks: count(0).default(10).describe('Maximum number of times that the line search halves the step'),
  valueIterations: count(1).default(25).describe('L-BFGS iterations for fitting the value function'),
  l2: z.number().min(0).default(1e-3).describe('Weight of the L2 penalty on the value function'),
});

const settingsSchema = z.strictObject({
  ...commonSettings,
  environment: environmentSetting,
  policy: policySchema
    .prefault({ kind: 'mlp' })
    .describe('Policy network, which maps observations to actions'),
  algorithm: z
    .discriminatedUnion('kind', [ppoSchema, trpoSchema])
    .describe('Learning algorithm: PPO or TRPO, with its settings'),
  seed: count(0).default(0).describe('Seed for initial weights, starting states and actions'),
  updates: count(1).default(100).describe('Number of updates; each plays a batch and learns from it'),
  maxEpisodes: count(1).optional().describe('Maximum number of training episodes'),
  batchSteps: count(1).default(15_000).describe('Steps per batch; episodes in progress are completed'),
  batchEpisodes: count(1).optional().describe('Maximum number of episodes per batch'),
  environments: count(1).default(5).describe('Episodes to play in parallel'),
  discount: fraction.default(0.995).describe('γ: discount factor per step'),
  lambda: fraction.default(0.97).describe('λ of the generalised advantage estimates'),
  value: z
    .strictObject({ hidden, activation })
    .prefault({})
    .describe('Value function (a separate perceptron)'),
  evaluation: z
    .strictObject({
      every: count(1).default(10).describe('Updates between evaluations'),
      episodes: count(1)
        .default(25)
        .describe('Episodes per evaluation; the policy takes its most probable actions'),
    })
    .prefault({})
    .describe('Evaluations that select the best weights, with seeds that training never uses'),
  baselines: z
    .array(z.enum(baselineNames))
    .default(['random', 'hill-climb', 'cma-es'])
    .describe('Baseline searches over simple policies, with about as many episodes as training'),
  checkpointEvery: count(1).default(5).describe('Updates between checkpoints'),
  threads: count(1).default(1).describe('CPU threads'),
});

type ParsedConfig = z.output<typeof settingsSchema>;
export type NumericConfig = Omit<ParsedConfig, 'environment'> & {
  readonly output: string;
  readonly environment: EnvironmentSetting;
};

export const numericKind = settingsKind<ParsedConfig>({
  schema: settingsSchema,
  example: 'updates=20 or seed=1',
  longForm: environmentLongForm,
});

export function policyText(policy: NumericConfig['policy']): string {
  const widths = policy.hidden.join('-');
  return policy.kind === 'mlp'
    ? `mlp ${widths} ${policy.activation}`
    : `${basename(policy.path)} and mlp ${widths}`;
}

/** True if an rl config trains a numeric policy, not a language model. */
export function isNumericConfig(file: string, cwd: string): boolean {
  const { content } = openConfig('rl', file, { cwd });
  return 'algorithm' in content || ('policy' in content && !('model' in content));
}

/** @throws UserError that lists the problems with their locations, values, alternatives and hints */
export function loadNumericConfig(...source: ConfigArgs): NumericConfig {
  const { config } = readTrainingConfig('rl', numericKind, ...source);
  const { environment, policy } = config;
  return {
    ...config,
    policy:
      policy.kind === 'mlp'
        ? policy
        : { ...policy, path: modelDirectory(policy.path, undefined, 'policy.path') },
    environment: withOptions(environment),
  };
}
