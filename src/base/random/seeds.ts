import { createGenerator, deriveSeeds, type RandomGenerator } from './generator.js';

/** First spawn key of each independent stream of a run's root seed. Changing a key changes results. */
const streamKeys = { repeat: 0, warmup: 1, evaluation: 2, confirmation: 3, model: 4 } as const;

/** Root seed of each repeat. The first is `seed` itself, as in a single run. */
export function repeatSeeds(seed: number, repeats: number): readonly number[] {
  return [seed, ...deriveSeeds(seed, [streamKeys.repeat], Math.max(0, repeats - 1))];
}

export function warmupGenerator(seed: number): RandomGenerator {
  return createGenerator(seed, [streamKeys.warmup]);
}

/** Episode seeds of an evaluation, all below 2^31; without `iteration`, the seeds that the whole run shares. */
export function evaluationSeeds(seed: number, episodes: number, iteration?: number): readonly number[] {
  const key = iteration === undefined ? [streamKeys.evaluation] : [streamKeys.evaluation, iteration];
  return distinctSeeds(seed, key, episodes);
}

/** Episode seeds of a confirmation stage, at least 2^31: disjoint from the seeds of evaluations and other stages. */
export function confirmationSeeds(
  seed: number,
  stage: 'selection' | 'final' | 'inspection',
  episodes: number,
): readonly number[] {
  const offset = { selection: 2 ** 31, final: 2 ** 32, inspection: 2 ** 33 }[stage];
  return distinctSeeds(seed, [streamKeys.confirmation], episodes).map((value) => value + offset);
}

/** Sampling seed of one model call, below 2^31. */
export function callSeed(seed: number, iteration: number, candidate: number, attempt: number): number {
  return distinctSeeds(seed, [streamKeys.model, iteration, candidate, attempt], 1)[0]!;
}

/** `count` distinct seeds below 2^31. */
function distinctSeeds(seed: number, spawnKey: readonly number[], count: number): readonly number[] {
  for (let drawCount = count; ; drawCount += count) {
    const seeds = [...new Set(deriveSeeds(seed, spawnKey, drawCount).map((value) => value >>> 1))];
    if (seeds.length >= count) return seeds.slice(0, count);
  }
}
