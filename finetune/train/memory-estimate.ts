/** Estimates the peak memory of training. Its factors are fitted to measured peaks, to within 20 %. */
import { UserError } from '../../src/base/errors.js';
import type { MachineMemory } from '../../src/base/machine-memory.js';
import { formatBytes } from '../../src/base/text/numbers.js';
import { decoderTensors } from '../../src/models/local/graph/parameters.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { blockSizes, familyLength, type TokenExample, trainedLength } from '../engine/batch.js';
import { elementCount, type Trainable, trainedParameters } from '../engine/trainable.js';
import { epochParts, type OrderSettings, unitsOf, usableExamples } from './packing.js';

/** All sizes in bytes. */
export interface MemoryEstimate {
  /** Frozen weights. The system can evict mapped weights from memory, but not copied ones. */
  readonly weights: { readonly mapped: number; readonly copied: number };
  /** Trained values, their gradients, the optimizer's moments and the best values so far. */
  readonly parameters: number;
  /** Values that the largest batch's forward pass keeps for the backward pass, plus temporary arrays. */
  readonly activations: number;
  /** Logits of the largest batch's trained tokens. */
  readonly logits: number;
  readonly overhead: number;
  readonly total: number;
  readonly batch: BatchSize;
  readonly hint: string;
}

interface BatchSize {
  readonly examples: number;
  /** Number of tokens without padding; only attention needs padding. */
  readonly tokens: number;
  /** Number of attention scores per head. */
  readonly scores: number;
  /** Number of tokens that contribute to the loss. */
  readonly selected: number;
}

export interface EstimatedTraining {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  readonly training: readonly TokenExample[];
  /** Number of model copies: one each for training, validation and samples, as needed. */
  readonly sessions: number;
  readonly settings: OrderSettings;
}

/** Bytes used by Node.js and ONNX Runtime with a loaded graph. */
const processBytes = 180e6;

/** Ratio of peak memory to kept values; it exceeds 1 because the runtime's allocator leaves gaps. */
const activationFactor = 1.33;

/** Number of arrays as large as a layer's largest that exist at once while the backward pass recomputes the layer. */
const workCopies = 6;

/** Number of arrays as large as the logits that exist at once: shifted logits, exponentials, gradients. */
const logitCopies = 4.5;

/** Bytes of the float32 matrices that products with quantized weights need, forward and backward. */
const dequantizedBytes = 130e6;

/** Copies of each parameter: values, gradients, gradient sums over the parts of a step, and two moments. */
const parameterCopies = 5;

/** @throws UserError if there is nothing to learn from or an example exceeds the context */
export function estimateMemory(training: EstimatedTraining): MemoryEstimate {
  const { config, trainable, sessions } = training;
  const batch = batches(training).reduce((a, b) =>
    batchBytes(config, b).total > batchBytes(config, a).total ? b : a,
  );
  const { activations, logits } = batchBytes(config, batch);
  const weights = weightBytes(config, trainable, sessions);
  const parameters = parameterBytes(config, trainable, sessions > 1);
  const overhead = processBytes;
  const total = weights.mapped + weights.copied + parameters + activations + logits + overhead;
  const parts = { weights, parameters, activations, logits };
  return { ...parts, overhead, total, batch, hint: hintOf({ ...parts, batch }, trainable) };
}

function batches({ config, training, settings }: EstimatedTraining): readonly BatchSize[] {
  const usable = usableExamples(training, config, 'training');
  return epochParts(usable, unitsOf(usable, settings), settings, 0).map((part) => {
    const { families, promptTokens, answers, answerTokens } = blockSizes(part);
    const answerScores = answers * answerTokens * (promptTokens + answerTokens);
    return {
      examples: part.flat().length,
      tokens: part.reduce((sum, family) => sum + familyLength(family), 0),
      scores: families * (promptTokens ** 2 + answerScores),
      selected: part.flat().reduce((sum, example) => sum + trainedLength(example), 0),
    };
  });
}

