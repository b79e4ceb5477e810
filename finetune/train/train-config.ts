import { join, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { openConfig } from '../../src/config/file.js';
import { loraShape, sampledLora } from '../../src/config/learning/adapt.js';
import {
  deviceSchema,
  ignoreKeysSchema,
  isPackaged,
  modelDirectory,
} from '../../src/models/local/settings.js';
import { quantizations } from '../../src/models/local/weights/quantization.js';
import { jsonSchemaOf, type SettingsKind } from '../../src/settings/schema.js';
import { overlaid, parseSettings, type Settings } from '../../src/settings/settings.js';
import { schedules } from '../engine/optimisers.js';
import { packings } from './packing.js';

const loraSettings = (defaults: Parameters<typeof loraShape>[0]) =>
  z.strictObject({
    kind: z.literal('lora').describe('Train a low-rank adapter'),
    ...loraShape(defaults),
    quantization: z
      .enum(quantizations)
      .exclude(['float32', 'float16'])
      .default('none')
      .describe('Bits of the frozen weights (QLoRA): less memory. Serve with the same `model.quantization`'),
    compute: z
      .enum(['float32', 'int8'])
      .default('float32')
      .describe(
        'What products with frozen weights are computed in, on the processor: int8 takes about half the time of long texts; its rounding changes gradients about as much as QLoRA does',
      ),
  });

const wholeModel = [
  z.strictObject({ kind: z.literal('full').describe('Train all weights') }),
  z.strictObject({ kind: z.literal('scratch').describe('Train all weights, from random ones') }),
] as const;

const trainingMethod = z.discriminatedUnion('kind', [
  loraSettings({ rank: 8, alpha: 16, modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj'] }).extend({
    dropout: z.number().min(0).lt(1).default(0).describe("Share of the adapter's inputs that is set to zero"),
  }),
  ...wholeModel,
]);

/** Methods of reinforcement learning. Without dropout, because the trained policy must equal the one that sampled. */
export const rlMethod = z.discriminatedUnion('kind', [loraSettings(sampledLora), ...wholeModel]);

export type MethodSettings = z.output<typeof trainingMethod> | z.output<typeof rlMethod>;

const count = (minimum: number) => z.int().min(minimum);

const objectiveSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sft').describe('Supervised: the answers themselves') }),
  z.strictObject({
    kind: z.literal('dpo').describe('Direct preference optimisation'),
    beta: z
      .number()
      .positive()
      .default(0.1)
      .describe('How dear it is to leave the model that it starts from'),
  }),
]);

const optimizerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('adamw').describe('AdamW for everything') }),
  z.strictObject({
    kind: z
      .literal('muon')
      .describe('Muon for the matrices of the layers, AdamW for the rest: not with the method lora'),
    momentum: z.number().min(0).lt(1).default(0.95).describe('Momentum of Muon'),
  }),
]);

const settings = z.strictObject({
  $schema: z.string().optional().describe('For editors'),
  model: z
    .string()
    .min(1)
    .describe(
      'Directory or GGUF file of the model to train; `package:models/tiny-improver` is the embedded one',
    )
    .meta({ format: 'path' }),
  dataset: z
    .string()
    .min(1)
    .describe('Directory that `finetune dataset` wrote, in the format jsonl')
    .meta({ format: 'path', examples: ['./datasets/mine'] }),
  output: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Directory of the result (default: named after this file, in the working directory's `tuned`); with a checkpoint in it, training goes on",
    )
    .meta({ format: 'path' }),
  objective: objectiveSchema
    .prefault({ kind: 'sft' })
    .describe(
      'What is learnt: the answers (sft), or to prefer the better of two (dpo), from the recipe preference',
    ),
  method: trainingMethod.prefault({ kind: 'lora' }).describe('What is trained'),
  seed: count(0).default(0).describe('Fixes the order, the first adapter and dropout'),
  epochs: count(1).default(3).describe('Times that every example is read'),
  learningRate: z.number().positive().default(2e-4).describe('Peak learning rate'),
  schedule: z.enum(schedules).default('cosine').describe('How the learning rate falls after the warm-up'),
  warmupSteps: count(0).default(10).describe('Steps in which the learning rate rises'),
  learningRateFloor: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('Share of the learning rate at which linear and cosine end'),
  optimizer: optimizerSchema.prefault({ kind: 'adamw' }).describe('How the weights follow the gradients'),
  weightDecay: z
    .number()
    .min(0)
    .default(0.01)
    .describe('Decoupled weight decay, of AdamW and Muon; norms and biases have none'),
  betas: z
    .tuple([z.number().gt(0).lt(1), z.number().gt(0).lt(1)])
    .default([0.9, 0.999])
    .describe('Decay rates of the two averages of AdamW'),
  maxGradientNorm: z.number().positive().default(1).describe('Longer gradients are cut to this norm'),
  batchExamples: count(1).default(8).describe('Examples an update; of dpo, pairs'),
  batchTokens: count(1)
    .default(2048)
    .describe('Tokens read at once, padding included: lower it when memory is short'),
  packing: z
    .enum(packings)
    .default('rows')
    .describe(
      'Which prompts are read once: none; those that an update has several times; these, and it has more of them; or the answers of one conversation count as one example',
    ),
  observationWeight: z
    .number()
    .min(0)
    .optional()
    .describe(
      'Weight of what is read between the answers of a conversation, for 1 of the answers (default: 0): with packing conversations, a model from scratch learns from it to copy what it has read',
    ),
  evaluateEvery: count(1).default(20).describe('Steps between validations'),
  patience: count(1).optional().describe('Validations without gain after which training ends early'),
  checkpointEvery: count(1).default(50).describe('Steps between checkpoints'),
  template: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Variables of the chat template, as serving has them'),
  ignoreKeys: ignoreKeysSchema,
  device: deviceSchema
    .default('cpu')
    .describe('Where it trains; `auto` takes a GPU where one can be used, else the processor'),
  threads: count(1)
    .optional()
    .describe('Processor threads (default: the physical cores that are free at the start)'),
});

