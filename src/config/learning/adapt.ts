/** The `adapt` section: the run trains the model that answers it. */
import { z } from 'zod';
import { type AdaptableModule, adaptableModules } from '../../models/local/graph/adapter.js';
import { advantageScales, comparingObjectives } from './objective.js';
import { rewardSchema } from './reward.js';

const count = (minimum: number) => z.int().min(minimum);

const imitationSchema = z.strictObject({
  kind: z
    .literal('imitation')
    .describe('Likelier makes the answer of each group that earned the most, and leaves the others alone'),
});

interface LoraDefaults {
  readonly rank: number;
  readonly alpha: number;
  readonly modules: AdaptableModule[];
}

export const loraShape = ({ rank, alpha, modules }: LoraDefaults) => ({
  rank: z.int().min(1).default(rank).describe('LoRA rank'),
  alpha: z.number().positive().default(alpha).describe('The adapter is scaled by alpha / rank'),
  rsLora: z.boolean().default(false).describe('Scale by alpha / √rank instead'),
  modules: z
    .array(z.enum(adaptableModules))
    .min(1)
    .default(modules)
    .describe('Which projections get an adapter'),
});

/** Adapter defaults for learning from the model's own samples. */
export const sampledLora = {
  rank: 16,
  alpha: 32,
  modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
} satisfies LoraDefaults;

const loraSchema = z.strictObject(loraShape(sampledLora));

export const adaptSchema = z.strictObject({
  every: count(1)
    .default(1)
    .describe('Iterations from one update to the next, which learns from the candidates of all of them'),
  lora: loraSchema
    .optional()
    .describe(
      'The adapter that it begins with, which changes nothing at first (default: rank 16 on all projections; that of `model.adapter` where it is set)',
    ),
  objective: z
    .discriminatedUnion('kind', [...comparingObjectives, imitationSchema])
    .prefault({ kind: 'grpo' })
    .describe('What an update maximises'),
  reward: rewardSchema.prefault({ kind: 'rank' }).describe('What a candidate earns'),
  advantages: z
    .enum(advantageScales)
    .default('group')
    .describe(
      'What the differences to the mean of a group are divided by, for grpo and reinforce: its standard deviation, that of all groups, or nothing',
    ),
  epochs: count(1).default(1).describe('Steps of the optimizer with the same candidates'),
  learningRate: z.number().positive().default(1e-4).describe('Learning rate'),
  weightDecay: z.number().min(0).default(0).describe('Decoupled weight decay of AdamW'),
  maxGradientNorm: z.number().positive().default(1).describe('Longer gradients are cut to this norm'),
  batchTokens: count(1)
    .default(4096)
    .describe('Tokens read at once in an update, padding included: lower it when memory is short'),
});

export type AdaptConfig = z.output<typeof adaptSchema>;

export const freshLora = ({ lora }: AdaptConfig) => lora ?? loraSchema.parse({});
