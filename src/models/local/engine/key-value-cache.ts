import { attentionLayers, type DecoderConfig } from '../weights/decoder-config.js';
import type { AdapterInputs } from './adapter-inputs.js';
import { ort } from './onnx-runtime.js';
import { StatePlaces } from './states.js';

/** Shape of the keys (and of the values) of one token: layers × kvHeads × headDim float32 numbers. */
export interface CacheShape {
  /** Those that attend. */
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

export const cacheShape = (config: DecoderConfig): CacheShape => ({
  layers: attentionLayers(config).length,
  kvHeads: config.kvHeads,
  headDim: config.headDim,
});

/** Keys and values of new tokens, per layer, each [kvHeads, rows, tokens, headDim], where the session left them. */
export interface NewEntries {
  readonly keys: readonly ort.Tensor[];
  readonly values: readonly ort.Tensor[];
  readonly tokens: number;
}

/** Keys and values of a batch of sequences that have the same length, in the memory of the device that reads them. */
export interface TokenCache {
  readonly rows: number;
  /** Tokens held for each row. */
  readonly length: number;
  /** Slots for each row, at least 1. Those beyond `length` are spare. */
  readonly capacity: number;
  /** 2 × layers tensors [kvHeads, rows, capacity, headDim]: keys of each layer, then values. Valid until the next change. */
  tensors(): readonly ort.Tensor[];
  /** Empties the cache for `rows` sequences. */
  reset(rows: number): void;
  /** Drops all tokens from `length` on. */
  truncate(length: number): void;
  /** Adds tokens to every row, which takes the entries' memory. Capacity becomes a multiple of `block`, or of more. */
  append(entries: NewEntries, block?: number): void | Promise<void>;
  /** Keeps only these rows, in this (ascending) order. */
  keepRows(kept: readonly number[]): void | Promise<void>;
  /** The tokens of one row, in the form that `append` takes. */
  entries(row: number): NewEntries | Promise<NewEntries>;
}

/**
 * A cache in the memory of this process, in buffers laid out so that the runtime reads them where they are. Buffers only
 * ever grow, which keeps memory flat over many calls.
 */
export class KeyValueCache implements TokenCache {
  readonly shape: CacheShape;
  /** 2 × layers buffers: keys of each layer, then values of each layer. */
  readonly #buffers: Float32Array[];
  #rows = 1;
  #length = 0;
  #capacity = 1;
  /** Made anew when a shape or a buffer changes. */
  #tensors: readonly ort.Tensor[] | undefined;

  constructor(shape: CacheShape) {
    this.shape = shape;
    this.#buffers = Array.from(
      { length: 2 * shape.layers },
      () => new Float32Array(shape.kvHeads * shape.headDim),
    );
  }

  get rows(): number {
    return this.#rows;
  }

  get length(): number {
    return this.#length;
  }

  get capacity(): number {
    return this.#capacity;
  }

  tensors(): readonly ort.Tensor[] {
    this.#tensors ??= this.#views();
    return this.#tensors;
  }

  #views(): readonly ort.Tensor[] {
    const shape = [this.shape.kvHeads, this.#rows, this.#capacity, this.shape.headDim];
    const size = shape.reduce((product, one) => product * one);
    return this.#buffers.map((buffer) => new ort.Tensor('float32', buffer.subarray(0, size), shape));
  }

  reset(rows: number): void {
    this.#rows = rows;
    this.#length = 0;
    this.#setCapacity(1);
  }

  truncate(length: number): void {
    this.#length = Math.min(length, this.#length);
    this.#setCapacity(Math.max(1, this.#length));
  }

