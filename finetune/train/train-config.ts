import { join, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { type SettingsKind, settingsKind } from '../../src/base/settings/schema.js';
import { parseSettings, type Settings, toSettings } from '../../src/base/settings/settings.js';
import { openConfig } from '../../src/config/file.js';
import { type AdaptableModule, adaptableModules } from '../../src/models/local/graph/adapter.js';
import {
  deviceSchema,
  ignoreKeysSchema,
  isPackaged,
  modelDirectory,
} from '../../src/models/local/settings.js';
import { quantizations } from '../../src/models/local/weights/quantization.js';
import { sampleCount } from '../../src/runs/training/samples.js';
import { scheduleKinds } from '../engine/optimisers.js';
import { packings } from './packing.js';

export const count = (minimum: number) => z.int().min(minimum);
export const positive = z.number().positive();
export const fraction = z.number().min(0).max(1);
const decayRate = z.number().gt(0).lt(1);

/** Settings of every kind of training. */
export const commonSettings = {
  $schema: z.string().optional().describe('Schema for editors'),
  output: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Result directory (default: `tuned/<name of this file>`); training resumes from a checkpoint there',
    )
    .meta({ format: 'path' }),
};

/** Default values that differ between supervised and reinforcement learning. */
interface Defaults {
  readonly learningRate: number;
  readonly schedule: (typeof scheduleKinds)[number];
  readonly warmupSteps: number;
  readonly weightDecay: number;
  readonly checkpointEvery: number;
}

/** Settings for training language models. */
export const languageModelSettings = (defaults: Defaults) => ({
  ...commonSettings,
  learningRate: positive.default(defaults.learningRate).describe('Peak learning rate'),
  schedule: z
    .enum(scheduleKinds)
    .default(defaults.schedule)
    .describe('Schedule of the learning rate after the warm-up'),
  warmupSteps: count(0)
    .default(defaults.warmupSteps)
    .describe('Steps over which the learning rate rises to its peak'),
  weightDecay: z
    .number()
    .min(0)
    .default(defaults.weightDecay)
    .describe("Decoupled weight decay of matrices; norms and biases don't decay"),
  betas: z
    .tuple([decayRate, decayRate])
    .default([0.9, 0.999])
    .describe("Decay rates of AdamW's two averages"),
  maxGradientNorm: positive.default(1).describe('Maximum gradient norm; larger gradients are scaled down'),
  batchTokens: count(1)
    .default(2048)
    .describe('Maximum tokens read at once, unless one example is longer; lower this to save memory'),
  checkpointEvery: count(1)
    .default(defaults.checkpointEvery)
    .describe('Steps (in reinforcement learning, updates) between checkpoints'),
  template: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Chat template variables; use the same ones when serving'),
  ignoreKeys: ignoreKeysSchema,
  device: deviceSchema.default('cpu').describe('Device; `auto`: a GPU if one works (on Linux, only CUDA)'),
  threads: count(1)
    .optional()
    .describe(
      'CPU threads (default: one per physical core that is free at the start; a resumed run keeps this number)',
    ),
});

export const trainingLimits = z.strictObject({
  minutes: positive.optional().describe('Minutes, over all sessions, after which training ends'),
});
export const limitsText = 'Limits that end training early; the result is still written';

const loraSettings = (rank: number, alpha: number, modules: AdaptableModule[]) =>
  z.strictObject({
    kind: z.literal('lora').describe('Training of a low-rank adapter'),
    rank: count(1).default(rank).describe('LoRA rank'),
    alpha: z.number().positive().default(alpha).describe('Strength: the adapter is scaled by alpha / rank'),
    rsLora: z.boolean().default(false).describe('True to scale by alpha / √rank instead'),
    modules: z
      .array(z.enum(adaptableModules))
      .min(1)
      .default(modules)
      .describe('Projections that get an adapter'),
    adapter: z
      .string()
      .min(1)
      .optional()
      .describe('Adapter to continue, with the same rank, alpha and modules (default: a new one)')
      .meta({ format: 'path' }),
    quantization: z
      .enum(quantizations)
      .exclude(['float32'])
      .default('none')
      .describe(
        'Quantization of the frozen weights (QLoRA), to save memory; serve with the same `model.quantization`',
      ),
    compute: z
      .enum(['float32', 'int8'])
      .default('float32')
      .describe(
        'Precision of products with frozen weights; int8 (CPU only) is faster for long texts, but adds rounding errors',
      ),
  });

