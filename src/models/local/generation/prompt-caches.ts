import { StateSnapshots, type TokenCache } from '../engine/key-value-cache.js';

/** A prompt with cached keys and values. */
export interface CachedPrompt {
  readonly cache: TokenCache;
  states: StateSnapshots;
  /** Tokens whose keys and values are in `cache`. Another request that uses the prompt replaces this list. */
  tokens: readonly number[];
}

/** Properties that must match for a cached prompt to be reused. */
export interface PromptKind {
  readonly conversation?: string | undefined;
  /** System message; separates the prompts of different stages, so that alternating calls don't evict each other. */
  readonly system?: string | undefined;
  /** True if longrope rotates the keys with its factors for long sequences. */
  readonly isLong: boolean;
}

interface PromptEntry extends CachedPrompt {
  kind: PromptKind;
  /** Length of the prompt that was last looked up; `tokens` may also contain a reply to it. */
  lookupLength: number;
}

interface PromptLimits {
  readonly maxRequests: number;
  /** Maximum number of tokens in all cached prompts together; only applies to concurrent requests. */
  readonly maxTokens: number;
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
  #prompts: PromptEntry[] = [];

  constructor(newCache: () => TokenCache, limits: PromptLimits) {
    this.#newCache = newCache;
    this.#limits = limits;
  }

  /** Returns a cache with the longest prefix of `prompt`, in whole steps, that a cached prompt of its kind provides. */
  async lookUp(kind: PromptKind, prompt: readonly number[], step = 1): Promise<CachedPrompt> {
    const isConcurrent = this.#limits.maxRequests > 1;
    const peers = this.#prompts.filter(
      (entry) =>
        entry.kind.conversation === kind.conversation &&
        entry.kind.system === kind.system &&
        (!isConcurrent || entry.kind.isLong === kind.isLong),
    );
    const match = peers
      .map((hit) => ({ hit, common: commonPrefixLength(hit.tokens, prompt) }))
      .reduceRight((best, one) => (one.common > best.common ? one : best), { hit: peers.at(-1), common: 0 });
    const reusableTokens = match.common - (match.common % step);
    const hit =
      match.hit === undefined ||
      (isConcurrent &&
        (isUnread(match.hit) || match.common < Math.min(match.hit.lookupLength, match.hit.tokens.length)))
        ? await this.#copy(kind, match.hit, reusableTokens)
        : this.#cut(match.hit, match.hit.kind.isLong === kind.isLong ? reusableTokens : 0);
    hit.kind = kind;
    hit.lookupLength = prompt.length;
    this.#prompts = [...this.#prompts.filter((entry) => entry !== hit), hit];
    if (isConcurrent) this.#evictExcess();
    return hit;
  }

  clear(): void {
    // A device frees the memory of a cache that has no rows.
    while (this.#prompts.length > 0) this.#drop().cache.reset(0);
  }

  #cut(prompt: PromptEntry, length: number): PromptEntry {
    const keptLength = this.#limits.hasStates ? prompt.states.cut(length) : length;
    prompt.cache.truncate(keptLength);
    prompt.tokens = prompt.tokens.slice(0, keptLength);
    return prompt;
  }

  /** Copies the common prefix of a cached prompt; the prompt stays unchanged for requests that continue it. */
  async #copy(kind: PromptKind, from: PromptEntry | undefined, length: number): Promise<PromptEntry> {
    const states = from?.states.copy() ?? new StateSnapshots();
    const keptLength = this.#limits.hasStates ? states.cut(length) : length;
    const tokens = from?.tokens.slice(0, keptLength) ?? [];
    const entries = keptLength > 0 ? await from?.cache.entries(0, 0, keptLength) : undefined;
    const copy = { kind, cache: this.#emptyCache(), states, tokens, lookupLength: 0 };
    if (entries !== undefined) await copy.cache.append(entries);
    return copy;
  }

  #emptyCache(): TokenCache {
    const isFull = this.#prompts.length >= Math.max(maxPrompts, 2 * this.#limits.maxRequests);
    const cache = isFull ? this.#drop().cache : this.#newCache();
    cache.reset(1);
    return cache;
  }

  #evictExcess(): void {
    const total = () => this.#prompts.reduce((sum, entry) => sum + entry.tokens.length, 0);
    while (total() > this.#limits.maxTokens && this.#prompts.length > 1) this.#drop();
  }

  #drop(): PromptEntry {
    const oldest = this.#prompts.shift()!;
    oldest.tokens = [];
    return oldest;
  }
}

/** True while another request is reading the prompt, or if that request failed or was aborted first. */
const isUnread = ({ lookupLength, tokens }: PromptEntry): boolean => tokens.length < lookupLength;

export function commonPrefixLength(a: readonly number[], b: readonly number[]): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}
