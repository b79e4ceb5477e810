const blocks = '▁▂▃▄▅▆▇█';

/**
 * The values as a line of block characters, lowest to highest of them. More values than `width` are averaged over
 * equal stretches; values that are not finite leave a gap.
 */
export function sparkline(values: readonly number[], width = 40): string {
  const columns = Math.min(values.length, Math.max(1, Math.floor(width)));
  const heights = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * values.length) / columns);
    const to = Math.floor(((column + 1) * values.length) / columns);
    const finite = values.slice(from, to).filter(Number.isFinite);
    return finite.reduce((sum, value) => sum + value / finite.length, finite.length === 0 ? Number.NaN : 0);
  });
  const finite = heights.filter(Number.isFinite);
  const low = finite.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  const high = finite.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  return heights
    .map((value) => {
      if (!Number.isFinite(value)) return ' ';
      // Divided first: the difference of two large values could overflow.
      const share = high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
      return blocks[Math.min(blocks.length - 1, Math.floor(share * blocks.length))];
    })
    .join('');
}
