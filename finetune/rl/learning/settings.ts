import { z } from 'zod';
import { advantageScales, objectiveSchema } from '../../../src/config/learning/objective.js';
import { deviceSchema, ignoreKeysSchema } from '../../../src/models/local/settings.js';
import { schedules } from '../../engine/optimisers.js';
import { rlMethod } from '../../train/train-config.js';

const count = (minimum: number) => z.int().min(minimum);

const limitsSchema = z
  .strictObject({
    minutes: z.number().positive().optional().describe('Minutes of all sessions together'),
    tokens: count(1).optional().describe('Sampled tokens'),
  })
  .prefault({})
  .describe('What ends it early, with its result');

/** Settings shared by agents and proposers. */
export const learningSettings = z.strictObject({
  $schema: z.string().optional().describe('For editors'),
  model: z
    .string()
    .min(1)
    .describe(
      'Directory of the model; `package:models/tiny-bytes` is a small one to be trained from scratch, `package:models/tiny-improver` the embedded one',
    )
    .meta({ format: 'path' }),
  objective: objectiveSchema.describe('What an update maximises'),
  output: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Directory of the result (default: named after this file, in the working directory's `tuned`); with a checkpoint in it, it goes on",
    )
    .meta({ format: 'path' }),
  method: rlMethod.prefault({ kind: 'lora' }).describe('What is trained'),
  seed: count(0).default(0).describe('Fixes starts, samples and first weights'),
  updates: count(1).default(100).describe('Times that episodes are played and learnt from'),
  epochs: count(1).default(1).describe('Times that the same episodes are learnt from'),
  minibatches: count(1)
    .default(1)
    .describe('Parts that each epoch draws the replies into, with a step of the optimizer each'),
  advantages: z
    .enum(advantageScales)
    .default('group')
    .describe(
      'What the differences to the mean of a group are divided by, for grpo and reinforce: its standard deviation, that of all groups, or nothing',
    ),
  limits: limitsSchema,
  learningRate: z.number().positive().default(1e-5).describe('Peak learning rate'),
  schedule: z.enum(schedules).default('constant').describe('How the learning rate falls after the warm-up'),
  warmupSteps: count(0).default(0).describe('Steps in which the learning rate rises'),
  weightDecay: z.number().min(0).default(0).describe('Decoupled weight decay of AdamW'),
  betas: z
    .tuple([z.number().gt(0).lt(1), z.number().gt(0).lt(1)])
    .default([0.9, 0.999])
    .describe('Decay rates of the two averages of AdamW'),
  maxGradientNorm: z.number().positive().default(1).describe('Longer gradients are cut to this norm'),
  batchTokens: count(1)
    .default(2048)
    .describe('Tokens read at once in an update, padding included: lower it when memory is short'),
  checkpointEvery: count(1).default(10).describe('Updates between checkpoints'),
  template: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Variables of the chat template, as serving has them'),
  ignoreKeys: ignoreKeysSchema,
  device: deviceSchema
    .default('cpu')
    .describe('Where it samples and trains; `auto` takes a GPU where one can be used, else the processor'),
  threads: count(1)
    .optional()
    .describe('Processor threads (default: the physical cores that are free at the start)'),
});
