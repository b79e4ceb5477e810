/** Falsifies the scores of histories, to test whether a model uses the scores in its prompt. */
import { createGenerator, shuffled } from '../../src/random/generator.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import type { Falsehood } from './plan.js';

/**
 * Replaces the scores of evaluations before the memory chooses which ones a prompt shows. An evaluation keeps its
 * false score in later prompts, except with `permuted`, which shuffles all scores for every prompt.
 * @param seed seed of the run
 */
export function falsify(
  entries: readonly BufferEntry[],
  falsehood: Falsehood,
  seed: number,
): readonly BufferEntry[] {
  const told = toldScores(
    entries.map(({ score }) => score),
    falsehood,
    seed,
  );
  return entries.map((entry, i) => ({ ...entry, score: told[i]!, returns: [told[i]!] }));
}

function toldScores(scores: readonly number[], falsehood: Falsehood, seed: number): readonly number[] {
  switch (falsehood) {
    case 'permuted':
      return shuffled(scores, createGenerator(seed, [9, scores.length]));
    case 'random':
      return scores.map((_, i) => createGenerator(seed, [9, i]).random());
    case 'constant':
      return scores.map(() => 0);
    case 'negated':
      return scores.map((score) => -score);
  }
}
