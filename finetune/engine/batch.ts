import { largest } from '../../src/statistics/descriptive.js';
import type { Batch, BatchBlocks } from './training-session.js';

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

/** Tokens that are read for a family. The last token of an answer is only predicted, never read. */
export function familyLength(family: Family<TokenSequence>): number {
  return family.reduce((sum, { completionIds }) => sum + completionIds.length - 1, promptOf(family).length);
}

function promptOf(family: Family<TokenSequence>): readonly number[] {
  return family[0]!.promptIds;
}

/** Places of the blocks that attention reads families in. */
export function blockSizes(
  families: readonly Family<TokenSequence>[],
): Pick<BatchBlocks, 'families' | 'promptTokens' | 'answers' | 'answerTokens'> {
  return {
    families: families.length,
    promptTokens: largest(families.map((family) => promptOf(family).length)) + 1,
    answers: largest(families.map(({ length }) => length)),
    answerTokens: largest(families.flat().map(({ completionIds }) => completionIds.length - 1)) + 1,
  };
}

/** No query stands this late, so that a place without a token is always masked. */
const beyondAnyContext = 2 ** 30;

/** Each answer goes on from the end of its prompt, as if it stood there alone. */
export function makeBatch<E extends TokenSequence>(
  families: readonly Family<E>[],
  inputsOf: InputsOf<E>,
): Batch {
  const tokens = families.reduce((sum, family) => sum + familyLength(family), 0) + 1;
  const sizes = blockSizes(families);
  const { promptTokens, answers, answerTokens } = sizes;
  const perToken = () => new Int32Array(tokens);
  const [ids, positions, lengths, slots] = [perToken(), perToken(), perToken(), perToken()];
  const prompts = new Block(families.length * promptTokens, tokens);
  const replies = new Block(families.length * answers * answerTokens, tokens);
  const targets = new Targets();
  let count = 0;
  /** @param slot of the first token in its block */
  const read = (
    sequence: readonly number[],
    position: number,
    length: number,
    block: Block,
    slot: number,
  ) => {
    for (const [offset, id] of sequence.entries()) {
      ids[count] = id;
      positions[count] = position + offset;
      lengths[count] = length;
      slots[count] = (block === prompts ? 0 : prompts.places.length) + slot + offset;
      block.fill(slot + offset, count, position + offset);
      count++;
    }
  };
  families.forEach((family, f) => {
    const promptIds = promptOf(family);
    read(promptIds, 0, largest(family.map(exampleLength)), prompts, f * promptTokens);
    const promptEnd = count - 1;
    family.forEach((example, answer) => {
      const first = count;
      const slot = (f * answers + answer) * answerTokens;
      read(example.completionIds.slice(0, -1), promptIds.length, exampleLength(example), replies, slot);
      targets.add(example, inputsOf(example), (offset) => (offset === 0 ? promptEnd : first + offset - 1));
    });
    targets.endFamily();
  });
  return {
    ...{ ids, positions, lengths },
    blocks: {
      ...{ ...sizes, slots },
      ...{ promptPlaces: prompts.places, promptPositions: prompts.positions, promptSlots: prompts.slots },
      ...{ answerPlaces: replies.places, answerPositions: replies.positions, answerSlots: replies.slots },
    },
    ...targets.arrays(),
  };
}

/** The places of prompts, or of answers. */
class Block {
  readonly places: Int32Array;
  readonly positions: Int32Array;
  readonly slots: Int32Array;

  /** @param tokens of the batch, of which the last one fills places that have no other */
  constructor(size: number, tokens: number) {
    this.places = new Int32Array(size).fill(tokens - 1);
    this.positions = new Int32Array(size).fill(beyondAnyContext);
    this.slots = new Int32Array(tokens).fill(size - 1);
  }

  fill(slot: number, token: number, position: number): void {
    this.places[slot] = token;
    this.positions[slot] = position;
    this.slots[token] = slot;
  }
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
    const width = largest([1, ...this.#allowed.map(({ length }) => length)]);
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
 * @param families those that the batch was made of
 */
export function byExample<E extends TokenSequence>(
  families: readonly Family<E>[],
  values: ArrayLike<number>,
): readonly { readonly example: E; readonly values: Float64Array }[] {
  let place = 0;
  return families.flat().map((example) => ({
    example,
    values: Float64Array.from(example.completionIds, (_, offset) =>
      example.trained?.[offset] === false ? 0 : values[place++]!,
    ),
  }));
}
