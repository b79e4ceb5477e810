import { largest } from '../../../statistics/descriptive.js';
import { attentionLayers, type DecoderConfig } from '../weights/decoder-config.js';
import { ort } from './onnx-runtime.js';

/** Shape of a token's keys and of its values: layers × kvHeads × headDim float32 numbers each. */
export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

export const bytesPerToken = ({ layers, kvHeads, headDim }: CacheShape): number =>
  8 * layers * kvHeads * headDim;

export const cacheShape = (config: DecoderConfig): CacheShape => ({
  layers: attentionLayers(config).length,
  kvHeads: config.kvHeads,
  headDim: config.headDim,
});

/** Keys and values of new tokens, per layer, each [kvHeads, rows, tokens, headDim], in the session's memory. */
export interface NewEntries {
  readonly keys: readonly ort.Tensor[];
  readonly values: readonly ort.Tensor[];
  readonly tokens: number;
}

/** Keys and values of a batch of sequences. */
export interface TokenCache {
  readonly rows: number;
  readonly lengths: readonly number[];
  /** The largest of `lengths`. */
  readonly length: number;
  /** Slots per row, at least 1. Slots after a row's last token are spare. */
  readonly capacity: number;
  /** 2 × layers tensors [kvHeads, rows, capacity, headDim], keys before values; valid until the next modification. */
  tensors(): readonly ort.Tensor[];
  reset(rows: number): void;
  truncate(length: number): void;
  /** Appends tokens to each row; `entries` must not be used afterwards. */
  append(entries: NewEntries, blockSize?: number): void | Promise<void>;
  /** Adds a row for each sequence. Absent if all rows must have the same length. */
  join?(sequences: readonly NewEntries[], blockSize: number): void;
  /** Keeps only these rows, given in ascending order. */
  keepRows(rows: readonly number[]): void | Promise<void>;
  /** Copies one row's tokens from `from` up to, but not including, `to` (default: all). */
  entries(row: number, from?: number, to?: number): NewEntries | Promise<NewEntries>;
}

/** A cache in this process's memory, which the runtime reads in place on the CPU. Buffers never shrink. */
export class KeyValueCache implements TokenCache {
  readonly shape: CacheShape;
  /** 2 × layers buffers: the keys of each layer, then the values of each layer. */
  readonly #buffers: Float32Array[];
  #lengths: number[] = [0];
  #capacity = 1;
  /** Recreated when a shape or a buffer changes. */
  #tensors: readonly ort.Tensor[] | undefined;

  constructor(shape: CacheShape) {
    this.shape = shape;
    const { headDim, kvHeads, layers } = shape;
    this.#buffers = Array.from({ length: 2 * layers }, () => new Float32Array(kvHeads * headDim));
  }

  get rows(): number {
    return this.#lengths.length;
  }

  get lengths(): readonly number[] {
    return this.#lengths;
  }

