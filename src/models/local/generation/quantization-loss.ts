/** Measures how much quantisation changes a model's predictions on a fixed text. */

import { argmax, logNormaliser, logProbability } from '../constraint/sampling.js';
import { freeCores } from '../engine/device.js';
import type { States } from '../engine/key-value-cache.js';
import { type DecoderSession, openSession } from '../engine/runtime.js';
import { readDecoderConfig } from '../families/hf-config.js';
import { openTokenizer } from '../tokens/tokenizer.js';
import { openWeights } from '../weights/gguf-tensors.js';
import type { Quantization } from '../weights/quantization.js';
import { buildGraph } from './engine.js';

export interface QuantizationLoss {
  readonly tokens: number;
  /** Exponential of the mean negative log-probability of the text's tokens. */
  readonly perplexity: { readonly exact: number; readonly quantized: number };
  /** Mean Kullback-Leibler divergence of the quantised prediction from the exact one, in nats per token. */
  readonly divergence: number;
  /** Share of positions at which the most likely token is the same in both predictions. */
  readonly agreement: number;
}

/** Prose and an answer, similar to what the model will read and write. */
const text = `The policy is a linear map from the observation to a score for each action, and the action with the
highest score is taken. Twenty episodes give the mean return of a candidate. Small steps around the best parameters
found so far are usually safe, but when several evaluations in a row bring nothing new it pays to look further away.
params[0]: 1.2, params[1]: -0.5, params[2]: 3.1, params[3]: 0.0; f(params): 187.35
params[0]: 1.4, params[1]: -0.7, params[2]: 2.9, params[3]: 0.2; f(params): 203.10
The second candidate was better than the first, so the next one moves a little further in the same direction:
params[0]: 1.6, params[1]: -0.9, params[2]: 2.7, params[3]: 0.4`;

const rowsAtOnce = 32;

/** @throws UserError if the directory can't be used */
export async function measureQuantizationLoss(
  directory: string,
  quantization: Exclude<Quantization, 'none'>,
  ignoredKeys: readonly string[] = [],
): Promise<QuantizationLoss> {
  const config = readDecoderConfig(directory, ignoredKeys);
  const weights = openWeights(directory);
  const ids = openTokenizer(directory).encodeText(text);
  const settings = { device: 'cpu', threads: freeCores() } as const;
  const open = (kind: Quantization) =>
    openSession(buildGraph({ path: directory, quantization: kind }, config, weights), config, settings);
  const exact = await open('none');
  const quantized = await open(quantization);
  try {
    const sums = { exact: 0, quantized: 0, divergence: 0, agreed: 0 };
    const readExact = reader(exact, ids);
    const readQuantized = reader(quantized, ids);
    for (let start = 0; start < ids.length - 1; start += rowsAtOnce) {
      const count = Math.min(rowsAtOnce, ids.length - 1 - start);
      const a = await readExact(start, count);
      const b = await readQuantized(start, count);
      for (let row = 0; row < count; row++) {
        const p = a.subarray(row * config.vocabulary, (row + 1) * config.vocabulary);
        const q = b.subarray(row * config.vocabulary, (row + 1) * config.vocabulary);
        const next = ids[start + row + 1]!;
        sums.exact -= logProbability(p, next);
        sums.quantized -= logProbability(q, next);
        sums.divergence += klDivergence(p, q);
        if (argmax(p) === argmax(q)) sums.agreed++;
      }
    }
    const tokens = ids.length - 1;
    return {
      tokens,
      perplexity: { exact: Math.exp(sums.exact / tokens), quantized: Math.exp(sums.quantized / tokens) },
      divergence: sums.divergence / tokens,
      agreement: sums.agreed / tokens,
    };
  } finally {
    await exact.close();
    await quantized.close();
  }
}

/** Returns a function that reads the next `count` tokens and returns the logits after each of them. */
function reader(session: DecoderSession, ids: readonly number[]) {
  const [prompt, own] = [session.newCache(), session.newCache()];
  let states: States = [];
  return async (start: number, count: number): Promise<Float32Array> => {
    const output = await session.forward({
      ids: ids.slice(start, start + count),
      rows: 1,
      position: start,
      prompt,
      own,
      states,
      logitsOf: Array.from({ length: count }, (_, row) => row),
    });
    await prompt.append(output.entries);
    states = output.states;
    return output.logits;
  };
}

/** Σ p·ln(p / q) of the distributions given by two rows of logits. */
function klDivergence(p: Float32Array, q: Float32Array): number {
  const normaliserP = logNormaliser(p);
  const normaliserQ = logNormaliser(q);
  let sum = 0;
  for (let id = 0; id < p.length; id++) {
    const logP = p[id]! - normaliserP;
    sum += Math.exp(logP) * (logP - (q[id]! - normaliserQ));
  }
  return sum;
}
