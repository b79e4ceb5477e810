import { commonPrefixLength } from '../../src/models/local/generation/prompt-caches.js';
import { largest } from '../../src/statistics/descriptive.js';

export interface TokenSequence {
  readonly promptIds: readonly number[];
  /** Includes the end-of-sequence token if the model is trained on it. */
  readonly completionIds: readonly number[];
  /** Marks the completion tokens to train on; the others are context only. Default: all. */
  readonly trained?: readonly boolean[] | undefined;
  /** For each completion token, the ids that its probability is relative to; null (the default): all ids. */
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

/** Returns an example's values for the objective's inputs: one number for all tokens, or one per completion token. */
export type GetInputs<E extends TokenSequence> = (
  example: E,
) => Readonly<Record<string, number | ArrayLike<number>>>;

export function exampleLength({ promptIds, completionIds }: TokenSequence): number {
  return promptIds.length + completionIds.length;
}

export function trainedLength({ completionIds, trained }: TokenSequence): number {
  return trained === undefined ? completionIds.length : trained.filter(Boolean).length;
}

/** Returns the number of tokens of a family that the model reads. */
export function familyLength(family: Family<TokenSequence>): number {
  const sharedLength = prefixLength(family);
  return family.reduce((sum, example) => sum + inputLength(example) - sharedLength, sharedLength);
}

/** Returns the length of the common prefix of the family's prompts. */
export function prefixLength([first, ...others]: Family<TokenSequence>): number {
  const { promptIds } = first!;
  return others.reduce(
    (length, other) => Math.min(length, commonPrefixLength(promptIds, other.promptIds)),
    promptIds.length,
  );
}

/** Returns the number of tokens of an example that the model reads; its last trained token is only predicted. */
function inputLength({ completionIds, promptIds, trained }: TokenSequence): number {
  return promptIds.length + Math.max(0, trained?.lastIndexOf(true) ?? completionIds.length - 1);
}

/** Dimensions of the attention blocks that hold the families. An extra slot per row keeps a block's last slot empty. */
export function blockSizes(families: readonly Family<TokenSequence>[]) {
  const sharedLengths = families.map(prefixLength);
  return {
    familyCount: families.length,
    promptTokens: largest(sharedLengths) + 1,
    replyCount: largest(families.map(({ length }) => length)),
    replyTokens:
      largest(families.flatMap((family, f) => family.map((one) => inputLength(one) - sharedLengths[f]!))) + 1,
  };
}

interface BatchInput {
  readonly values: Int32Array | Float64Array;
  readonly shape: readonly number[];
}

/** Concatenated sequences and their targets: the inputs of the training graph by name (see `buildTrainingGraph`). */
export type Batch = Readonly<Record<string, BatchInput>>;

/** Position given to empty slots. It is later than any query's, so the causal mask always hides them. */
const emptySlotPosition = 2 ** 30;

/** Packs families into one batch, in which each example attends only to its own prompt and itself. */
export function makeBatch<E extends TokenSequence>(
  families: readonly Family<E>[],
  inputsOf: GetInputs<E>,
): Batch {
  const tokens = families.reduce((sum, family) => sum + familyLength(family), 0) + 1;
  const { promptTokens, replyCount, replyTokens } = blockSizes(families);
  const tokenArray = () => new Int32Array(tokens);
  const [ids, positions, lengths, slots] = [tokenArray(), tokenArray(), tokenArray(), tokenArray()];
  const prompts = new AttentionBlock(families.length * promptTokens, tokens);
  const replies = new AttentionBlock(families.length * replyCount * replyTokens, tokens);
  const selectedRows: number[] = [];
  const targets: number[] = [];
  const allowedIds: (readonly number[])[] = [];
  const groups = { sequences: [] as number[], families: [] as number[] };
  const columns = new Map<string, number[]>();
  let count = 0;
  let sequenceIndex = 0;
  /** @param slot index of the first token's slot in the block */
  const appendTokens = (
    sequence: readonly number[],
    position: number,
    length: number,
    block: AttentionBlock,
    slot: number,
  ) => {
    for (const [offset, id] of sequence.entries()) {
      ids[count] = id;
      positions[count] = position + offset;
      lengths[count] = length;
      slots[count] = (block === prompts ? 0 : prompts.tokens.length) + slot + offset;
      block.fill(slot + offset, count, position + offset);
      count++;
    }
  };
  for (const [f, family] of families.entries()) {
    const sharedTokens = prefixLength(family);
    const longest = largest(family.map(exampleLength));
    appendTokens(family[0]!.promptIds.slice(0, sharedTokens), 0, longest, prompts, f * promptTokens);
    const sharedEnd = count - 1;
    for (const [i, example] of family.entries()) {
      const { completionIds, promptIds, trained } = example;
      const rowOffset = count - sharedTokens;
      const ownIds = [...promptIds, ...completionIds].slice(sharedTokens, inputLength(example));
      appendTokens(ownIds, sharedTokens, exampleLength(example), replies, (f * replyCount + i) * replyTokens);
      const inputs = Object.entries(inputsOf(example));
      for (const [offset, id] of completionIds.entries()) {
        if (trained?.[offset] === false) continue;
        const predictorIndex = promptIds.length + offset - 1;
        selectedRows.push(predictorIndex < sharedTokens ? sharedEnd : rowOffset + predictorIndex);
        targets.push(id);
        allowedIds.push(example.allowed?.[offset] ?? []);
        groups.sequences.push(sequenceIndex);
        groups.families.push(f);
        for (const [name, value] of inputs) {
          const column = columns.get(name) ?? [];
          columns.set(name, column);
          column.push(typeof value === 'number' ? value : value[offset]!);
        }
      }
      sequenceIndex++;
    }
  }
  const width = largest([1, ...allowedIds.map(({ length }) => length)]);
  const choices = new Int32Array(allowedIds.length * width).fill(-1);
  for (const [row, rowIds] of allowedIds.entries()) choices.set(rowIds, row * width);
  const integers = (values: ArrayLike<number>, shape = [values.length]): BatchInput => ({
    values: Int32Array.from(values),
    shape,
  });
  const floats = (values: number[]) => ({ values: Float64Array.from(values), shape: [values.length] });
  const promptInput = (values: Int32Array) => integers(values, [families.length, promptTokens]);
  const replyInput = (values: Int32Array) => integers(values, [families.length, replyCount, replyTokens]);
  return {
    input_ids: integers(ids, [1, tokens]),
    positions: integers(positions, [1, tokens]),
    sequence_tokens: integers(lengths, [1, tokens]),
    'blocks.prompts': promptInput(prompts.tokens),
    'blocks.prompt_positions': promptInput(prompts.positions),
    'blocks.replies': replyInput(replies.tokens),
    'blocks.reply_positions': replyInput(replies.positions),
    'blocks.slots': integers(slots),
    'blocks.prompt_slots': integers(prompts.slots),
    'blocks.reply_slots': integers(replies.slots),
    selected: integers(selectedRows),
    targets: integers(targets),
    allowed: integers(choices, [targets.length, width]),
    sequences: integers(groups.sequences),
    families: integers(groups.families),
    ...Object.fromEntries([...columns].map(([name, column]) => [name, floats(column)])),
  };
}

/** Maps the slots of an attention block to tokens and back, for either the shared prompts or the remaining tokens. */
class AttentionBlock {
  readonly tokens: Int32Array;
  readonly positions: Int32Array;
  readonly slots: Int32Array;

