import type { RandomGenerator } from '../../../base/random/generator.js';
import type { Sampling } from '../../language-model.js';

/** The tokens that may come next: only these, or all except these. */
export type TokenMask =
  | { readonly kind: 'only'; readonly ids: Int32Array }
  | { readonly kind: 'except'; readonly ids: Int32Array };

interface SampledToken {
  readonly id: number;
  /** Log-probability with which the token was drawn; 0 if greedy. */
  readonly logProbability: number;
}

/** Samples a token; may modify `logits`. Draws one random number, or none if greedy. */
export function sampleToken(
  logits: Float32Array,
  settings: Sampling,
  random: RandomGenerator,
  seenIds: ReadonlySet<number>,
  mask?: TokenMask,
): SampledToken {
  const { temperature, topK, topP, minP, repetitionPenalty } = settings;
  if (repetitionPenalty !== 1) penalize(logits, seenIds, repetitionPenalty);
  if (mask?.kind === 'except') for (const id of mask.ids) logits[id] = Number.NEGATIVE_INFINITY;
  let ids = mask?.kind === 'only' ? mask.ids : undefined;
  const best = argmax(logits, ids);
  if (temperature === 0) return { id: best, logProbability: 0 };
  if (topK > 0 && topK < (ids ?? logits).length) ids = topIds(logits, ids, topK);
  let weights = softmaxWeights(logits, ids, temperature, logits[best]!);
  if (topP < 1) {
    ids = nucleus(ids, weights, topP);
    weights = softmaxWeights(logits, ids, temperature, logits[best]!);
  }
  // The most likely token has weight 1.
  if (minP > 0) for (let i = 0; i < weights.length; i++) if (weights[i]! < minP) weights[i] = 0;
  const totalWeight = total(weights);
  const toSampledToken = (id: number) => ({
    id,
    logProbability: logits[id]! / temperature - (logits[best]! / temperature + Math.log(totalWeight)),
  });
  let remaining = random.random() * totalWeight;
  for (let i = 0; i < weights.length; i++) {
    remaining -= weights[i]!;
    if (remaining < 0) return toSampledToken(ids === undefined ? i : ids[i]!);
  }
  return toSampledToken(best);
}

/** True if a token is drawn by logits and temperature alone, from all tokens or all that an `only` mask allows. */
export function isUnfiltered(
  { temperature, topK, topP, minP, repetitionPenalty }: Sampling,
  mask: TokenMask | undefined,
): boolean {
  return (
    temperature > 0 &&
    topK === 0 &&
    topP === 1 &&
    minP === 0 &&
    repetitionPenalty === 1 &&
    mask?.kind !== 'except'
  );
}

/** Returns a token's natural log-probability at temperature 1, unfiltered; normalised over `ids` if given. */
export function logProbability(logits: Float32Array, id: number, ids?: Int32Array): number {
  return logits[id]! - logNormalizer(logits, ids);
}

/** Computes ln Σ exp(logit), the difference between logits and log-probabilities. */
function logNormalizer(logits: Float32Array, ids?: Int32Array): number {
  const largest = logits[argmax(logits, ids)]!;
  let sum = 0;
  if (ids === undefined) for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i]! - largest);
  else for (const id of ids) sum += Math.exp(logits[id]! - largest);
  return largest + Math.log(sum);
}

/** Returns the index of the largest logit; the first one if tied. */
function argmax(logits: Float32Array, ids?: Int32Array): number {
  if (ids !== undefined) return ids.reduce((best, id) => (logits[id]! > logits[best]! ? id : best), ids[0]!);
  let best = 0;
  let largest = logits[0]!;
  for (let i = 1; i < logits.length; i++)
    if (logits[i]! > largest) {
      largest = logits[i]!;
      best = i;
    }
  return best;
}

function penalize(logits: Float32Array, seenIds: ReadonlySet<number>, penalty: number): void {
  for (const id of seenIds) logits[id] = logits[id]! > 0 ? logits[id]! / penalty : logits[id]! * penalty;
}

/** Reused by all calls: a new array per token would cost as much as a third of the exponentials. */
let scratch = new Float64Array(0);

/** Computes exp((logit − largest) / temperature) per token. The next call overwrites the result. */
function softmaxWeights(
  logits: Float32Array,
  ids: Int32Array | undefined,
  temperature: number,
  largest: number,
): Float64Array {
  const { length } = ids ?? logits;
  if (scratch.length < length) scratch = new Float64Array(length);
  const weights = scratch.subarray(0, length);
  for (let i = 0; i < length; i++)
    weights[i] = Math.exp((logits[ids === undefined ? i : ids[i]!]! - largest) / temperature);
  return weights;
}

function total(weights: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += weights[i]!;
  return sum;
}

/** Returns the k tokens with the largest logits, including ties with the last, in ascending order of id. */
function topIds(logits: Float32Array, ids: Int32Array | undefined, k: number): Int32Array {
  const threshold = kthLargest(logits, ids, k);
  const selected: number[] = [];
  for (let i = 0; i < (ids ?? logits).length; i++) {
    const id = ids === undefined ? i : ids[i]!;
    if (logits[id]! >= threshold) selected.push(id);
  }
  return Int32Array.from(selected);
}

/** Keeps the k largest logits in a min-heap, so most of the vocabulary is compared only once and never sorted. */
function kthLargest(logits: Float32Array, ids: Int32Array | undefined, k: number): number {
  const heap = new Float32Array(k).fill(Number.NEGATIVE_INFINITY);
  for (let i = 0; i < (ids ?? logits).length; i++) {
    const logit = logits[ids === undefined ? i : ids[i]!]!;
    if (logit > heap[0]!) replaceLeast(heap, logit);
  }
  return heap[0]!;
}

/** Replaces the top of a min-heap and sifts the value down. */
function replaceLeast(heap: Float32Array, value: number): void {
  let at = 0;
  while (2 * at + 1 < heap.length) {
    const left = 2 * at + 1;
    const child = left + 1 < heap.length && heap[left + 1]! < heap[left]! ? left + 1 : left;
    if (heap[child]! >= value) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
}

/** Returns the smallest set of tokens with at least `share` of the total weight, in ascending order of id. */
function nucleus(ids: Int32Array | undefined, weights: Float64Array, share: number): Int32Array {
  const totalWeight = total(weights);
  // Tokens below this weight together have less than 1 − share of the weight, so they don't need to be sorted.
  const minWeight = ((1 - share) * totalWeight) / weights.length;
  const order: number[] = [];
  for (let i = 0; i < weights.length; i++) if (weights[i]! >= minWeight) order.push(i);
  order.sort((a, b) => weights[b]! - weights[a]! || a - b);
  let heldWeight = 0;
  let count = 0;
  while (count < order.length && heldWeight < share * totalWeight) heldWeight += weights[order[count++]!]!;
  return Int32Array.from(order.slice(0, Math.max(1, count)), (i) => (ids === undefined ? i : ids[i]!)).sort();
}
