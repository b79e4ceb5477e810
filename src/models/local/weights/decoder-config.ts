/** What a decoder-only transformer computes, whatever family it belongs to and whatever file describes it. */
import type { Rope } from './rope.js';

export interface LayerConfig {
  /** Undefined: queries and keys are not rotated. */
  readonly rope: Rope | undefined;
  /** Keys at a distance of this many tokens or more are not attended to. Undefined: all are. */
  readonly window: number | undefined;
  /** What the layer mixes tokens by in place of attention; then it has neither rotation nor window. */
  readonly recurrence?: Recurrence;
}

/** A layer that carries a state of fixed size from token to token. */
export type Recurrence =
  /** LFM2: a causal convolution of each channel over the last `kernel` tokens, gated before and behind. */
  | { readonly kind: 'short convolution'; readonly kernel: number; readonly bias: boolean }
  /** Qwen3.5: the gated delta rule (Yang et al. 2024, arXiv 2412.06464) behind such a convolution. */
  | {
      readonly kind: 'gated delta';
      readonly kernel: number;
      /** Heads of queries and keys; each serves valueHeads / keyHeads heads of values. */
      readonly keyHeads: number;
      readonly keyDim: number;
      readonly valueHeads: number;
      readonly valueDim: number;
      /** Whether the weights hold ln(−rate) of a head's decay, or the rate itself, as GGUF files do. */
      readonly decay: 'logarithm' | 'rate';
      /** Heads of values that share a key follow each other, or come one from each group in turn, as in GGUF files. */
      readonly order: 'grouped' | 'tiled';
    };

/** The layers that have keys and values. */
export const attentionLayers = ({ layers }: Pick<DecoderConfig, 'layers'>): readonly LayerConfig[] =>
  layers.filter(({ recurrence }) => recurrence === undefined);

/** Shapes of the states of one sequence, layer after layer; empty where all layers attend. */
export const stateShapes = ({
  layers,
  hidden,
}: Pick<DecoderConfig, 'layers' | 'hidden'>): (readonly number[])[] =>
  layers.flatMap(({ recurrence }) => {
    if (recurrence === undefined) return [];
    if (recurrence.kind === 'short convolution') return [[recurrence.kernel - 1, hidden]];
    const { kernel, keyHeads, keyDim, valueHeads, valueDim } = recurrence;
    return [
      [kernel - 1, 2 * keyHeads * keyDim + valueHeads * valueDim],
      [valueHeads, keyDim, valueDim],
    ];
  });

/** Paths of modules as the family's files have them, and with them where norms stand. */
export interface ModulePaths {
  readonly embedding: string;
  /** Embedding of positions, added to that of the tokens. */
  readonly positions?: string;
  /** Before the number of a layer. */
  readonly layers: string;
  readonly finalNorm: string;
  readonly head: string;
  /** Below a layer: the projections to queries, keys and values, or one whose rows are those of all three. */
  readonly attention: readonly [string, string, string] | readonly [string];
  readonly queryNorm: string;
  readonly keyNorm: string;
  readonly attentionOutput: string;
  /** Gate and up, or one projection whose rows are those of both; without a gate, up alone. */
  readonly feedForward: readonly [string, string] | readonly [string];
  readonly down: string;
  /** Norms of what attention and the feed-forward part read, and of what they give before it is added. */
  readonly norms: {
    readonly beforeAttention?: string;
    readonly afterAttention?: string;
    readonly beforeFeedForward?: string;
    readonly afterFeedForward?: string;
  };
}

export interface DecoderConfig {
  /** The `model_type` of config.json. */
  readonly architecture: string;
  readonly modules: ModulePaths;
  readonly layers: readonly LayerConfig[];
  /** Width of the residual stream. */
  readonly hidden: number;
  readonly heads: number;
  /** Heads of keys and values; each serves heads / kvHeads query heads (grouped-query attention). */
  readonly kvHeads: number;
  readonly headDim: number;
  /** The first so many dimensions of a head are rotated. */
  readonly rotaryWidth: number;
  /** Width of the feed-forward part. */
  readonly intermediate: number;
  readonly vocabulary: number;
  /** `layer` subtracts the mean and adds a bias; `rms` does neither, and scales by `offset` + weight. */
  readonly norm: { readonly kind: 'rms' | 'layer'; readonly offset: 0 | 1 };
  readonly normEpsilon: number;
  readonly activation: 'silu' | 'gelu-tanh';
  /** Whether the activation of one projection multiplies another. */
  readonly gated: boolean;
  readonly bias: { readonly qkv: boolean; readonly output: boolean; readonly mlp: boolean };
  /** Whether queries and keys are normalised. */
  readonly qkNorm: boolean;
  readonly qkNormOver: 'head' | 'all heads';
  /** Whether the projection to queries gives a gate of what attention gives, too: per head [query; gate]. */
  readonly queryGate: boolean;
  /** Factor of the products of queries and keys. */
  readonly scoreScale: number;
  /** Scores s become cap·tanh(s / cap). */
  readonly scoreCap: number | undefined;
  readonly logitCap: number | undefined;
  /** Factors of the embedding, of what a layer adds to the residual stream, and of the logits. */
  readonly embeddingFactor: number;
  readonly residualFactor: number;
  readonly logitFactor: number;
  /** Queries are scaled by 1 + beta·ln(1 + ⌊position / context⌋), as in Llama 4. */
  readonly queryGrowth: { readonly beta: number; readonly context: number } | undefined;
  /** Whether the output layer is the embedding. */
  readonly tied: boolean;
  /** Longest context in tokens. */
  readonly contextTokens: number;
  /** Dtype that the config states, e.g. `bfloat16`; the tensors decide. */
  readonly dtype: string | undefined;
  readonly eosTokens: readonly number[];
}

/** Llama's names, which most families have. */
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