  /** @param tokens number of tokens in the batch; the last one is padding and fills the empty slots */
  constructor(size: number, tokens: number) {
    this.tokens = new Int32Array(size).fill(tokens - 1);
    this.positions = new Int32Array(size).fill(emptySlotPosition);
    this.slots = new Int32Array(tokens).fill(size - 1);
  }

  fill(slot: number, token: number, position: number): void {
    this.tokens[slot] = token;
    this.positions[slot] = position;
    this.slots[token] = slot;
  }
}

/** The graph's results for one example: one number per completion token, 0 for untrained tokens. */
export interface ExampleResult<E extends TokenSequence> {
  readonly example: E;
  readonly logp: Float64Array;
  /** The objective's additional outputs, by name. */
  readonly outputs: Readonly<Record<string, Float64Array>>;
}

/** Splits the values of a batch's targets among its examples: one per completion token, 0 for untrained tokens. */
export function distribute<E extends TokenSequence>(
  families: readonly Family<E>[],
  values: ArrayLike<number>,
): readonly { readonly example: E; readonly values: Float64Array }[] {
  let index = 0;
  return families.flat().map((example) => ({
    example,
    values: Float64Array.from(example.completionIds, (_, offset) =>
      example.trained?.[offset] === false ? 0 : values[index++]!,
    ),
  }));
}
