import { commonPrefix } from '../../src/models/local/generation/prompt-caches.js';
import { largest } from '../../src/statistics/descriptive.js';
import type { Batch, BatchBlocks } from './training-session.js';

export interface TokenSequence {
  readonly promptIds: readonly number[];
  /** Includes the end-of-sequence token, unless the completion was cut off. */
  readonly completionIds: readonly number[];
  /** Marks the completion tokens to train on; the others are context only. Default: all. */
  readonly trained?: readonly boolean[] | undefined;
  /** For each completion token, the ids it was sampled from; null (the default) means the whole vocabulary. */
  readonly allowed?: readonly (readonly number[] | null)[] | undefined;
}

export interface TokenExample extends TokenSequence {
  /** Weight of each completion token in the loss. */
  readonly weight: number;
  /** Factors that multiply `weight`, one per completion token. Default: 1. */
  readonly factors?: readonly number[] | undefined;
}

/** Examples read together; the model reads the common prefix of their prompts only once. */
export type Family<E extends TokenSequence = TokenExample> = readonly E[];

/** An example's values for the objective's inputs, by name: one number for all tokens, or one per completion token. */
export type InputsOf<E extends TokenSequence> = (
  example: E,
) => Readonly<Record<string, number | ArrayLike<number>>>;

export function exampleLength({ promptIds, completionIds }: TokenSequence): number {
  return promptIds.length + completionIds.length;
}

export function trainedLength({ completionIds, trained }: TokenSequence): number {
  return trained === undefined ? completionIds.length : trained.filter(Boolean).length;
}

/** Number of tokens the model reads. */
export function familyLength(family: Family<TokenSequence>): number {
  const shared = sharedLength(family);
  return family.reduce((sum, example) => sum + readLength(example) - shared, shared);
}

/** Length of the common prefix of the family's prompts. */
export function sharedLength([first, ...others]: Family<TokenSequence>): number {
  const { promptIds } = first!;
  return others.reduce(
    (shared, other) => Math.min(shared, commonPrefix(promptIds, other.promptIds)),
    promptIds.length,
  );
}

/** Number of tokens of an example that the model reads; its last trained token is only predicted. */
function readLength({ completionIds, promptIds, trained }: TokenSequence): number {
  return promptIds.length + Math.max(0, trained?.lastIndexOf(true) ?? completionIds.length - 1);
}

/** Dimensions of the attention blocks that hold the families. An extra slot per row keeps a block's last slot empty. */
export function blockSizes(
  families: readonly Family<TokenSequence>[],
): Pick<BatchBlocks, 'families' | 'promptTokens' | 'answers' | 'answerTokens'> {
  const shared = families.map(sharedLength);
  return {
    families: families.length,
    promptTokens: largest(shared) + 1,
    answers: largest(families.map(({ length }) => length)),
    answerTokens:
      largest(families.flatMap((family, f) => family.map((one) => readLength(one) - shared[f]!))) + 1,
  };
}

/** Position given to empty slots. It is later than any query, so the causal mask always hides them. */
const beyondAnyContext = 2 ** 30;

/** Packs families into one batch, in which each example sees only its own prompt and itself. */
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
  /** @param slot index of the first token's slot in the block */
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
    const shared = sharedLength(family);
    read(
      family[0]!.promptIds.slice(0, shared),
      0,
      largest(family.map(exampleLength)),
      prompts,
      f * promptTokens,
    );
    const sharedEnd = count - 1;
    family.forEach((example, answer) => {
      const { completionIds, promptIds } = example;
      const first = count - shared;
      const own = [...promptIds, ...completionIds].slice(shared, readLength(example));
      read(own, shared, exampleLength(example), replies, (f * answers + answer) * answerTokens);
      targets.add(example, inputsOf(example), (offset) => {
        const before = promptIds.length + offset - 1;
        return before < shared ? sharedEnd : first + before;
      });
    });
    targets.endFamily();
  });
  return {
    ids,
    positions,
    lengths,
    blocks: {
      ...sizes,
      slots,
      promptPlaces: prompts.places,
      promptPositions: prompts.positions,
      promptSlots: prompts.slots,
      answerPlaces: replies.places,
      answerPositions: replies.positions,
      answerSlots: replies.slots,
    },
    ...targets.arrays(),
  };
}

/** Maps the slots of an attention block to tokens and back, for either the shared prompts or the remaining tokens. */
class Block {
  readonly places: Int32Array;
  readonly positions: Int32Array;
  readonly slots: Int32Array;

  /** @param tokens number of tokens in the batch; the last one is padding and fills the empty slots */
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

/** Collects the trained tokens of a batch, in the order of its examples. */
class Targets {
  readonly #selected: number[] = [];
  readonly #targets: number[] = [];
  readonly #sequences: number[] = [];
  readonly #families: number[] = [];
  readonly #allowed: (readonly number[])[] = [];
  readonly #inputs = new Map<string, number[]>();
  #sequence = 0;
  #family = 0;

  /** @param before maps an offset in the completion to the batch index of the preceding token */
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

/** The graph's results for one example: one number per completion token, 0 for untrained tokens. */
export interface ReadExample<E extends TokenSequence> {
  readonly example: E;
  readonly logp: Float64Array;
  /** The objective's additional outputs, by name. */
  readonly outputs: Readonly<Record<string, Float64Array>>;
}

/** Distributes the values of a batch's targets to its examples: one per completion token, 0 for untrained tokens. */
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