/** Muon equalizes the singular values of an update, which isn't useful for low-rank factors. */
export const trainConfigSchema = settings
  .refine(({ method, optimizer }) => method.kind !== 'lora' || optimizer.kind !== 'muon', {
    path: ['optimizer'],
    message: 'muon trains whole matrices: it needs method full or scratch, and lora has adamw',
  })
  .refine(
    ({ observationWeight, packing }) => observationWeight === undefined || packing === 'conversations',
    {
      path: ['observationWeight'],
      message:
        'what lies between answers is trained where they are one example: it needs packing conversations',
    },
  )
  .refine(({ method, objective }) => method.kind !== 'scratch' || objective.kind !== 'dpo', {
    path: ['objective'],
    message: 'dpo compares with the model that it starts from: it needs method lora or full',
  });

export type TrainConfig = z.output<typeof trainConfigSchema> & { readonly output: string };

export const trainingKind: SettingsKind<z.output<typeof trainConfigSchema>> = {
  schema: trainConfigSchema,
  get json() {
    return jsonSchemaOf(trainConfigSchema);
  },
  example: 'epochs=1 or method.rank=16',
};

/**
 * Paths in the file are relative to it, paths in overrides to `cwd`, and `package:…` paths to the package.
 * @param note called for each field of the file that an override removed
 * @throws UserError that lists every problem with its location, value, alternatives and remedy
 */
export function loadTrainConfig(
  file: string,
  overrides: readonly string[] = [],
  cwd = '',
  note: (text: string) => void = () => undefined,
): TrainConfig {
  const config = readTrainingConfig('training', trainingKind, file, overrides, cwd, note);
  return { ...config, model: modelDirectory(config.model, undefined, 'model') };
}

/** @throws UserError like `loadTrainConfig`, and if the output is inside the package */
export function readTrainingConfig<T extends { readonly output?: string | undefined }>(
  ...given: Parameters<typeof readTrainingSettings<T>>
): T & { readonly output: string } {
  return readTrainingSettings(...given).config;
}

/** Like `readTrainingConfig`, but also returns the settings, which know where each field comes from. */
export function readTrainingSettings<T extends { readonly output?: string | undefined }>(
  section: 'training' | 'rl',
  kind: SettingsKind<T>,
  file: string,
  overrides: readonly string[],
  cwd: string,
  note: (text: string) => void,
): { readonly config: T & { readonly output: string }; readonly read: Settings } {
  const source = openConfig(section, file, { cwd });
  const read = overlaid(kind, source, overrides);
  const parsed = parseSettings(kind, read.content, read.where);
  for (const text of read.notes) note(text);
  const config = read.absolute(parsed, source.folder, cwd);
  if (config.output !== undefined && isPackaged(config.output))
    throw new UserError({
      ...read.where(['output'], 'value'),
      field: 'output',
      value: config.output,
      message: 'nothing is written into the package',
      remedy: 'name a directory of your own, e.g. tuned/mine',
    });
  return { config: { ...config, output: config.output ?? resolve(cwd, join('tuned', source.stem)) }, read };
}
