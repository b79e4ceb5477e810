import type { Batch } from './training-session.js';

/** A prompt and what follows it, as the model reads them. */
export interface TokenSequence {
  readonly promptIds: readonly number[];
  /** The token that ends the answer included. */
  readonly completionIds: readonly number[];
  /** Whether each token of the completion is trained. The others, such as an environment's, are only read. Absent: all. */
  readonly trained?: readonly boolean[] | undefined;
  /** Ids that each token of the completion was chosen from, itself among them; null, or absent: the whole vocabulary. */
  readonly allowed?: readonly (readonly number[] | null)[] | undefined;
}

/** A prompt and the answer to learn. */
export interface TokenExample extends TokenSequence {
  /** Weight of each token of the answer. */
  readonly weight: number;
  /** A factor of it for each token of the completion. Absent: 1. */
  readonly factors?: readonly number[] | undefined;
}

/** Examples with the same prompt, which is read once for all of them. */
export type Family<E extends TokenSequence = TokenExample> = readonly E[];

/** One row: families one after another, none of which sees another. */
export type Row<E extends TokenSequence = TokenExample> = readonly Family<E>[];

/**
 * An example's numbers by the names of the objective's inputs: one for all of its tokens, or one for each token of the
 * completion, of which those of trained tokens are read.
 */
export type InputsOf<E extends TokenSequence> = (
  example: E,
) => Readonly<Record<string, number | ArrayLike<number>>>;

export function exampleLength({ promptIds, completionIds }: TokenSequence): number {
  return promptIds.length + completionIds.length;
}

/** How many tokens of an example are trained. */
export function trainedLength({ completionIds, trained }: TokenSequence): number {
  return trained === undefined ? completionIds.length : trained.filter(Boolean).length;
}

/** Tokens that are read for a row. The last token of an answer is only predicted, never read. */
export function rowLength(row: Row<TokenSequence>): number {
  return row.reduce((sum, family) => sum + familyLength(family), 0);
}

export function familyLength(family: Family<TokenSequence>): number {
  return family.reduce((sum, { completionIds }) => sum + completionIds.length - 1, promptOf(family).length);
}

function promptOf(family: Family<TokenSequence>): readonly number[] {
  return family[0]!.promptIds;
}

/**
 * One batch of rows, padded on the right to the longest. Each answer goes on from the end of its prompt, as if it
 * stood there alone.
 */
export function makeBatch<E extends TokenSequence>(rows: readonly Row<E>[], inputsOf: InputsOf<E>): Batch {
  const tokens = Math.max(...rows.map(rowLength));
  const size = rows.length * tokens;
  const ids = new Int32Array(size);
  const positions = new Int32Array(size);
  // Padding is a segment of its own.
  const segments = new Int32Array(size).fill(-1);
  const prefixes = new Int32Array(size).fill(-1);
  const targets = new Targets();
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
      for (const example of family) {
        segment++;
        const first = place;
        read(example.completionIds.slice(0, -1), promptIds.length, prompt);
        targets.add(example, inputsOf(example), (offset) => (offset === 0 ? promptEnd : first + offset - 1));
      }
      targets.endFamily();
    }
  });
  return { ids, positions, segments, prefixes, rows: rows.length, tokens, ...targets.arrays() };
}

/** Collects the trained tokens of a batch in the order of its examples. */
class Targets {
  readonly #selected: number[] = [];
  readonly #targets: number[] = [];
  readonly #sequences: number[] = [];
  readonly #families: number[] = [];
  readonly #allowed: (readonly number[])[] = [];
  readonly #inputs = new Map<string, number[]>();
  #sequence = 0;
  #family = 0;

  /** @param before place of the token in front of the one at an offset of the completion */
  add(
    { allowed, completionIds, trained }: TokenSequence,
    inputs: ReturnType<InputsOf<TokenSequence>>,
    before: (offset: number) => number,
  ): void {
    const columns = Object.entries(inputs).map(([name, own]) => {
      const column = this.#inputs.get(name) ?? [];
      this.#inputs.set(name, column);
      return { column, own };
    });
    completionIds.forEach((id, offset) => {
      if (trained?.[offset] === false) return;
      this.#selected.push(before(offset));
      this.#targets.push(id);
      this.#allowed.push(allowed?.[offset] ?? []);
      this.#sequences.push(this.#sequence);
      this.#families.push(this.#family);
      for (const { column, own } of columns) column.push(typeof own === 'number' ? own : own[offset]!);
    });
    this.#sequence++;
  }

  endFamily(): void {
    this.#family++;
  }

  arrays(): Pick<Batch, 'selected' | 'targets' | 'allowed' | 'sequences' | 'families' | 'inputs'> {
    const width = Math.max(1, ...this.#allowed.map(({ length }) => length));
    const allowed = new Int32Array(this.#allowed.length * width).fill(-1);
    for (const [row, ids] of this.#allowed.entries()) allowed.set(ids, row * width);
    return {
      allowed,
      selected: Int32Array.from(this.#selected),
      targets: Int32Array.from(this.#targets),
      sequences: Int32Array.from(this.#sequences),
      families: Int32Array.from(this.#families),
      inputs: Object.fromEntries(
        [...this.#inputs].map(([name, column]) => [name, Float64Array.from(column)]),
      ),
    };
  }
}

/** What the graph computed of an example's tokens: a number for each token of its completion, 0 where not trained. */
export interface ReadExample<E extends TokenSequence> {
  readonly example: E;
  readonly logp: Float64Array;
  /** The objective's further outputs, by their names. */
  readonly outputs: Readonly<Record<string, Float64Array>>;
}

/**
 * Values of a batch's targets for each of its examples: one for each token of the completion, 0 where it isn't trained.
 * @param rows those that the batch was made of
 */
export function byExample<E extends TokenSequence>(
  rows: readonly Row<E>[],
  values: ArrayLike<number>,
): readonly { readonly example: E; readonly values: Float64Array }[] {
  let place = 0;
  return rows.flat(2).map((example) => ({
    example,
    values: Float64Array.from(example.completionIds, (_, offset) =>
      example.trained?.[offset] === false ? 0 : values[place++]!,
    ),
  }));
}