function batchBytes(config: DecoderConfig, { tokens, scores, selected }: BatchSize) {
  const { hidden, intermediate, heads, kvHeads, headDim } = config;
  // Kept per token: residual stream, queries, keys, values, attention output, gate and up projections.
  const kept =
    2 * hidden + 2 * heads * headDim + 2 * kvHeads * headDim + (config.gated ? 2 : 1) * intermediate;
  const work = workCopies * Math.max(heads * scores, tokens * intermediate);
  const activations = 4 * (activationFactor * config.layers.length * tokens * kept + work);
  const logits = logitCopies * 4 * selected * config.vocabulary;
  return { activations, logits, total: activations + logits };
}

function weightBytes(
  config: DecoderConfig,
  trainable: Trainable,
  sessions: number,
): MemoryEstimate['weights'] {
  if (trainable.kind === 'all') return { mapped: 0, copied: 0 };
  const { base, quantized, int8 } = trainable;
  let mapped = 0;
  let copied = 0;
  for (const { name, shape } of decoderTensors(config)) {
    const count = elementCount(shape);
    const packed = quantized?.matrices.get(name);
    const rows = int8?.get(name);
    if (rows !== undefined) {
      mapped += rows.codes.length + rows.scales.length;
      // A tied embedding's lookup still reads the original, mapped tensor.
    } else if (packed !== undefined) {
      const bytes = packed.codes.length + packed.scales.length + (packed.offsets?.length ?? 0);
      mapped += bytes;
      copied += sessions * bytes;
    } else if (name === `${config.modules.embedding}.weight` && !config.tied) {
      // Only the rows that are looked up are read from the mapped file.
    } else if (base.get(name)?.dtype === 'F32') mapped += 4 * count;
    else copied += sessions * 4 * count;
  }
  return { mapped, copied: copied + (quantized === undefined && int8 === undefined ? 0 : dequantizedBytes) };
}

function parameterBytes(config: DecoderConfig, trainable: Trainable, validated: boolean): number {
  const count = trainedParameters(config, trainable).reduce((sum, { shape }) => sum + elementCount(shape), 0);
  // An embedding's gradient is as large as the embedding; if tied, there is a second one for the head.
  const embedding = trainable.kind === 'all' ? (config.tied ? 2 : 1) * config.vocabulary * config.hidden : 0;
  return 4 * ((parameterCopies + (validated ? 1 : 0)) * count + embedding);
}

function hintOf(
  { weights, parameters, activations, logits, batch }: Omit<MemoryEstimate, 'overhead' | 'total' | 'hint'>,
  trainable: Trainable,
): string {
  const frozen = trainable.kind === 'adapter';
  const reading =
    batch.examples > 1
      ? `lower batchTokens (${batch.tokens} tokens are processed at once)`
      : `shorten the examples (one has ${batch.tokens} tokens and can't be split)`;
  const hints = [
    { bytes: activations + logits, text: reading },
    {
      bytes: parameters,
      text: frozen ? 'lower method.rank or use fewer method.modules' : 'set method.kind to lora',
    },
    {
      bytes: weights.mapped + weights.copied,
      text:
        frozen && trainable.quantized === undefined
          ? 'set method.quantization to int4'
          : 'use a smaller model',
    },
  ];
  return hints
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, 2)
    .map(({ text }) => text)
    .join(', or ');
}

/** The estimate may be too high by up to this factor. */
const tolerance = 1.2;

/** @throws UserError if training doesn't fit into the machine's memory, even if all of it were free */
export function refuseImpossible(estimate: MemoryEstimate, { total }: MachineMemory): void {
  if ((estimate.total - estimate.weights.mapped) / tolerance <= total) return;
  throw new UserError({
    message: `training needs about ${formatBytes(estimate.total)}, but this machine has only ${formatBytes(total)}`,
    hint: estimate.hint,
  });
}