const wholeModelMethods = [
  z.strictObject({ kind: z.literal('full').describe('Training of all weights') }),
  z.strictObject({ kind: z.literal('scratch').describe('Training of all weights from random values') }),
] as const;

const trainingMethod = z.discriminatedUnion('kind', [
  loraSettings(8, 16, ['q_proj', 'k_proj', 'v_proj', 'o_proj']).extend({
    dropout: z
      .number()
      .min(0)
      .lt(1)
      .default(0)
      .describe("Fraction of the adapter's inputs set to zero during training"),
  }),
  ...wholeModelMethods,
]);

/** Methods for reinforcement learning. They have no dropout, because the trained policy must equal the sampler's. */
export const rlMethod = z.discriminatedUnion('kind', [
  loraSettings(16, 32, ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']),
  ...wholeModelMethods,
]);

export type MethodSettings = z.output<typeof trainingMethod> | z.output<typeof rlMethod>;

const objectiveSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sft').describe('Supervised fine-tuning on the replies') }),
  z.strictObject({
    kind: z.literal('dpo').describe('Direct preference optimisation'),
    beta: positive.default(0.1).describe('Strength of the penalty for deviating from the initial model'),
  }),
]);

const optimizerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('adamw').describe('AdamW for all weights') }),
  z.strictObject({
    kind: z
      .literal('muon')
      .describe("Muon for the layers' matrices, AdamW for the rest; not with method lora"),
    momentum: z.number().min(0).lt(1).default(0.95).describe('Momentum of Muon'),
  }),
]);

const settingsSchema = z.strictObject({
  ...languageModelSettings({
    learningRate: 2e-4,
    schedule: 'cosine',
    warmupSteps: 10,
    weightDecay: 0.01,
    checkpointEvery: 50,
  }),
  model: z
    .string()
    .min(1)
    .describe(
      'Model directory, or GGUF file with method lora; `package:models/tiny-improver` is the embedded model',
    )
    .meta({ format: 'path' }),
  dataset: z
    .string()
    .min(1)
    .describe('Directory written by `finetune dataset` in jsonl format')
    .meta({ format: 'path', examples: ['./datasets/mine'] }),
  objective: objectiveSchema
    .prefault({ kind: 'sft' })
    .describe(
      'Aim of training: to learn the replies (sft), or to prefer the better reply of a pair (dpo; requires a dataset made with `--recipe preference`)',
    ),
  method: trainingMethod.prefault({ kind: 'lora' }).describe('Weights to train'),
  seed: count(0).default(0).describe('Seed for the order of examples, initial values and dropout'),
  epochs: count(1).default(3).describe('Passes over the examples'),
  maxSteps: count(1).optional().describe('Maximum number of steps (default: those of all epochs)'),
  limits: trainingLimits.prefault({}).describe(limitsText),
  learningRateFloor: fraction
    .default(0)
    .describe('Final learning rate of the linear and cosine schedules, as a fraction of the peak'),
  optimizer: optimizerSchema.prefault({ kind: 'adamw' }).describe('Algorithm that updates the weights'),
  batchExamples: count(1).default(8).describe('Examples (for dpo, pairs) per step'),
  packing: z
    .enum(packings)
    .default('rows')
    .describe(
      'Sharing of prompts (sft only). `none`: each example is read separately; `rows`: a prompt that examples of a step share is read once; `prompts`: examples with the same prompt also go into the same step where possible; `conversations`: like `rows`, after joining examples that continue one another',
    ),
  observationWeight: z
    .number()
    .min(0)
    .optional()
    .describe('Relative weight of the text between replies (default: 0); requires packing=conversations'),
  evaluateEvery: count(1).default(20).describe('Steps between validations'),
  samples: count(0)
    .default(sampleCount)
    .describe(
      'Number of held-out prompts whose replies are generated at validations (in long runs, only at some) and shown on the page of the training run; 0 saves time and memory',
    ),
  patience: count(1)
    .optional()
    .describe('Validations without improvement before training stops early (default: never)'),
});

