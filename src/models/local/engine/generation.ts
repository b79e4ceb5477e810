import type { TokenBytes } from '../tokens/token-text.js';
import { type DecoderConfig, stateShapes } from '../weights/decoder-config.js';
import { longSequences } from '../weights/rope.js';
import type { AdapterInputs } from './adapter-inputs.js';
import { Candidate, type GenerationHooks, type GenerationRequest } from './candidate.js';
import { cacheShape, type NewEntries, type TokenCache, tokenBytes } from './key-value-cache.js';
import { type HeldPrompt, PromptCaches } from './prompt-caches.js';
import type { Generation } from './protocol.js';
import type { DecoderSession } from './runtime.js';
import { scoreTexts } from './scoring.js';
import { joinedStates, keptStates, type States, tiledStates } from './states.js';
import { TurnQueue } from './turn-queue.js';

export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

/** Tokens prefilled in one run: enough to use the processor well, few enough for quick aborts. */
const longestChunk = 256;
const shortestChunk = 32;

/** Attention scores held at once, in float32 numbers (64 MB): far into a long prompt the chunks get shorter. */
const scoresAtOnce = 2 ** 24;

function chunkLength(config: DecoderConfig, position: number): number {
  const fitting = Math.floor(scoresAtOnce / (config.heads * (position + longestChunk)));
  return Math.max(shortestChunk, Math.min(longestChunk, fitting));
}

/** Slots by which the cache of the candidates grows: with whole blocks, spare slots don't change a sum's last bits. */
const ownBlock = 32;

/** Memory of the rows of a batch, and of the prompts that are held. */
const batchBytes = 2 ** 29;

/** A request from when it came to its last answer. */
interface Work {
  readonly request: GenerationRequest;
  readonly hooks: GenerationHooks;
  resolve(generation: Generation): void;
  reject(error: unknown): void;
}

/** A request whose prompt is read, or was. */
interface Begun extends Work {
  readonly held: HeldPrompt;
  readonly cachedTokens: number;
  readonly candidates: Candidate[];
  /** Tokens of `held` when its prompt was read: the same list while no other request uses it. */
  read?: readonly number[];
}

interface Row {
  readonly work: Begun;
  readonly candidate: Candidate;
}

/**
 * Generates answers. The prompt is prefilled once, whatever the number of candidates, and its keys and values stay for
 * later calls, which compute only what their prompts add. Calls may overlap: they are met one after the other, or `most`
 * at the same time. Then each step of the model decodes a token of all of them; others join between two steps, and those
 * that have ended leave.
 */
export class TextGenerator {
  readonly #session: DecoderSession;
  readonly #config: DecoderConfig;
  /** Whether some layers carry a state. */
  readonly #carries: boolean;
  readonly #bytes: TokenBytes;
  /** Requests at the same time. */
  readonly #most: number;
  /** Tokens that the rows of a batch may hold. */
  readonly #tokens: number;
  readonly #prompts: PromptCaches;
  /** Holds nothing. */
  readonly #none: TokenCache;
  /** What the candidates have generated; where requests share a batch, their prompts, too. */
  readonly #own: TokenCache;
  /** Where texts are scored; empty between. */
  #scored: TokenCache | undefined;
  readonly #waiting = new TurnQueue<AdapterInputs, Work>();
  #entering: Begun | undefined;
  #rows: Row[] = [];
  /** The last rows as long as they are not in the cache: all that join before a step move the others once. */
  #arrived: NewEntries[] = [];
  /** Those of the rows. */
  #states: States = [];
  /** Whether each row holds its prompt, so that others can join. A request too large for that shares one among its rows. */
  #batched = false;
  /** Requests that joined since there were no rows. */
  #joined = 0;
  #working = false;

