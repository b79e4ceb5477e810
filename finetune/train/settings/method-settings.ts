/** Config schema of training methods, shared by all kinds of training; each has its own defaults. */
import { z } from 'zod';
import { loraShape, sampledLora } from '../../../src/config/learning/adapt.js';
import { quantizations } from '../../../src/models/local/weights/quantization.js';

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

/** Methods of supervised training. */
export const trainingMethod = z.discriminatedUnion('kind', [
  loraSettings({ rank: 8, alpha: 16, modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj'] }).extend({
    dropout: z.number().min(0).lt(1).default(0).describe("Share of the adapter's inputs that is set to zero"),
  }),
  ...wholeModel,
]);

/** Methods of reinforcement learning. Without dropout, because the trained policy must equal the one that sampled. */
export const rlMethod = z.discriminatedUnion('kind', [loraSettings(sampledLora), ...wholeModel]);

export type MethodSettings = z.output<typeof trainingMethod> | z.output<typeof rlMethod>;
