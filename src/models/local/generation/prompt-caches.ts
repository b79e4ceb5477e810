import { StatePlaces, type TokenCache } from '../engine/key-value-cache.js';

/** A prompt with cached keys and values. */
export interface HeldPrompt {
  readonly cache: TokenCache;
  states: StatePlaces;
  /** Tokens whose keys and values are in `cache`. Another request that uses the prompt replaces this list. */
  tokens: readonly number[];
}

/** Properties that must match for a cached prompt to be reused. */
export interface PromptKind {
  readonly conversation?: string | undefined;
  /** System message; separates the prompts of different stages, so that alternating calls don't evict each other. */
  readonly system?: string | undefined;
  readonly long: boolean;
}

interface KindPrompt extends HeldPrompt {
  kind: PromptKind;
  /** Length of the prompt that was last looked up; `tokens` may also contain a reply to it. */
  asked: number;
}

interface PromptLimits {
  readonly requests: number;
  /** Maximum number of tokens in all cached prompts together; only applies to concurrent requests. */
  readonly tokens: number;
  readonly hasStates: boolean;
}

/** Maximum number of cached prompts; with concurrent requests, two per request if that is more. */
const maxPrompts = 4;

/**
 * Caches the last prompt of each kind. With concurrent requests, it caches several per kind, because each request
 * continues its own prompt. When full, it evicts the least recently used prompt.
 */
export class PromptCaches {
  readonly #newCache: () => TokenCache;
  readonly #limits: PromptLimits;
  /** Prompts in order of use, the least recently used first. */
  #prompts: KindPrompt[] = [];

  constructor(newCache: () => TokenCache, limits: PromptLimits) {
    this.#newCache = newCache;
    this.#limits = limits;
  }

  /** Returns a cache with the longest prefix, in whole steps, that `prompt` shares with a cached prompt of its kind. */
  async of(kind: PromptKind, prompt: readonly number[], step = 1): Promise<HeldPrompt> {
    const several = this.#limits.requests > 1;
    const alike = this.#prompts.filter(
      (one) =>
        one.kind.conversation === kind.conversation &&
        one.kind.system === kind.system &&
        (!several || one.kind.long === kind.long),
    );
    const found = alike
      .map((held) => ({ held, common: commonPrefix(held.tokens, prompt) }))
      .reduceRight((best, one) => (one.common > best.common ? one : best), { held: alike.at(-1), common: 0 });
    const reusable = found.common - (found.common % step);
    const held =
      found.held === undefined ||
      (several &&
        (isUnread(found.held) || found.common < Math.min(found.held.asked, found.held.tokens.length)))
        ? await this.#copy(kind, found.held, reusable)
        : this.#cut(found.held, found.held.kind.long === kind.long ? reusable : 0);
    held.kind = kind;
    held.asked = prompt.length;
    this.#prompts = [...this.#prompts.filter((one) => one !== held), held];
    if (several) this.#fit();
    return held;
  }

  clear(): void {
    // A device frees the memory of a cache that has no rows.
    while (this.#prompts.length > 0) this.#drop().cache.reset(0);
  }

  #cut(held: KindPrompt, common: number): KindPrompt {
    const kept = this.#limits.hasStates ? held.states.cut(common) : common;
    held.cache.truncate(kept);
    held.tokens = held.tokens.slice(0, kept);
    return held;
  }

  /** Copies the common prefix of a cached prompt; the prompt stays unchanged for requests that continue it. */
  async #copy(kind: PromptKind, from: KindPrompt | undefined, common: number): Promise<KindPrompt> {
    const states = from?.states.copy() ?? new StatePlaces();
    const kept = this.#limits.hasStates ? states.cut(common) : common;
    const tokens = from?.tokens.slice(0, kept) ?? [];
    const entries = kept > 0 ? await from?.cache.entries(0, 0, kept) : undefined;
    const held = { kind, cache: this.#free(), states, tokens, asked: 0 };
    if (entries !== undefined) await held.cache.append(entries);
    return held;
  }

  #free(): TokenCache {
    const isFull = this.#prompts.length >= Math.max(maxPrompts, 2 * this.#limits.requests);
    const cache = isFull ? this.#drop().cache : this.#newCache();
    cache.reset(1);
    return cache;
  }

  #fit(): void {
    const held = () => this.#prompts.reduce((sum, one) => sum + one.tokens.length, 0);
    while (held() > this.#limits.tokens && this.#prompts.length > 1) this.#drop();
  }

  #drop(): KindPrompt {
    const oldest = this.#prompts.shift()!;
    oldest.tokens = [];
    return oldest;
  }
}

/** True while another request is reading the prompt, or if that request was aborted. */
const isUnread = ({ asked, tokens }: KindPrompt): boolean => tokens.length < asked;

export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}
