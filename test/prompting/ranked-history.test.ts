import { describe, expect, it } from 'vitest';
import { rankHistory } from '../../src/prompting/context/history.js';
import { encodingForSpec } from '../../src/prompting/notation/encoding.js';
import { entryOf } from '../support/records.js';

const encoding = encodingForSpec({ count: 1, kind: 'float', low: -6, high: 6, decimals: 1 }, 'numeric');
const entries = [entryOf(1, 5), entryOf(2, -10), entryOf(3, 20), entryOf(4, 5)];
const parameters = (rows: readonly { readonly parameters: string }[]) => rows.map((row) => row.parameters);

describe('rankHistory', () => {
  it('returns the best entries with the top one last, and the others in order of time', () => {
    const { best, others } = rankHistory(entries, encoding, { best: 2, recent: 2 });
    expect(parameters(best)).toEqual(['params[0]: 1.0', 'params[0]: 3.0']);
    expect(parameters(others)).toEqual(['params[0]: 2.0', 'params[0]: 4.0']);
    expect(parameters(rankHistory(entries, encoding, {}).best).at(-1)).toBe('params[0]: 3.0');
  });

  it('scales scores to 0–99 over all shown entries', () => {
    const { best, others } = rankHistory(entries, encoding, { best: 1, recent: 3 });
    expect([...others, ...best].map(({ percent }) => percent)).toEqual([50, 0, 50, 99]);
  });

  it('gives 50 if all scores are equal, and nothing for an empty history', () => {
    expect(
      rankHistory([entryOf(1, 3), entryOf(2, 3)], encoding, {}).best.map(({ percent }) => percent),
    ).toEqual([50, 50]);
    expect(rankHistory([], encoding, { best: 2 })).toEqual({ best: [], others: [] });
  });

  it('counts all entries as best if memory shows everything, and none if it shows only recent ones', () => {
    expect(rankHistory(entries, encoding, {}).others).toEqual([]);
    expect(rankHistory(entries, encoding, { recent: 4 }).best).toEqual([]);
  });
});
