/** The `adapt` section: the run trains its own model. */
import { z } from 'zod';
import { type AdaptableModule, adaptableModules } from '../../models/local/graph/adapter.js';
import { advantageScales, comparingObjectives } from './objective.js';
import { rewardSchema } from './reward.js';

const count = (minimum: number) => z.int().min(minimum);

const imitationSchema = z.strictObject({
  kind: z
    .literal('imitation')
    .describe('Raises the probability of the best answer in each group and ignores the others'),
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
    .describe('Projections that get an adapter'),
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
    .describe('Update every Nth iteration, from all candidates since the previous update'),
  lora: loraSchema
    .optional()
    .describe('The new adapter (default: rank 16 on all projections); not allowed with `model.adapter`'),
  objective: z
    .discriminatedUnion('kind', [...comparingObjectives, imitationSchema])
    .prefault({ kind: 'grpo' })
    .describe('Objective that an update maximises'),
  reward: rewardSchema.prefault({ kind: 'rank' }).describe('How candidates are rewarded'),
  advantages: z
    .enum(advantageScales)
    .default('group')
    .describe(
      'For grpo and reinforce: divide differences from the group mean by the standard deviation in the `group`, in all groups together (`batch`), or not at all (`none`)',
    ),
  epochs: count(1).default(1).describe('Optimizer steps per update, all on the same candidates'),
  learningRate: z.number().positive().default(1e-4).describe('Constant learning rate of AdamW'),
  weightDecay: z.number().min(0).default(0).describe('Decoupled weight decay of AdamW'),
  maxGradientNorm: z.number().positive().default(1).describe('Larger gradients are scaled down to this norm'),
  batchTokens: count(1)
    .default(4096)
    .describe('Tokens per batch in an update, including padding; lower it to save memory'),
});

export type AdaptConfig = z.output<typeof adaptSchema>;

export const freshLora = ({ lora }: AdaptConfig) => lora ?? loraSchema.parse({});
