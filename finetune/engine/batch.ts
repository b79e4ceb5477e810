import type { Batch } from './training-session.js';

/** A prompt and the answer to learn, as the model reads them. */
export interface TokenExample {
  readonly promptIds: readonly number[];
  /** The token that ends the answer included. */
  readonly completionIds: readonly number[];
  /** Weight of each token of the answer. */
  readonly weight: number;
}

/** Examples with the same prompt, which is read once for all of them. */
export type Family = readonly TokenExample[];

/** One row: families one after another, none of which sees another. */
export type Row = readonly Family[];

export function exampleLength({ promptIds, completionIds }: TokenExample): number {
  return promptIds.length + completionIds.length;
}

/** Tokens that are read for a row. The last token of an answer is only predicted, never read. */
export function rowLength(row: Row): number {
  return row.reduce((sum, family) => sum + familyLength(family), 0);
}

export function familyLength(family: Family): number {
  return family.reduce((sum, { completionIds }) => sum + completionIds.length - 1, promptOf(family).length);
}

function promptOf(family: Family): readonly number[] {
  return family[0]!.promptIds;
}

/** Σ |weight| over the answers' tokens: the divisor that makes the loss a mean. */
export function totalWeight(examples: readonly TokenExample[]): number {
  return examples.reduce(
    (sum, { completionIds, weight }) => sum + Math.abs(weight) * completionIds.length,
    0,
  );
}

/**
 * One batch of rows, padded on the right to the longest. Each answer goes on from the end of its prompt, as if it
 * stood there alone.
 * @param normalizer divides the weights; that of all batches of a step makes their losses and gradients add up
 */
export function makeBatch(rows: readonly Row[], normalizer: number): Batch {
  const tokens = Math.max(...rows.map(rowLength));
  const size = rows.length * tokens;
  const ids = new Int32Array(size);
  const positions = new Int32Array(size);
  // Padding is a segment of its own.
  const segments = new Int32Array(size).fill(-1);
  const prefixes = new Int32Array(size).fill(-1);
  const selected: number[] = [];
  const targets: number[] = [];
  const weights: number[] = [];
  rows.forEach((row, index) => {
    let place = index * tokens;
    let segment = -1;
    /** @returns the place of the last token, or of the one before where there is none */
    const read = (sequence: readonly number[], position: number, prefix: number): number => {
      ids.set(sequence, place);
      for (const [offset] of sequence.entries()) positions[place + offset] = position + offset;
      segments.fill(segment, place, place + sequence.length);
      prefixes.fill(prefix, place, place + sequence.length);
      place += sequence.length;
      return place - 1;
    };
    for (const family of row) {
      const prompt = ++segment;
      const promptIds = promptOf(family);
      const promptEnd = read(promptIds, 0, prompt);
      for (const { completionIds, weight } of family) {
        segment++;
        const first = place;
        read(completionIds.slice(0, -1), promptIds.length, prompt);
        completionIds.forEach((id, offset) => {
          selected.push(offset === 0 ? promptEnd : first + offset - 1);
          targets.push(id);
          weights.push(weight / normalizer);
        });
      }
    }
  });
  return {
    ids,
    positions,
    segments,
    prefixes,
    rows: rows.length,
    tokens,
    selected: Int32Array.from(selected),
    targets: Int32Array.from(targets),
    weights: Float64Array.from(weights),
  };
}