  /**
   * @param most requests at the same time, where the session's caches allow for rows of different lengths
   * @param memory of the keys and values of all rows of a batch, in bytes, and that of the prompts that are held
   */
  constructor(
    session: DecoderSession,
    config: DecoderConfig,
    bytes: TokenBytes,
    most = 1,
    memory = batchBytes,
  ) {
    this.#session = session;
    this.#config = config;
    this.#carries = stateShapes(config).length > 0;
    this.#bytes = bytes;
    this.#none = session.newCache();
    this.#own = session.newCache();
    this.#most = this.#own.join === undefined ? 1 : most;
    this.#tokens = Math.floor(memory / tokenBytes(cacheShape(config)));
    this.#prompts = new PromptCaches(() => session.newCache(), {
      requests: this.#most,
      tokens: this.#tokens,
      carries: this.#carries,
    });
  }

  /**
   * With `texts`, their scores instead of answers.
   * @throws AbortedError once `hooks.aborted()` is true; tokens prefilled by then stay for later calls.
   */
  generate(request: GenerationRequest, hooks: GenerationHooks): Promise<Generation> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(request.adapter, { request, hooks, resolve, reject });
      if (!this.#working) void this.#work();
    });
  }

  /** Drops the prompts that are kept. */
  forget(): void {
    this.#prompts.clear();
  }

  /** Prompts come first: the more rows a step has, the less a token costs. */
  async #work(): Promise<void> {
    this.#working = true;
    for (;;) {
      await this.#dropAborted();
      const next = this.#entering === undefined ? this.#next() : undefined;
      if (next !== undefined) await this.#begin(next);
      else if (this.#entering !== undefined) await this.#prefill(this.#entering);
      else if (this.#rows.length > 0) await this.#step();
      else break;
    }
    this.#working = false;
  }

  /** A request that can be met now, beside those that are. Who waits for another adapter waits for one batch at most. */
  #next(): Work | undefined {
    const [row] = this.#rows;
    if (row === undefined) {
      const first = this.#waiting.take();
      if (this.#batched) this.#own.reset(0);
      this.#joined = 1;
      this.#batched = this.#most > 1 && first !== undefined && this.#fits(first);
      return first;
    }
    const { adapter } = row.work.request;
    const work = this.#waiting.first(adapter);
    const places = this.#batched ? this.#most - new Set(this.#rows.map((one) => one.work)).size : 0;
    const isTurn = this.#joined < this.#most || !this.#waiting.othersThan(adapter);
    if (work === undefined || places < 1 || !isTurn || !this.#fits(work)) return undefined;
    this.#joined++;
    return this.#waiting.take(adapter);
  }

  /** Whether the batch stays within its memory with the longest answers that there may be. */
  #fits({ request }: Work): boolean {
    const rows = this.#rows.length + request.seeds.length;
    const lengths = [request, ...this.#rows.map(({ work }) => work.request)].map(
      ({ prompt, maxTokens }) => prompt.length + maxTokens,
    );
    return rows * Math.max(this.#own.capacity, ...lengths) <= this.#tokens;
  }

  async #begin(work: Work): Promise<void> {
    const { adapter, conversation, maxTokens, prompt } = work.request;
    const limit = longSequences(this.#config.layers);
    const long = limit !== undefined && prompt.length + maxTokens > limit;
    try {
      const held = await this.#prompts.of({ adapter, conversation, long }, prompt.slice(0, -1));
      this.#entering = { ...work, held, cachedTokens: held.cache.length, candidates: [] };
    } catch (error) {
      work.reject(error);
    }
  }

  /** Reads a part of the prompt; its candidates begin at its end. */
  async #prefill(work: Begun): Promise<void> {
    const { held, request } = work;
    const { adapter, prompt: ids, maxTokens } = request;
    const prompt = held.cache;
    try {
      const chunk = ids.slice(prompt.length, prompt.length + chunkLength(this.#config, prompt.length));
      const last = prompt.length + chunk.length === ids.length;
      const output = await this.#session.forward({
        ids: chunk,
        rows: 1,
        position: prompt.length,
        sequenceTokens: ids.length + maxTokens,
        adapter,
        prompt,
        own: this.#none,
        states: held.states.at(prompt.length),
        logitsOf: last ? [chunk.length - 1] : [],
      });
      await prompt.append(output.entries);
      if (this.#carries) held.states.add(prompt.length, output.states);
      held.tokens = ids.slice(0, prompt.length);
      if (last)
        await (request.texts === undefined ? this.#join : this.#score).call(this, work, output.logits);
    } catch (error) {
      this.#entering = undefined;
      work.reject(error);
    }
  }

  /** @param logits after the last token of the prompt */
  async #score({ cachedTokens, held, hooks, request, resolve }: Begun, logits: Float32Array): Promise<void> {
    const { adapter, maxTokens, prompt } = request;
    this.#scored ??= this.#session.newCache();
    const own = this.#scored;
    const scores = await scoreTexts({
      ...{ first: logits.slice(), texts: request.texts!, vocabulary: this.#config.vocabulary },
      run: async (ids, rows, logitsOf) => {
        if (hooks.aborted()) throw new AbortedError();
        own.reset(rows);
        const output = await this.#session.forward({
          ...{ ids, rows, logitsOf, adapter, own },
          ...{ prompt: held.cache, position: prompt.length, sequenceTokens: prompt.length + maxTokens },
          states: tiledStates(held.states.at(held.cache.length), rows),
        });
        return output.logits;
      },
    });
    this.#entering = undefined;
    resolve({ answers: [], scores, promptTokens: prompt.length, cachedTokens });
  }

  /** @param logits after the last token of the prompt */
  async #join(work: Begun, logits: Float32Array): Promise<void> {
    const { candidates, held, hooks, request } = work;
    work.read = held.tokens;
    candidates.push(
      ...request.seeds.map((seed, index) => new Candidate(index, seed, request, this.#bytes, hooks)),
    );
    for (const candidate of candidates) candidate.take(logits.slice());
    const running = candidates.filter((candidate) => !candidate.finished);
    if (this.#rows.length === 0) {
      this.#own.reset(this.#batched ? 0 : running.length);
      this.#arrived = [];
      this.#states = [];
    }
    if (running.length > 0) {
      const states = tiledStates(held.states.at(held.cache.length), running.length);
      if (this.#batched) {
        const entries = await held.cache.entries(0);
        this.#arrived.push(...running.map(() => entries));
      }
      this.#states = joinedStates(this.#states, states);
    }
    this.#entering = undefined;
    this.#rows.push(...running.map((candidate) => ({ work, candidate })));
    this.#resolveFinished([work]);
  }

  /** Runs the model on chosen tokens; candidates without unread tokens then choose the next one. */
  async #step(): Promise<void> {
    const rows = this.#rows;
    try {
      await this.#read(rows);
    } catch (error) {
      for (const { work } of rows) work.reject(error);
      this.#rows = [];
    }
  }

  async #read(rows: readonly Row[]): Promise<void> {
    const [{ work }] = rows as [Row, ...Row[]];
    this.#enterCache();
    const shared = this.#batched ? this.#none : work.held.cache;
    // Tokens that a constraint leaves no choice about are read together with the one before them. In a batch of
    // requests, they would make the rounding of one depend on the others.
    const tokens = this.#batched ? 1 : Math.min(...rows.map(({ candidate }) => candidate.unread.length));
    const chosen = rows.map(({ candidate }) => candidate.unread.slice(0, tokens + 1));
    const places = rows.flatMap(({ candidate }, row) =>
      Array.from({ length: tokens }, (_, place) => ({ row, place, next: chosen[row]![place + 1] })).filter(
        ({ place, next }) =>
          next === undefined ? place === tokens - 1 && !candidate.ended : candidate.scored,
      ),
    );
    const lengths = rows.map((one) => one.work.request.prompt.length + one.work.request.maxTokens);
    const { logits, entries, states } = await this.#session.forward({
      ids: chosen.flatMap((ids) => ids.slice(0, tokens)),
      rows: rows.length,
      position: this.#batched ? this.#own.lengths : shared.length + this.#own.length,
      sequenceTokens: this.#batched ? lengths : lengths[0]!,
      adapter: work.request.adapter,
      prompt: shared,
      own: this.#own,
      states: this.#states,
      logitsOf: places.map(({ row, place }) => row * tokens + place),
    });
    await this.#own.append(entries, ownBlock);
    this.#states = states;
    for (const { candidate } of rows) candidate.unread.splice(0, tokens);
    const { vocabulary } = this.#config;
    const failed = new Set<Work>();
    places.forEach(({ row, next }, i) => {
      const { candidate, work: one } = rows[row]!;
      const values = logits.subarray(i * vocabulary, (i + 1) * vocabulary);
      try {
        if (next === undefined) candidate.take(values);
        else candidate.score(values, next);
      } catch (error) {
        failed.add(one);
        one.reject(error);
      }
    });
    await this.#keepAnswers(rows);
    await this.#keep(({ work: one, candidate }) => !candidate.finished && !failed.has(one));
    this.#resolveFinished(rows.map((row) => row.work).filter((one) => !failed.has(one)));
  }

  #enterCache(): void {
    if (this.#arrived.length > 0) this.#own.join!(this.#arrived, ownBlock);
    this.#arrived = [];
  }

  async #dropAborted(): Promise<void> {
    const asked = new Set<Begun>(this.#rows.map(({ work }) => work));
    if (this.#entering !== undefined) asked.add(this.#entering);
    const aborted = new Set([...asked].filter(({ hooks }) => hooks.aborted()));
    if (aborted.size === 0) return;
    for (const work of aborted) work.reject(new AbortedError());
    if (this.#entering !== undefined && aborted.has(this.#entering)) this.#entering = undefined;
    await this.#keep(({ work }) => !aborted.has(work));
  }

  /** Rows that don't stay leave the batch. */
  async #keep(stays: (row: Row) => boolean): Promise<void> {
    const kept = [...this.#rows.keys()].filter((row) => stays(this.#rows[row]!));
    if (kept.length < this.#rows.length) this.#enterCache();
    if (kept.length < this.#rows.length && kept.length > 0) {
      await this.#own.keepRows(kept);
      this.#states = keptStates(this.#states, this.#rows.length, kept);
    }
    this.#rows = kept.map((row) => this.#rows[row]!);
  }

  #resolveFinished(works: readonly Begun[]): void {
    for (const { candidates, request, cachedTokens, resolve } of new Set(works))
      if (candidates.every((candidate) => candidate.finished))
        resolve({
          answers: candidates.map((candidate) => candidate.answer()),
          promptTokens: request.prompt.length,
          cachedTokens,
        });
  }

  /** A conversation that goes on after a single answer finds its keys and values there. */
  async #keepAnswers(rows: readonly Row[]): Promise<void> {
    for (const [row, { work, candidate }] of rows.entries()) {
      const { candidates, held, read } = work;
      if (candidates.length > 1 || !candidate.finished || held.tokens !== read) continue;
      const from = this.#batched ? work.request.prompt.length : 0;
      const entries = await this.#own.entries(row, from);
      await held.cache.append(entries);
      if (this.#carries) held.states.add(held.cache.length, keptStates(this.#states, rows.length, [row]));
      held.tokens = [...held.tokens, ...candidate.ids.slice(0, entries.tokens)];
    }
  }
}