/** Muon equalizes the singular values of an update, which makes no sense for low-rank factors. */
export const trainConfigSchema = settingsSchema
  .refine(({ method, optimizer }) => method.kind !== 'lora' || optimizer.kind !== 'muon', {
    path: ['optimizer'],
    message: 'muon trains whole matrices, so it requires method full or scratch',
  })
  .refine(({ observationWeight: weight, packing }) => weight === undefined || packing === 'conversations', {
    path: ['observationWeight'],
    message: "requires packing=conversations, because other examples don't contain the text between replies",
  })
  .refine(({ method, objective }) => method.kind !== 'scratch' || objective.kind !== 'dpo', {
    path: ['objective'],
    message: 'dpo needs the initial model as a reference, so it requires method lora or full',
  })
  .refine(({ objective, packing }) => objective.kind !== 'dpo' || packing !== 'conversations', {
    path: ['packing'],
    message: 'conversations joins examples, which dpo compares in pairs; use another packing',
  });

export type TrainConfig = z.output<typeof trainConfigSchema> & { readonly output: string };

export const trainingKind = settingsKind<z.output<typeof trainConfigSchema>>({
  schema: trainConfigSchema,
  example: 'epochs=1 or method.rank=16',
});

/** Settings that may change when training resumes. The model's and dataset's contents are compared, not their paths. */
const changeableKeys = new Set(
  '$schema batchTokens checkpointEvery dataset device ignoreKeys limits model output result samples threads'.split(
    ' ',
  ),
);

/** The settings that determine what is learned. */
export const fixedSettings = (config: object): object =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !changeableKeys.has(key)));

/** Config file, overrides such as `epochs=1`, working directory, and a function that prints notes on removed fields. */
export type ConfigArgs = readonly [
  file: string,
  overrides?: readonly string[],
  cwd?: string,
  note?: (text: string) => void,
];

/** @throws UserError that lists the problems with their locations, values, alternatives and hints */
export function loadTrainConfig(...source: ConfigArgs): TrainConfig {
  const { config } = readTrainingConfig('training', trainingKind, ...source);
  return { ...config, model: modelDirectory(config.model, undefined, 'model') };
}

/**
 * Reads the config of any kind of training. Paths in the file are relative to it, paths in overrides to `cwd`, and
 * `package:…` paths to the package.
 * @returns the config, and the settings with the origin of each field
 * @throws UserError like `loadTrainConfig`, and if the output is inside the package
 */
export function readTrainingConfig<T extends { readonly output?: string | undefined }>(
  section: 'training' | 'rl',
  kind: SettingsKind<T>,
  ...[file, overrides = [], cwd = '', note]: ConfigArgs
): { readonly config: T & { readonly output: string }; readonly input: Settings } {
  const source = openConfig(section, file, { cwd });
  const input = toSettings(kind, source, overrides);
  const parsed = parseSettings(kind, input.content, input.where);
  for (const text of input.notes) note?.(text);
  const config = input.absolute(parsed, source.folder, cwd);
  if (config.output !== undefined && isPackaged(config.output))
    throw new UserError({
      ...input.where(['output'], 'value'),
      field: 'output',
      value: config.output,
      message: 'must not be inside the package',
      hint: 'choose another directory, e.g. tuned/mine',
    });
  return { config: { ...config, output: config.output ?? resolve(cwd, join('tuned', source.stem)) }, input };
}
