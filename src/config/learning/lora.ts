import { z } from 'zod';
import { type AdaptableModule, adaptableModules } from '../../models/local/graph/adapter.js';

interface LoraDefaults {
  readonly rank: number;
  readonly alpha: number;
  readonly modules: AdaptableModule[];
}

/** What an adapter is, as every config that trains one has it. */
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

/** Settings of an adapter that learns from what the model sampled itself. */
export const sampledLora = {
  rank: 16,
  alpha: 32,
  modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
} satisfies LoraDefaults;
