/** The only definition of a training's config. */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/errors.js';
import { adaptableModules } from '../../src/models/local/graph/adapter.js';
import { isPackaged, modelDirectory, quantizations } from '../../src/models/local/settings.js';
import { readSettings, schemaProblems } from '../../src/settings/file.js';
import { oneScreen } from '../../src/settings/issues.js';
import { schedules } from '../engine/optimisers.js';
import { packings } from './packing.js';

const count = (minimum: number) => z.int().min(minimum);

const methodSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('lora').describe('Train a low-rank adapter'),
    rank: count(1).default(8).describe('LoRA rank'),
    alpha: z.number().positive().default(16).describe('The adapter is scaled by alpha / rank'),
    rsLora: z.boolean().default(false).describe('Scale by alpha / √rank instead'),
    dropout: z.number().min(0).lt(1).default(0).describe("Share of the adapter's inputs that is set to zero"),
    modules: z
      .array(z.enum(adaptableModules))
      .min(1)
      .default(['q_proj', 'k_proj', 'v_proj', 'o_proj'])
      .describe('Which projections get an adapter'),
    quantization: z
      .enum(quantizations)
      .default('none')
      .describe('Of the frozen weights (QLoRA): less memory. Serve with the same `model.quantization`'),
  }),
  z.strictObject({ kind: z.literal('full').describe('Train all weights') }),
  z.strictObject({ kind: z.literal('scratch').describe('Train all weights, from random ones') }),
]);

const optimizerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('adamw').describe('AdamW for everything') }),
  z.strictObject({
    kind: z
      .literal('muon')
      .describe('Muon for the matrices of the layers, AdamW for the rest: not with the method lora'),
    momentum: z.number().min(0).lt(1).default(0.95).describe('Of Muon'),
  }),
]);

const settings = z.strictObject({
  $schema: z.string().optional().describe('For editors'),
  model: z
    .string()
    .min(1)
    .describe('Directory of the model to train; `package:models/tiny-improver` is the embedded one'),
  dataset: z.string().min(1).describe('Directory that `finetune dataset` wrote, in the format jsonl'),
  output: z.string().min(1).describe('Directory of the result; with a checkpoint in it, training goes on'),
  method: methodSchema.prefault({ kind: 'lora' }),
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
  optimizer: optimizerSchema.prefault({ kind: 'adamw' }),
  weightDecay: z.number().min(0).default(0.01).describe('Decoupled weight decay, of AdamW and Muon'),
  betas: z
    .tuple([z.number().gt(0).lt(1), z.number().gt(0).lt(1)])
    .default([0.9, 0.999])
    .describe('Of AdamW'),
  maxGradientNorm: z.number().positive().default(1).describe('Longer gradients are cut to this norm'),
  batchExamples: count(1).default(8).describe('Examples an update'),
  batchTokens: count(1)
    .default(2048)
    .describe('Tokens read at once, padding included: lower it when memory is short'),
  packing: z
    .enum(packings)
    .default('rows')
    .describe(
      'What shares a row: nothing; any examples, same prompts read once; prompts brought together too',
    ),
  evaluateEvery: count(1).default(20).describe('Steps between validations'),
  patience: count(1).optional().describe('Validations without gain after which training ends early'),
  checkpointEvery: count(1).default(50).describe('Steps between checkpoints'),
  template: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Variables of the chat template, as serving has them'),
  device: z.string().default('cpu').describe('Where it trains'),
  threads: count(1)
    .optional()
    .describe('Processor threads (default: the physical cores that are free at the start)'),
});

/** Adapters are thin: making all singular values of their updates equal is not what Muon is for. */
export const trainConfigSchema = settings.refine(
  ({ method, optimizer }) => method.kind !== 'lora' || optimizer.kind !== 'muon',
  {
    path: ['optimizer'],
    message: 'muon trains whole matrices: it needs method full or scratch, and lora has adamw',
  },
);

export type TrainConfig = z.output<typeof trainConfigSchema>;

/**
 * Reads a training's config; its paths are relative to its file, those of the package (`package:…`) to that.
 * @param overrides `key=value`, such as `epochs=1` or `method.rank=16`
 * @throws UserError with the place, value, alternatives and remedy of everything that is wrong
 */
export function loadTrainConfig(file: string, overrides: readonly string[] = []): TrainConfig {
  const { content, place } = readSettings(file, overrides, 'epochs=1 or method.rank=16');
  const parsed = trainConfigSchema.safeParse(content);
  if (!parsed.success) {
    const known = { keys: Object.keys(settings.shape) };
    throw new UserError(
      oneScreen(parsed.error.issues.flatMap((issue) => schemaProblems(issue, content, place, known))),
    );
  }
  const absolute = (path: string) => resolve(dirname(file), path);
  const { data } = parsed;
  return {
    ...data,
    model: isPackaged(data.model) ? modelDirectory(data.model) : absolute(data.model),
    dataset: absolute(data.dataset),
    output: absolute(data.output),
  };
}