  /** With a longer `block` most single tokens move nothing. */
  append(entries: NewEntries, block = 1): void {
    const { kvHeads, headDim, layers } = this.shape;
    const length = this.#length + entries.tokens;
    if (length > this.#capacity) this.#setCapacity(Math.ceil(length / block) * block);
    const strip = entries.tokens * headDim;
    for (let i = 0; i < 2 * layers; i++) {
      const source = (i < layers ? entries.keys[i]! : entries.values[i - layers]!).data as Float32Array;
      const target = this.#buffers[i]!;
      for (let line = 0; line < kvHeads * this.#rows; line++) {
        const start = (line * this.#capacity + this.#length) * headDim;
        target.set(source.subarray(line * strip, (line + 1) * strip), start);
      }
    }
    this.#length = length;
  }

  keepRows(kept: readonly number[]): void {
    const { kvHeads, headDim } = this.shape;
    const line = this.#capacity * headDim;
    for (const buffer of this.#buffers) {
      let target = 0;
      for (let head = 0; head < kvHeads; head++) {
        for (const row of kept) {
          const start = (head * this.#rows + row) * line;
          buffer.copyWithin(target, start, start + line);
          target += line;
        }
      }
    }
    this.#rows = kept.length;
    this.#tensors = undefined;
  }

  entries(row: number): NewEntries {
    const { kvHeads, headDim, layers } = this.shape;
    const line = this.#length * headDim;
    const copies = this.#buffers.map((buffer) => {
      const copy = new Float32Array(kvHeads * line);
      for (let head = 0; head < kvHeads; head++) {
        const start = (head * this.#rows + row) * this.#capacity * headDim;
        copy.set(buffer.subarray(start, start + line), head * line);
      }
      return new ort.Tensor('float32', copy, [kvHeads, 1, this.#length, headDim]);
    });
    return { keys: copies.slice(0, layers), values: copies.slice(layers), tokens: this.#length };
  }

  /** Moves the held tokens to where a new capacity puts them. */
  #setCapacity(capacity: number): void {
    const { kvHeads, headDim } = this.shape;
    const lines = kvHeads * this.#rows;
    const needed = lines * capacity * headDim;
    const held = this.#length * headDim;
    const oldLine = this.#capacity * headDim;
    const newLine = capacity * headDim;
    this.#buffers.forEach((buffer, index) => {
      let target = buffer;
      if (needed > buffer.length) {
        target = new Float32Array(Math.ceil(needed * 1.25));
        this.#buffers[index] = target;
      }
      // Lines move apart from the last to the first, and together from the first to the last: none is overwritten
      // before it has moved.
      for (let i = 0; i < lines; i++) {
        const line = newLine > oldLine ? lines - 1 - i : i;
        const start = line * oldLine;
        if (target === buffer) buffer.copyWithin(line * newLine, start, start + held);
        else target.set(buffer.subarray(start, start + held), line * newLine);
      }
    });
    this.#capacity = capacity;
    this.#tensors = undefined;
  }
}

/** A prompt whose keys and values are there. */
export interface HeldPrompt {
  readonly cache: TokenCache;
  readonly states: StatePlaces;
  /** Tokens that `cache` holds the keys and values of. */
  tokens: number[];
  /** Whether the keys are turned as longrope does for long sequences. */
  long: boolean;
}

/** Adapters whose last prompt stays in memory. */
const mostPrompts = 4;

/**
 * The last prompt of each adapter (and of the base): keys and values that one made are wrong for any other. When there
 * are more, the one that was not used for longest gives its memory to the next.
 */
export class PromptCaches {
  readonly #newCache: () => TokenCache;
  /** Least recently used first. */
  readonly #prompts = new Map<AdapterInputs, HeldPrompt>();

  constructor(newCache: () => TokenCache) {
    this.#newCache = newCache;
  }

  of(adapter: AdapterInputs): HeldPrompt {
    const prompt = this.#prompts.get(adapter) ?? {
      cache: this.#free(),
      states: new StatePlaces(),
      tokens: [],
      long: false,
    };
    this.#prompts.delete(adapter);
    this.#prompts.set(adapter, prompt);
    return prompt;
  }

  #free(): TokenCache {
    const oldest = this.#prompts.entries().next();
    if (oldest.done || this.#prompts.size < mostPrompts) return this.#newCache();
    const [adapter, { cache }] = oldest.value;
    this.#prompts.delete(adapter);
    cache.reset(1);
    return cache;
  }
}
