import { describe, expect, it } from 'vitest';
import { chosenOf, scoredChoices } from '../../src/agents/scored.js';
import type { Scoring } from '../../src/agents/settings.js';

const choices = ['go', 'go to the north'].map((text) => ({ text, action: text }));
const logp = [
  [-1, -2],
  [-1, -0.5, -0.5, -0.5, -1.5],
];
const scoring = (given: Partial<Scoring> = {}): Scoring => ({
  ...{ by: 'sum', choose: 'greedy', temperature: 1 },
  ...given,
});
const scores = (given: Partial<Scoring>) =>
  scoredChoices(choices, logp, scoring(given)).map(({ score }) => score);

describe('scored actions', () => {
  it('are scored by the sum of log-probabilities, or by its mean per token or per word', () => {
    expect(scores({ by: 'sum' })).toEqual([-3, -4]);
    expect(scores({ by: 'token' })).toEqual([-1.5, -0.8]);
    expect(scores({ by: 'word' })).toEqual([-3, -1]);
  });

  it('get their probabilities from a softmax over the scores, with a temperature', () => {
    const [first, second] = scoredChoices(choices, logp, scoring());
    expect(first!.probability + second!.probability).toBeCloseTo(1, 12);
    expect(first!.probability / second!.probability).toBeCloseTo(Math.E, 9);
    const [warm, other] = scoredChoices(choices, logp, scoring({ temperature: 2 }));
    expect(warm!.probability / other!.probability).toBeCloseTo(Math.sqrt(Math.E), 9);
  });

  it('are chosen greedily, with ties going to the first', () => {
    expect(chosenOf(scoredChoices(choices, logp, scoring()), scoring(), 1)).toBe(0);
    expect(chosenOf(scoredChoices(choices, logp, scoring({ by: 'token' })), scoring(), 1)).toBe(1);
    expect(chosenOf(scoredChoices(choices, [[-1], [-1]], scoring()), scoring(), 9)).toBe(0);
  });

  it('are sampled at their probabilities, reproducibly for each seed', () => {
    const sample = scoring({ choose: 'sample' });
    const scored = scoredChoices(choices, logp, sample);
    const drawn = Array.from({ length: 4000 }, (_, seed) => chosenOf(scored, sample, seed));
    const share = drawn.filter((place) => place === 0).length / drawn.length;
    // Four standard errors.
    expect(Math.abs(share - scored[0]!.probability)).toBeLessThan(4 * Math.sqrt(0.25 / drawn.length));
    expect(Array.from({ length: 50 }, (_, seed) => chosenOf(scored, sample, seed))).toEqual(
      drawn.slice(0, 50),
    );
  });

  it('have finite probabilities even if exp(score) underflows', () => {
    const scored = scoredChoices(choices, [[-5000], [-5001]], scoring());
    expect(scored[0]!.probability).toBeCloseTo(1 / (1 + Math.exp(-1)), 9);
  });

  it('are refused unless each has a score', () => {
    expect(() => scoredChoices(choices, [[-1]], scoring())).toThrow(RangeError);
  });
});
