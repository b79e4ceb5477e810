import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { createHistory } from '../../src/prompting/context/history.js';
import { ScoreFormatter, scoreFormatFor } from '../../src/prompting/context/scores.js';
import { encodingForSpec } from '../../src/prompting/notation/encoding.js';
import { entryOf } from '../support/records.js';
import { situation } from './situation.js';

const scales: readonly (readonly [string, (x: number) => number])[] = [
  ['around 1', (x) => x],
  ['of 1e-4', (x) => x * 1e-4],
  ['of 1e-9', (x) => x * 1e-9],
  ['of 1e-30', (x) => x * 1e-30],
  ['of 1e9', (x) => x * 1e9],
  ['of 1e25', (x) => x * 1e25],
  ['close to 1', (x) => 1 + x * 1e-4],
  ['close to −1000', (x) => -1000 + x * 1e-3],
  ['close to a million', (x) => 1e6 + x],
  ['of both signs, small', (x) => (x - 0.5) * 1e-6],
];

const entriesOf = (scores: readonly number[], warmup = 4) =>
  scores.map((score, i) => ({ iteration: Math.max(0, i - warmup + 1), score }));

describe('scores in prompts', () => {
  it.each(scales)('that differ get different texts: %s', (_, scale) => {
    const random = createGenerator(5);
    const scores = Array.from({ length: 300 }, () => scale(random.uniform(0, 1)));
    const texts = new ScoreFormatter();
    texts.register(entriesOf(scores));
    const told = scores.map(texts.textOf);
    expect(new Set(told).size).toBe(300);
    for (const [i, text] of told.entries()) {
      expect(text).toMatch(/^-?\d+(\.\d+)?(e[+-]\d+)?$/);
      // Within a tenth of the spread.
      expect(Math.abs(Number(text) - scores[i]!)).toBeLessThan((scale(1) - scale(0)) / 10);
    }
  });

  it.each(scales)('keep their text as the history grows: %s', (_, scale) => {
    const random = createGenerator(6);
    const entries = entriesOf(Array.from({ length: 100 }, () => scale(random.uniform(0, 1))));
    const growing = new ScoreFormatter();
    const before: string[] = [];
    for (let count = 4; count <= entries.length; count++) {
      const isChanged = growing.register(entries.slice(0, count));
      const told = entries.slice(0, count).map(({ score }) => growing.textOf(score));
      const atOnce = new ScoreFormatter();
      atOnce.register(entries.slice(0, count));
      expect(told).toEqual(entries.slice(0, count).map(({ score }) => atOnce.textOf(score)));
      expect(told.slice(0, before.length)).toEqual(before);
      if (count > 4) expect(isChanged).toBe(false);
      before.splice(0, before.length, ...told);
    }
  });

  it('have two decimals if those distinguish them', () => {
    const scores = [131.349, -1234.5678, 9.35, 500, 0];
    expect(scores.map(scoreFormatFor(scores))).toEqual(['131.35', '-1234.57', '9.35', '500.00', '0.00']);
  });

  it('that are equal up to rounding errors get the same text', () => {
    expect([0.3, 0.1 + 0.2].map(scoreFormatFor([0.3, 0.1 + 0.2]))).toEqual(['0.30', '0.30']);
    expect([5, 5].map(scoreFormatFor([5, 5]))).toEqual(['5.00', '5.00']);
  });

  it('stay distinct if the first scores of a run differ little', () => {
    const scores = [1.0003, 1.0001, 1.0002];
    const texts = new ScoreFormatter();
    texts.register(entriesOf(scores, 1));
    expect(scores.map(texts.textOf)).toEqual(['1.0003', '1.0001', '1.0002']);
  });

  it('have the same text in the lines, the best entry and the ranked entries of a history', async () => {
    const { family } = await situation({ environment: 'MountainCarContinuous-v0' });
    const encoding = encodingForSpec(family.parameters, 'numeric');
    const memory = (await situation({ environment: 'CartPole-v1' })).config.memory;
    const history = createHistory({ encoding, memory });
    const remembered = [1.00031, 1.00012, 1.000125].map((score, i) =>
      entryOf(i < 2 ? 0 : 1, score, { candidate: i, parameters: [i, 0, 0] }),
    );
    const context = history.context({ iteration: 2, iterations: 9, remembered, shown: remembered });
    const lines = context.history.text.split('\n').map((line) => line.split('f(params): ')[1]);
    expect(lines).toEqual(['1.00031', '1.00012', '1.000125']);
    expect(context.best?.score).toBe('1.00031');
    expect(context.history.best.map(({ score }) => score)).toEqual(['1.00012', '1.000125', '1.00031']);
  });
});
