import type { AdapterInputs } from './adapter-inputs.js';
import { type CacheShape, KeyValueCache } from './key-value-cache.js';

/** A prompt whose keys and values are there. */
export interface HeldPrompt {
  readonly cache: KeyValueCache;
  /** Tokens that `cache` holds the keys and values of. */
  tokens: number[];
}

/** Adapters whose last prompt stays in memory. */
const mostPrompts = 4;

/**
 * The last prompt of each adapter (and of the base): keys and values that one made are wrong for any other. When there
 * are more, the one that was not used for longest gives its memory to the next.
 */
export class PromptCaches {
  readonly #shape: CacheShape;
  /** Least recently used first. */
  readonly #prompts = new Map<AdapterInputs, HeldPrompt>();

  constructor(shape: CacheShape) {
    this.#shape = shape;
  }

  of(adapter: AdapterInputs): HeldPrompt {
    const prompt = this.#prompts.get(adapter) ?? { cache: this.#free(), tokens: [] };
    this.#prompts.delete(adapter);
    this.#prompts.set(adapter, prompt);
    return prompt;
  }

  #free(): KeyValueCache {
    const oldest = this.#prompts.entries().next();
    if (oldest.done || this.#prompts.size < mostPrompts) return new KeyValueCache(this.#shape);
    const [adapter, { cache }] = oldest.value;
    this.#prompts.delete(adapter);
    cache.reset(1);
    return cache;
  }
}
