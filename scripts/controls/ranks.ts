import { mean } from '../../src/statistics/descriptive.js';

/**
 * The mean rank of each column over rows of values, 1 for the highest; equals share the mean of their ranks.
 * @throws RangeError if rows differ in length
 */
export function meanRanks(rows: readonly (readonly number[])[]): readonly number[] {
  const columns = rows[0]?.length ?? 0;
  if (rows.some(({ length }) => length !== columns)) throw new RangeError('rows of different lengths');
  const ranked = rows.map((row) =>
    row.map((value) => {
      const higher = row.filter((other) => other > value).length;
      const equal = row.filter((other) => other === value).length;
      return higher + (equal + 1) / 2;
    }),
  );
  return Array.from({ length: columns }, (_, i) => mean(ranked.map((row) => row[i]!)));
}
