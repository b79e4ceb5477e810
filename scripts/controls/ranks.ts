import { mean } from '../../src/statistics/descriptive.js';

/**
 * Mean rank of each column over rows of values; rank 1 is the highest, and ties get their mean rank.
 * @throws RangeError if rows differ in length
 */
export function meanRanks(rows: readonly (readonly number[])[]): readonly number[] {
  const columns = rows[0]?.length ?? 0;
  if (rows.some(({ length }) => length !== columns)) throw new RangeError('rows have different lengths');
  const ranked = rows.map((row) =>
    row.map((value) => {
      const higher = row.filter((other) => other > value).length;
      const equal = row.filter((other) => other === value).length;
      return higher + (equal + 1) / 2;
    }),
  );
  return Array.from({ length: columns }, (_, i) => mean(ranked.map((row) => row[i]!)));
}
