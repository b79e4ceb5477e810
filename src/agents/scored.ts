/** Scored actions: scores each possible action as the model's answer and picks one, so the action is always valid. */

import { createGenerator } from '../random/generator.js';
import { largest } from '../statistics/descriptive.js';
import type { Choice } from './reading.js';
import type { Scoring } from './settings.js';

export interface ScoredChoice {
  readonly text: string;
  /** Log-probability of the whole answer, or its mean per token or word. */
  readonly score: number;
  /** Softmax of the scores at the given temperature. */
  readonly probability: number;
}

/** Scores choices by the log-probabilities of their tokens, including the end token. */
export function scoredChoices(
  choices: readonly Choice[],
  logProbabilities: readonly (readonly number[])[],
  { by, temperature }: Scoring,
): readonly ScoredChoice[] {
  if (logProbabilities.length !== choices.length)
    throw new RangeError('there must be one list of log-probabilities per choice');
  const scores = choices.map(({ text }, i) => {
    const tokens = logProbabilities[i]!;
    const sum = tokens.reduce((total, value) => total + value, 0);
    if (by === 'sum') return sum;
    return sum / (by === 'token' ? tokens.length : text.trim().split(/\s+/).length);
  });
  const best = largest(scores);
  const weights = scores.map((score) => Math.exp((score - best) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return choices.map(({ text }, i) => ({ text, score: scores[i]!, probability: weights[i]! / total }));
}

/** The index of the chosen action. With `greedy`, the first one wins ties. */
export function chosenOf(scored: readonly ScoredChoice[], { choose }: Scoring, seed: number): number {
  if (choose === 'greedy')
    return scored.reduce((best, { score }, i) => (score > scored[best]!.score ? i : best), 0);
  let rest = createGenerator(seed).random();
  const taken = scored.findIndex(({ probability }) => {
    rest -= probability;
    return rest < 0;
  });
  return taken < 0 ? scored.length - 1 : taken;
}
