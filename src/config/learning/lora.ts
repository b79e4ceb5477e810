import { z } from 'zod';
import { type AdaptableModule, adaptableModules } from '../../models/local/graph/adapter.js';

interface LoraDefaults {
  readonly rank: number;
  readonly alpha: number;
  readonly modules: AdaptableModule[];
}

/** The adapter settings of every config that trains one. */
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
