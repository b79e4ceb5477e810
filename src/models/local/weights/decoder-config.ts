/** The computation of a decoder-only transformer, independent of its family and file format. */
import type { Rope } from './rope.js';

export interface LayerConfig {
  /** If undefined, queries and keys aren't rotated. */
  readonly rope: Rope | undefined;
  /** Sliding window: number of latest tokens that a query attends to, including its own; undefined: no limit. */
  readonly window: number | undefined;
  /** Replaces attention; if set, there is no rotation and no window. */
  readonly recurrence?: Recurrence;
}

/** A recurrent layer: Qwen3.5's convolution, then the gated delta rule (Yang et al. 2024, arXiv 2412.06464). */
export interface Recurrence {
  readonly kernel: number;
  /** Number of query and key heads; each serves valueHeads / keyHeads value heads. */
  readonly keyHeads: number;
  readonly keyDim: number;
  readonly valueHeads: number;
  readonly valueDim: number;
  /** Stored form of each head's decay: ln(−rate) or, in GGUF files, the rate itself. */
  readonly decay: 'logarithm' | 'rate';
  /** Value heads that share a key are either adjacent (`grouped`), or interleaved as in most GGUF files (`tiled`). */
  readonly order: 'grouped' | 'tiled';
}

export const attentionLayers = ({ layers }: Pick<DecoderConfig, 'layers'>): readonly LayerConfig[] =>
  layers.filter(({ recurrence }) => recurrence === undefined);

/** Shapes of the states of one sequence, layer by layer; empty if all layers use attention. */
export const stateShapes = ({ layers }: Pick<DecoderConfig, 'layers'>): (readonly number[])[] =>
  layers.flatMap(({ recurrence }) => {
    if (recurrence === undefined) return [];
    const { kernel, keyHeads, keyDim, valueHeads, valueDim } = recurrence;
    return [
      [kernel - 1, 2 * keyHeads * keyDim + valueHeads * valueDim],
      [valueHeads, keyDim, valueDim],
    ];
  });

/** Module paths in the family's Hugging Face files. They also determine which norms exist. */
export interface ModulePaths {
  readonly embedding: string;
  /** Position embedding, which is added to the token embedding. */
  readonly positions?: string;
  readonly layers: string;
  readonly finalNorm: string;
  readonly head: string;
  /** Within a layer: query, key and value projections, or a fused one with the rows of all three. */
  readonly attention: readonly [string, string, string] | readonly [string];
  readonly queryNorm: string;
  readonly keyNorm: string;
  readonly attentionOutput: string;
  /** Gate and up, or a fused projection with the rows of both; only up if there is no gate. */
  readonly feedForward: readonly [string, string] | readonly [string];
  readonly down: string;
  /** Norms before and after each part of a layer; a norm after a part applies before the residual addition. */
  readonly norms: {
    readonly beforeAttention?: string;
    readonly afterAttention?: string;
    readonly beforeFeedForward?: string;
    readonly afterFeedForward?: string;
  };
}

export interface DecoderConfig {
  readonly architecture: string;
  readonly modules: ModulePaths;
  readonly layers: readonly LayerConfig[];
  readonly hidden: number;
  readonly heads: number;
  /** Number of key and value heads; each serves heads / kvHeads query heads (grouped-query attention). */
  readonly kvHeads: number;
  readonly headDim: number;
  /** Number of leading dimensions of each head that are rotated. */
  readonly rotaryWidth: number;
  readonly intermediate: number;
  readonly vocabulary: number;
  /** `layer` subtracts the mean and adds a bias; `rms` does neither and scales by `offset` + weight. */
  readonly norm: { readonly kind: 'rms' | 'layer'; readonly offset: 0 | 1 };
  readonly normEpsilon: number;
  readonly activation: 'silu' | 'gelu-tanh';
  /** True if the activation of one projection is multiplied by another projection. */
  readonly gated: boolean;
  readonly bias: { readonly qkv: boolean; readonly output: boolean; readonly mlp: boolean };
  readonly qkNorm: boolean;
  /** True if the query projection also outputs a gate for attention's output: per head [query; gate]. */
  readonly queryGate: boolean;
  /** Factor by which products of queries and keys are multiplied. */
  readonly scoreScale: number;
  /** If set, a score s becomes cap·tanh(s / cap). */
  readonly scoreCap: number | undefined;
  readonly logitCap: number | undefined;
  /** Factors for the embedding, for the output of each part of a layer, and for the logits. */
  readonly embeddingFactor: number;
  readonly residualFactor: number;
  readonly logitFactor: number;
  /** If set, queries are scaled by 1 + beta·ln(1 + ⌊position / context⌋), as in Ministral 3. */
  readonly queryGrowth: { readonly beta: number; readonly context: number } | undefined;
  /** True if the embedding is also the output layer. */
  readonly tied: boolean;
  readonly contextTokens: number;
  readonly eosTokens: readonly number[];
}

/** Llama's module names, which most families use. */
export const llamaModules: ModulePaths = {
  embedding: 'model.embed_tokens',
  layers: 'model.layers',
  finalNorm: 'model.norm',
  head: 'lm_head',
  attention: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  queryNorm: 'self_attn.q_norm',
  keyNorm: 'self_attn.k_norm',
  attentionOutput: 'self_attn.o_proj',
  feedForward: ['mlp.gate_proj', 'mlp.up_proj'],
  down: 'mlp.down_proj',
  norms: { beforeAttention: 'input_layernorm', beforeFeedForward: 'post_attention_layernorm' },
};
