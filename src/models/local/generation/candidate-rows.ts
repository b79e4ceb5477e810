import { append } from '../../../base/append.js';
import { smallest } from '../../../statistics/descriptive.js';
import {
  joinStates,
  type LayerStates,
  type NewEntries,
  selectStates,
  type TokenCache,
  tileStates,
} from '../engine/key-value-cache.js';
import type { DecoderSession } from '../engine/runtime.js';
import { type DecoderConfig, stateShapes } from '../weights/decoder-config.js';
import type { Candidate, GenerationHooks, GenerationRequest } from './candidate.js';
import type { CachedPrompt } from './prompt-caches.js';
import type { Generation } from './protocol.js';

/** The candidates' cache grows in blocks of this many slots; whole blocks of spare slots don't change rounding. */
const ownBlockSize = 32;

export interface QueuedRequest {
  readonly request: GenerationRequest;
  readonly hooks: GenerationHooks;
  resolve(generation: Generation): void;
  reject(error: unknown): void;
}

/** A request whose prompt is being read or has been read. */
export interface StartedRequest extends QueuedRequest {
  readonly cachedPrompt: CachedPrompt;
  readonly cachedTokens: number;
  readonly candidates: Candidate[];
  /** `cachedPrompt.tokens` when the prompt had been read; another request that uses the prompt replaces that list. */
  tokensAfterRead?: readonly number[];
}

export interface CandidateRow {
  readonly work: StartedRequest;
  readonly candidate: Candidate;
}

/** The candidates being generated. They share a prompt's cache or, so that other prompts can join, each has a copy. */
export class CandidateRows {
  readonly #session: DecoderSession;
  /** True if some layers have a recurrent state. */
  readonly #hasStates: boolean;
  readonly #vocabulary: number;
  /** A cache that always stays empty. */
  readonly #emptyCache: TokenCache;
  /** Caches the candidates' tokens and, with several prompts, the prompts' tokens. */
  readonly #ownCache: TokenCache;
  #rows: readonly CandidateRow[] = [];
  /** Rows not yet in the cache. They are added together before it is next used, so the other rows move only once. */
  #newEntries: NewEntries[] = [];
  #states: LayerStates = [];
  #mixesPrompts = false;

  constructor(session: DecoderSession, config: DecoderConfig) {
    this.#session = session;
    this.#hasStates = stateShapes(config).length > 0;
    this.#vocabulary = config.vocabulary;
    this.#emptyCache = session.newCache();
    this.#ownCache = session.newCache();
  }

  get all(): readonly CandidateRow[] {
    return this.#rows;
  }

  get mixesPrompts(): boolean {
    return this.#mixesPrompts;
  }

  /** Number of tokens that fit in a row before the cache grows; 0 if there are no rows, even if it has grown. */
  get capacity(): number {
    return this.#rows.length === 0 ? 0 : this.#ownCache.capacity;
  }

  get canJoin(): boolean {
    return this.#ownCache.join !== undefined;
  }

  /** Prepares for one prompt or, with `mixesPrompts`, several. May be called only while there are no rows. */
  begin(mixesPrompts: boolean): void {
    this.#mixesPrompts = mixesPrompts;
    this.#ownCache.reset(0);
    this.#newEntries = [];
    this.#states = [];
  }

  /** Adds candidates, which start at the end of their prompt. */
  async join(work: StartedRequest, candidates: readonly Candidate[]): Promise<void> {
    if (candidates.length === 0) return;
    const { cachedPrompt } = work;
    if (this.#mixesPrompts) {
      const entries = await cachedPrompt.cache.entries(0);
      append(
        this.#newEntries,
        candidates.map(() => entries),
      );
    } else this.#ownCache.reset(candidates.length);
    const states = tileStates(cachedPrompt.states.statesAt(cachedPrompt.cache.length), candidates.length);
    this.#states = joinStates(this.#states, states);
    this.#rows = [...this.#rows, ...candidates.map((candidate) => ({ work, candidate }))];
  }

  /** Reads the chosen tokens, then chooses the next ones. @returns the requests that failed, with their errors */
  async step(): Promise<ReadonlyMap<QueuedRequest, unknown>> {
    const rows = this.#rows;
    const [{ work }] = rows as [CandidateRow, ...CandidateRow[]];
    this.#enterCache();
    const promptCache = this.#mixesPrompts ? this.#emptyCache : work.cachedPrompt.cache;
    // Forced tokens are read along with the previous one, but not if requests may join, because one request's
    // rounding would then depend on the others.
    const tokens = this.#mixesPrompts ? 1 : smallest(rows.map(({ candidate }) => candidate.unreadIds.length));
    const choosingRows = [...rows.keys()].filter((row) => rows[row]!.candidate.unreadIds.length === tokens);
    const lengths = rows.map((one) => one.work.request.prompt.length + one.work.request.maxTokens);
    const { logits, entries, states } = await this.#session.forward({
      ids: rows.flatMap(({ candidate }) => candidate.unreadIds.slice(0, tokens)),
      rows: rows.length,
      position: this.#mixesPrompts ? this.#ownCache.lengths : promptCache.length + this.#ownCache.length,
      sequenceTokens: this.#mixesPrompts ? lengths : lengths[0]!,
      adapter: work.request.adapter,
      promptCache,
      ownCache: this.#ownCache,
      states: this.#states,
      logitIndices: choosingRows.map((row) => (row + 1) * tokens - 1),
    });
    await this.#ownCache.append(entries, ownBlockSize);
    this.#states = states;
    for (const { candidate } of rows) candidate.unreadIds.splice(0, tokens);
    const errors = new Map<QueuedRequest, unknown>();
    choosingRows.forEach((row, i) => {
      const { candidate, work: request } = rows[row]!;
      const values = logits.subarray(i * this.#vocabulary, (i + 1) * this.#vocabulary);
      try {
        candidate.chooseNext(values);
      } catch (error) {
        errors.set(request, error);
      }
    });
    await this.#keepReplies();
    await this.keep(({ work: one, candidate }) => !candidate.isFinished && !errors.has(one));
    return errors;
  }

  async keep(stays: (row: CandidateRow) => boolean): Promise<void> {
    const keptRows = [...this.#rows.keys()].filter((row) => stays(this.#rows[row]!));
    if (keptRows.length === this.#rows.length) return;
    this.#enterCache();
    if (keptRows.length > 0) {
      await this.#ownCache.keepRows(keptRows);
      this.#states = selectStates(this.#states, this.#rows.length, keptRows);
    }
    this.#rows = keptRows.map((row) => this.#rows[row]!);
  }

  #enterCache(): void {
    if (this.#newEntries.length > 0) this.#ownCache.join!(this.#newEntries, ownBlockSize);
    this.#newEntries = [];
  }

  /** Adds finished replies to their prompts' caches. Skips requests for several replies or without `readTogether`. */
  async #keepReplies(): Promise<void> {
    for (const [row, { work, candidate }] of this.#rows.entries()) {
      const { candidates, cachedPrompt, tokensAfterRead } = work;
      if (!work.request.readTogether || candidates.length > 1) continue;
      if (!candidate.isFinished || cachedPrompt.tokens !== tokensAfterRead) continue;
      const from = this.#mixesPrompts ? work.request.prompt.length : 0;
      const entries = await this.#ownCache.entries(row, from);
      const { cache, states } = cachedPrompt;
      await cache.append(entries);
      if (this.#hasStates) states.add(cache.length, selectStates(this.#states, this.#rows.length, [row]));
      cachedPrompt.tokens = [...cachedPrompt.tokens, ...candidate.ids.slice(0, entries.tokens)];
    }
  }
}