  get length(): number {
    return largest([0, ...this.#lengths]);
  }

  get capacity(): number {
    return this.#capacity;
  }

  tensors(): readonly ort.Tensor[] {
    if (this.#tensors !== undefined) return this.#tensors;
    const shape = [this.shape.kvHeads, this.rows, this.#capacity, this.shape.headDim];
    const size = shape.reduce((product, dimension) => product * dimension);
    this.#tensors = this.#buffers.map((buffer) => new ort.Tensor('float32', buffer.subarray(0, size), shape));
    return this.#tensors;
  }

  reset(rows: number): void {
    this.#layOut(Array<number>(rows).fill(0), 1, []);
  }

  truncate(length: number): void {
    const lengths = this.#lengths.map((rowLength) => Math.min(length, rowLength));
    this.#layOut(lengths, largest([1, ...lengths]), [...lengths.keys()]);
  }

  /** The capacity grows to a multiple of `blockSize`, so with large blocks, appending a token rarely moves data. */
  append(entries: NewEntries, blockSize = 1): void {
    const { kvHeads, headDim, layers } = this.shape;
    const length = this.length + entries.tokens;
    if (length > this.#capacity)
      this.#layOut(this.#lengths, Math.ceil(length / blockSize) * blockSize, [...this.#lengths.keys()]);
    const strip = entries.tokens * headDim;
    const { rows } = this;
    for (let i = 0; i < 2 * layers; i++) {
      const source = (i < layers ? entries.keys[i]! : entries.values[i - layers]!).data as Float32Array;
      const target = this.#buffers[i]!;
      for (let line = 0; line < kvHeads * rows; line++) {
        const start = (line * this.#capacity + this.#lengths[line % rows]!) * headDim;
        copyPart(target, start, source, line * strip, strip);
      }
    }
    this.#lengths = this.#lengths.map((rowLength) => rowLength + entries.tokens);
  }

  join(sequences: readonly NewEntries[], blockSize: number): void {
    const { kvHeads, headDim } = this.shape;
    const oldRows = [...this.#lengths.keys()];
    const lengths = [...this.#lengths, ...sequences.map(({ tokens }) => tokens)];
    const capacity = Math.ceil(largest(lengths) / blockSize) * blockSize;
    this.#layOut(lengths, Math.max(this.#capacity, capacity), oldRows);
    for (const [i, { keys, values, tokens }] of sequences.entries()) {
      const row = oldRows.length + i;
      const line = tokens * headDim;
      [...keys, ...values].forEach(({ data }, part) => {
        for (let head = 0; head < kvHeads; head++) {
          const source = (data as Float32Array).subarray(head * line, (head + 1) * line);
          this.#buffers[part]!.set(source, (head * this.rows + row) * this.#capacity * headDim);
        }
      });
    }
  }

  keepRows(rows: readonly number[]): void {
    this.#layOut(
      rows.map((row) => this.#lengths[row]!),
      this.#capacity,
      rows,
    );
  }

  entries(row: number, from = 0, to = this.#lengths[row]!): NewEntries {
    const { kvHeads, headDim, layers } = this.shape;
    const tokens = to - from;
    const line = tokens * headDim;
    const copies = this.#buffers.map((buffer) => {
      const copy = new Float32Array(kvHeads * line);
      for (let head = 0; head < kvHeads; head++) {
        const start = ((head * this.rows + row) * this.#capacity + from) * headDim;
        copy.set(buffer.subarray(start, start + line), head * line);
      }
      return new ort.Tensor('float32', copy, [kvHeads, 1, tokens, headDim]);
    });
    return { keys: copies.slice(0, layers), values: copies.slice(layers), tokens };
  }

  /**
   * Rearranges the stored tokens for new numbers of rows and slots. If rows are kept, one mustn't grow while the other
   * shrinks. `lengths`: tokens in each new row; `keptRows`: old index of each kept row; these rows come first.
   */
  #layOut(lengths: number[], capacity: number, keptRows: readonly number[]): void {
    const { kvHeads, headDim } = this.shape;
    const moves = Array.from({ length: kvHeads }, (_, head) =>
      keptRows.map((row, i) => ({
        from: (head * this.rows + row) * this.#capacity * headDim,
        to: (head * lengths.length + i) * capacity * headDim,
        size: lengths[i]! * headDim,
      })),
    ).flat();
    // If lines move apart, move the last one first, so that no line is overwritten before it has moved.
    if (moves.some(({ from, to }) => to > from)) moves.reverse();
    const neededSize = kvHeads * lengths.length * capacity * headDim;
    this.#buffers.forEach((buffer, index) => {
      const target = neededSize > buffer.length ? new Float32Array(Math.ceil(neededSize * 1.25)) : buffer;
      for (const { from, to, size } of moves) target.set(buffer.subarray(from, from + size), to);
      this.#buffers[index] = target;
    });
    this.#lengths = lengths;
    this.#capacity = capacity;
    this.#tensors = undefined;
  }
}

/** Up to this many numbers, copying them one by one is faster than creating a view. */
const smallCopySize = 256;

function copyPart(target: Float32Array, at: number, source: Float32Array, from: number, count: number): void {
  if (count > smallCopySize) target.set(source.subarray(from, from + count), at);
  else for (let i = 0; i < count; i++) target[at + i] = source[from + i]!;
}

/** States of recurrent layers, in the order of `stateShapes`, each [rows, …]. Never modified in place. */
export type LayerStates = readonly Float32Array[];

/** Repeats a single row for `rows` sequences that all continue from it. */
export function tileStates(states: LayerStates, rows: number): LayerStates {
  if (rows === 1) return states;
  return states.map((state) => {
    const tiled = new Float32Array(rows * state.length);
    for (let row = 0; row < rows; row++) tiled.set(state, row * state.length);
    return tiled;
  });
}

export function joinStates(states: LayerStates, newStates: LayerStates): LayerStates {
  if (states.length === 0) return newStates;
  return states.map((state, i) => {
    const joined = new Float32Array(state.length + newStates[i]!.length);
    joined.set(state);
    joined.set(newStates[i]!, state.length);
    return joined;
  });
}

/** @param rows current number of rows */
export function selectStates(states: LayerStates, rows: number, keptRows: readonly number[]): LayerStates {
  return states.map((state) => {
    const size = state.length / rows;
    const copy = new Float32Array(keptRows.length * size);
    keptRows.forEach((row, i) => {
      copy.set(state.subarray(row * size, (row + 1) * size), i * size);
    });
    return copy;
  });
}

/** Maximum number of stored positions per sequence: 8 take 150 MB for a model with 0.8 billion weights. */
const maxPositions = 8;

/** Stores a sequence's states at several positions, because a state can't be truncated to fewer tokens. */
export class StateSnapshots {
  /** States by the number of preceding tokens, in ascending order. */
  readonly #snapshots: Map<number, LayerStates>;

  constructor(snapshots: ReadonlyMap<number, LayerStates> = new Map()) {
    this.#snapshots = new Map(snapshots);
  }

  copy(): StateSnapshots {
    return new StateSnapshots(this.#snapshots);
  }

  /** Drops positions after `tokens`, and returns the last remaining one, or 0 if there is none. */
  cut(tokens: number): number {
    for (const position of this.#snapshots.keys()) if (position > tokens) this.#snapshots.delete(position);
    return largest([0, ...this.#snapshots.keys()]);
  }

  /** Returns the states at a position; empty at the start, where all states are zero. */
  statesAt(tokens: number): LayerStates {
    return this.#snapshots.get(tokens) ?? [];
  }

  add(tokens: number, states: LayerStates): void {
    this.#snapshots.set(tokens, states);
    for (const key of [...this.#snapshots.keys()].slice(0, -maxPositions)) this.#snapshots.delete(key);
  }
}
