import { basename } from 'node:path';
import { z } from 'zod';
import { openConfig } from '../../../src/config/file.js';
import { environmentSchema } from '../../../src/environments/settings.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { baselineNames } from '../../../src/search/baselines.js';
import { applyOverrides } from '../../../src/settings/overrides.js';
import { jsonSchemaOf, type SettingsKind } from '../../../src/settings/schema.js';
import { readTrainingConfig } from '../../train/train-config.js';

const count = (minimum: number) => z.int().min(minimum);
const share = z.number().min(0).max(1);
const positive = z.number().positive();
const hidden = z.array(count(1)).default([64, 64]).describe('Widths of the hidden layers');
const activation = z.enum(['tanh', 'relu']).default('tanh').describe('Between the layers');

const policySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('mlp').describe('A multilayer perceptron'),
    hidden,
    activation,
  }),
  z.strictObject({
    kind: z.literal('transformer').describe('A decoder such as GPT-2, and a perceptron on its last state'),
    path: z
      .string()
      .min(1)
      .describe('Directory of the decoder, as Hugging Face has it')
      .meta({ format: 'path' }),
    observations: z
      .enum(['text', 'embeddings'])
      .default('text')
      .describe('What the decoder reads: the numbers as text, or a learned vector for each'),
    decimals: count(0).max(6).default(2).describe('Digits after the decimal point, for text'),
    trained: z
      .enum(['all', 'head'])
      .default('all')
      .describe('Whether the decoder is trained, too, or only the perceptron on it'),
    hidden,
    activation,
  }),
]);

const ppoSchema = z.strictObject({
  kind: z.literal('ppo').describe('Proximal policy optimisation'),
  clip: positive.default(0.2).describe('The ratio of probabilities counts up to 1 ± this'),
  valueClip: positive.optional().describe('How far a value may move in an update (default: any way)'),
  epochs: count(1).default(10).describe('Times that a batch is read'),
  minibatchSteps: count(1).default(64).describe('Steps of an update of the weights'),
  entropy: z.number().min(0).default(0).describe('Factor of the entropy'),
  valueFactor: positive.default(0.5).describe('Factor of the value loss'),
  maxGradientNorm: positive.default(0.5).describe("Longer gradients, each network's for itself, are cut"),
  learningRate: positive.default(3e-4).describe('First learning rate of Adam'),
  decay: z.boolean().default(true).describe('Whether the learning rate falls to 0 along a line'),
});

const trpoSchema = z.strictObject({
  kind: z.literal('trpo').describe('Trust region policy optimisation'),
  maxKl: positive.default(0.01).describe('KL divergence of a step, in nats'),
  damping: z.number().min(0).default(0.1).describe('Added to the diagonal of the Fisher matrix'),
  conjugateGradientSteps: count(1).default(10).describe('Steps that solve for the direction'),
  backtracks: count(0).default(10).describe('Times that the line search halves the step'),
  valueIterations: count(1).default(25).describe('Iterations of L-BFGS that fit the value function'),
  l2: z.number().min(0).default(1e-3).describe('Factor of the squared weights of the value function'),
});

const settings = z.strictObject({
  $schema: z.string().optional().describe('For editors'),
  environment: z
    .union([environmentSchema.shape.id, environmentSchema.pick({ id: true, options: true })])
    .describe('What the policy controls: an id, or an id with options'),
  policy: policySchema.prefault({ kind: 'mlp' }).describe('What observations become actions by'),
  algorithm: z.discriminatedUnion('kind', [ppoSchema, trpoSchema]).describe('How it learns'),
  output: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Directory of the result (default: named after this file, in the working directory's `tuned`); with a checkpoint in it, it goes on",
    )
    .meta({ format: 'path' }),
  seed: count(0).default(0).describe('Fixes first weights, starts and actions'),
  updates: count(1).default(100).describe('Batches that are played and learnt from'),
  maxEpisodes: count(1).optional().describe('Training ends before more episodes than these are played'),
  batchSteps: count(1)
    .default(15_000)
    .describe('Steps of a batch: no episode begins once they are taken, and each is played to its end'),
  batchEpisodes: count(1).optional().describe('Most episodes of a batch'),
  environments: count(1).default(5).describe('Episodes that are played side by side'),
  discount: share.default(0.995).describe('γ: what a reward is worth a step earlier'),
  lambda: share.default(0.97).describe('λ of the generalised advantage estimates'),
  normalizeObservations: z
    .boolean()
    .default(true)
    .describe('Whether observations are brought to mean 0 and deviation 1 and clipped at ±5'),
  logDeviation: z
    .number()
    .default(0)
    .describe('Logarithm of the first standard deviations of continuous actions'),
  value: z
    .strictObject({ hidden, activation })
    .prefault({})
    .describe('The value function, a perceptron of its own'),
  evaluation: z
    .strictObject({
      every: count(1).default(10).describe('Updates between evaluations'),
      episodes: count(1)
        .default(25)
        .describe('Episodes of an evaluation with the most probable actions, on starts never trained on'),
    })
    .prefault({})
    .describe('The return that the best weights are chosen by'),
  baselines: z
    .array(z.enum(baselineNames))
    .default(['random', 'hill-climb', 'cma-es'])
    .describe('Searches over simple policies that are given the same number of episodes'),
  checkpointEvery: count(1).default(5).describe('Updates between checkpoints'),
  threads: count(1).default(1).describe('Processor threads'),
});

type Written = z.output<typeof settings>;
export type NumericConfig = Omit<Written, 'environment'> & {
  readonly output: string;
  readonly environment: { readonly id: string; readonly options: Readonly<Record<string, unknown>> };
};

export const numericKind: SettingsKind<Written> = {
  schema: settings,
  get json() {
    return jsonSchemaOf(settings);
  },
  example: 'updates=20 or seed=1',
  longForm: (path, value) => (path.length === 1 && path[0] === 'environment' ? { id: value } : undefined),
};

export function policyText(policy: NumericConfig['policy']): string {
  const widths = policy.hidden.join('-');
  return policy.kind === 'mlp'
    ? `mlp ${widths} ${policy.activation}`
    : `${basename(policy.path)} and mlp ${widths}`;
}

/** Accepts any keys, so a config can be read before its kind is known. */
const anyKind = { json: {}, example: numericKind.example };

/** True if an rl config with these overrides trains a numeric policy, not a language model. */
export function isNumericConfig(file: string, overrides: readonly string[], cwd: string): boolean {
  const { content } = applyOverrides(openConfig('rl', file, { cwd }).content, overrides, anyKind);
  const has = (key: string) => Object.hasOwn(content, key);
  return has('algorithm') || (has('policy') && !has('model'));
}

/** @throws UserError that lists every problem with its location, value, alternatives and remedy */
export function loadNumericConfig(
  file: string,
  overrides: readonly string[] = [],
  cwd = '',
  note: (text: string) => void = () => undefined,
): NumericConfig {
  const config = readTrainingConfig('rl', numericKind, file, overrides, cwd, note);
  const { environment, policy } = config;
  return {
    ...config,
    policy:
      policy.kind === 'mlp'
        ? policy
        : { ...policy, path: modelDirectory(policy.path, undefined, 'policy.path') },
    environment: typeof environment === 'string' ? { id: environment, options: {} } : environment,
  };
}
