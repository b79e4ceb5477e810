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
  askedLength: number;
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
    const isConcurrent = this.#limits.requests > 1;
    const peers = this.#prompts.filter(
      (one) =>
        one.kind.conversation === kind.conversation &&
        one.kind.system === kind.system &&
        (!isConcurrent || one.kind.long === kind.long),
    );
    const match = peers
      .map((held) => ({ held, common: commonPrefix(held.tokens, prompt) }))
      .reduceRight((best, one) => (one.common > best.common ? one : best), { held: peers.at(-1), common: 0 });
    const reusable = match.common - (match.common % step);
    const cachedPrompt =
      match.held === undefined ||
      (isConcurrent &&
        (isUnread(match.held) || match.common < Math.min(match.held.askedLength, match.held.tokens.length)))
        ? await this.#copy(kind, match.held, reusable)
        : this.#cut(match.held, match.held.kind.long === kind.long ? reusable : 0);
    cachedPrompt.kind = kind;
    cachedPrompt.askedLength = prompt.length;
    this.#prompts = [...this.#prompts.filter((one) => one !== cachedPrompt), cachedPrompt];
    if (isConcurrent) this.#evictExcess();
    return cachedPrompt;
  }

  clear(): void {
    // A device frees the memory of a cache that has no rows.
    while (this.#prompts.length > 0) this.#drop().cache.reset(0);
  }

  #cut(prompt: KindPrompt, common: number): KindPrompt {
    const keptLength = this.#limits.hasStates ? prompt.states.cut(common) : common;
    prompt.cache.truncate(keptLength);
    prompt.tokens = prompt.tokens.slice(0, keptLength);
    return prompt;
  }

  /** Copies the common prefix of a cached prompt; the prompt stays unchanged for requests that continue it. */
  async #copy(kind: PromptKind, from: KindPrompt | undefined, common: number): Promise<KindPrompt> {
    const states = from?.states.copy() ?? new StatePlaces();
    const keptLength = this.#limits.hasStates ? states.cut(common) : common;
    const tokens = from?.tokens.slice(0, keptLength) ?? [];
    const entries = keptLength > 0 ? await from?.cache.entries(0, 0, keptLength) : undefined;
    const copy = { kind, cache: this.#emptyCache(), states, tokens, askedLength: 0 };
    if (entries !== undefined) await copy.cache.append(entries);
    return copy;
  }

  #emptyCache(): TokenCache {
    const isFull = this.#prompts.length >= Math.max(maxPrompts, 2 * this.#limits.requests);
    const cache = isFull ? this.#drop().cache : this.#newCache();
    cache.reset(1);
    return cache;
  }

  #evictExcess(): void {
    const cachedTokens = () => this.#prompts.reduce((sum, one) => sum + one.tokens.length, 0);
    while (cachedTokens() > this.#limits.tokens && this.#prompts.length > 1) this.#drop();
  }

  #drop(): KindPrompt {
    const oldest = this.#prompts.shift()!;
    oldest.tokens = [];
    return oldest;
  }
}

/** True while another request is reading the prompt, or if that request was aborted. */
const isUnread = ({ askedLength, tokens }: KindPrompt): boolean => tokens.length < askedLength;

export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}
