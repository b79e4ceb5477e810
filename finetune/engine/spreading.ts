/**
 * An orthogonal matrix that spreads single large numbers over their neighbours before rounding, as QuaRot does (Ashkboos
 * et al. 2024, arXiv 2404.00456): x·Wᵀ = (x·R)·(W·R)ᵀ. R is the same small matrix for each block of columns: signs times a
 * Hadamard matrix.
 */
const widest = 64;

/** Columns that are mixed: the largest power of two up to 64 that divides them all. */
export function blockOf(columns: number): number {
  let block = 1;
  while (block < widest && columns % (2 * block) === 0) block *= 2;
  return block;
}

/** Fixed, and without a pattern: without signs, equal numbers would become one large one. */
const signOf = (column: number) => (Math.imul(column + 1, 0x9e3779b1) & 0x10000 ? -1 : 1);

/** Multiplies each block of each row by R, in place. */
export function spreadRows(rows: Float32Array, columns: number): void {
  const block = blockOf(columns);
  const scale = 1 / Math.sqrt(block);
  for (let start = 0; start < rows.length; start += block) {
    for (let i = 0; i < block; i++) rows[start + i] = rows[start + i]! * signOf(i) * scale;
    for (let half = 1; half < block; half *= 2)
      for (let i = 0; i < block; i += 2 * half)
        for (let j = start + i; j < start + i + half; j++) {
          const [a, b] = [rows[j]!, rows[j + half]!];
          rows[j] = a + b;
          rows[j + half] = a - b;
        }
  }
}

/** R itself: [block, block]. */
export function spreadingMatrix(block: number): Float32Array {
  const rows = new Float32Array(block * block);
  for (let i = 0; i < block; i++) rows[i * (block + 1)] = 1;
  spreadRows(rows, block);
  return rows;
}
