import { append } from '../../../base/append.js';
import { machineMemory } from '../../../base/machine-memory.js';
import { largest } from '../../../statistics/descriptive.js';
import { bytesPerToken, cacheShape, type TokenCache } from '../engine/key-value-cache.js';
import type { DecoderSession } from '../engine/runtime.js';
import type { TokenBytes } from '../tokens/token-text.js';
import { type DecoderConfig, stateShapes } from '../weights/decoder-config.js';
import { longRopeStart } from '../weights/rope.js';
import { Candidate, type GenerationHooks, type GenerationRequest } from './candidate.js';
import { CandidateRows, type QueuedRequest, type StartedRequest } from './candidate-rows.js';
import { PromptCaches } from './prompt-caches.js';
import type { Generation } from './protocol.js';

export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

/**
 * Maximum number of tokens of one prompt per forward pass. Except with `readTogether`, cached tokens are reused only in
 * whole chunks: read in other chunks, the same tokens are rounded differently, which can change replies of quantised
 * models. Chunks are longer if layers have a state, because few states are kept.
 */
const chunkSize = (hasStates: boolean): number => (hasStates ? 256 : 64);

/** Limit for tokens read together. A prompt that joins is assumed to have as many unread tokens as the longest one. */
const maxJointTokens = 256;

/** Maximum number of unread tokens of a prompt that is read together with others. */
const maxShortPrompt = 64;

/** Memory limit in bytes for the rows of a batch. It doesn't depend on the machine, because it affects rounding. */
const maxBatchBytes = 2 ** 29;

/** Memory limit in bytes for cached prompts. If games together outgrow it, some are read from the start every turn. */
const maxPromptBytes = () => Math.max(maxBatchBytes, machineMemory().totalBytes / 4);

/**
 * Generates replies. A prompt is prefilled once for all its candidates and cached for later requests. Requests are
 * processed one by one, or up to `maxRequests` at a time: then each step decodes one token per candidate, and
 * requests join and leave between steps.
 */
export class TextGenerator {
  readonly #session: DecoderSession;
  readonly #config: DecoderConfig;
  readonly #hasStates: boolean;
  readonly #bytes: TokenBytes;
  readonly #maxRequests: number;
  readonly #maxTokens: number;
  readonly #prompts: PromptCaches;
  readonly #emptyCache: TokenCache;
  readonly #rows: CandidateRows;
  /** Cache for reading prompts together; created when first needed. */
  #jointCache: TokenCache | undefined;
  readonly #queue: QueuedRequest[] = [];
  /** Requests whose prompts are being read, in order. */
  #prefilling: StartedRequest[] = [];
  #isRunning = false;

  /** `maxRequests`: maximum number of concurrent requests. `memory`: limits in bytes for rows and cached prompts. */
  constructor(
    session: DecoderSession,
    config: DecoderConfig,
    bytes: TokenBytes,
    maxRequests = 1,
    memory = { rows: maxBatchBytes, prompts: maxPromptBytes() },
  ) {
    this.#session = session;
    this.#config = config;
    this.#hasStates = stateShapes(config).length > 0;
    this.#bytes = bytes;
    this.#emptyCache = session.newCache();
    this.#rows = new CandidateRows(session, config);
    this.#maxRequests = this.#rows.canJoin ? maxRequests : 1;
    const tokensIn = (bytes: number) => Math.floor(bytes / bytesPerToken(cacheShape(config)));
    this.#maxTokens = tokensIn(memory.rows);
    this.#prompts = new PromptCaches(() => session.newCache(), {
      maxRequests: this.#maxRequests,
      maxTokens: tokensIn(memory.prompts),
      hasStates: this.#hasStates,
    });
  }

  /** @throws AbortedError if aborted; tokens already read stay cached */
  generate(request: GenerationRequest, hooks: GenerationHooks): Promise<Generation> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, hooks, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  clearCache(): void {
    this.#prompts.clear();
  }

  /** Reads prompts before decoding, because a step with more rows costs less per token. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      await this.#dropAborted();
      const next = this.#canRead() ? this.#takeNext() : undefined;
      const [first, ...others] = this.#prefilling;
      if (next !== undefined) await this.#begin(next);
      else if (others.length > 0 && this.#prefilling.every(isShort))
        await this.#prefillTogether(this.#prefilling);
      else if (first !== undefined) await this.#prefill(first);
      else if (this.#rows.all.length > 0) await this.#step();
      else break;
    }
    this.#isRunning = false;
  }

  /** Takes the next request from the queue, if there is one, unless it must wait for the current ones. */
  #takeNext(): QueuedRequest | undefined {
    const count = this.#startedRequests().length;
    const mayJoin = this.#rows.mixesPrompts && count < this.#maxRequests;
    const [work] = this.#queue;
    if (count === 0) this.#rows.begin(this.#maxRequests > 1 && work !== undefined && this.#fits(work));
    else if (!mayJoin || work === undefined || !this.#fits(work)) return undefined;
    return this.#queue.shift();
  }

  /** True if the batch including this request fits in memory even if all replies reach their maximum length. */
  #fits({ request }: QueuedRequest): boolean {
    const seedCounts = this.#prefilling.map((one) => one.request.seeds.length);
    const rows = [request.seeds.length, ...seedCounts].reduce((sum, one) => sum + one, this.#rows.all.length);
    const lengths = [request, ...this.#startedRequests().map((one) => one.request)].map(
      ({ prompt, maxTokens }) => prompt.length + maxTokens,
    );
    return rows * largest([this.#rows.capacity, ...lengths]) <= this.#maxTokens;
  }

  /** Returns the requests being read or decoded. */
  #startedRequests(): readonly StartedRequest[] {
    return [...new Set([...this.#prefilling, ...this.#rows.all.map(({ work }) => work)])];
  }

  /** True if another prompt can be read now, alone or in one pass with the prompts in `#prefilling`. */
  #canRead(): boolean {
    const jointTokens = (this.#prefilling.length + 1) * largest([1, ...this.#prefilling.map(unreadTokens)]);
    const canJoin = this.#rows.mixesPrompts && !this.#hasStates && this.#prefilling.every(isShort);
    return this.#prefilling.length === 0 || (canJoin && jointTokens <= maxJointTokens);
  }

  async #begin(work: QueuedRequest): Promise<void> {
    const { conversation, maxTokens, prompt, system } = work.request;
    const limit = longRopeStart(this.#config.layers);
    const kind = { conversation, system, isLong: limit !== undefined && prompt.length + maxTokens > limit };
    try {
      // Cached tokens have no logits, so read the last token again.
      const step = work.request.readTogether ? 1 : chunkSize(this.#hasStates);
      const cachedPrompt = await this.#prompts.lookUp(kind, prompt.slice(0, -1), step);
      const cachedTokens = cachedPrompt.cache.length;
      this.#prefilling.push({ ...work, cachedPrompt, cachedTokens, candidates: [] });
    } catch (error) {
      work.reject(error);
    }
  }

  /** Reads the next part of a prompt; after the last part, starts its candidates. */
  async #prefill(work: StartedRequest): Promise<void> {
    const { cachedPrompt, hooks, request } = work;
    const { adapter, prompt: ids, maxTokens } = request;
    const promptCache = cachedPrompt.cache;
    try {
      const from = promptCache.length;
      hooks.onRead?.(from, ids.length);
      const chunk = ids.slice(from, from + chunkSize(this.#hasStates));
      const isLast = from + chunk.length === ids.length;
      const output = await this.#session.forward({
        ids: chunk,
        rows: 1,
        position: from,
        sequenceTokens: ids.length + maxTokens,
        adapter,
        promptCache,
        ownCache: this.#emptyCache,
        states: cachedPrompt.states.statesAt(from),
        logitIndices: isLast ? [chunk.length - 1] : [],
      });
      await promptCache.append(output.entries);
      if (this.#hasStates) cachedPrompt.states.add(promptCache.length, output.states);
      cachedPrompt.tokens = ids.slice(0, promptCache.length);
      if (isLast) hooks.onRead?.(ids.length, ids.length);
      if (isLast) await this.#join(work, output.logits);
    } catch (error) {
      this.#leave(work);
      work.reject(error);
    }
  }

  /** Reads the rest of several prompts in one pass; shorter ones are padded. */
  async #prefillTogether(requests: readonly StartedRequest[]): Promise<void> {
    this.#jointCache ??= this.#session.newCache();
    const jointCache = this.#jointCache;
    try {
      jointCache.reset(0);
      const entries = await Promise.all(requests.map(({ cachedPrompt }) => cachedPrompt.cache.entries(0)));
      jointCache.join!(entries, 1);
      const [{ request }] = requests as [StartedRequest, ...StartedRequest[]];
      const positions = [...jointCache.lengths];
      const unreadCounts = requests.map(unreadTokens);
      const longest = largest(unreadCounts);
      const output = await this.#session.forward({
        ids: requests.flatMap(({ request: { prompt } }, row) => {
          const rest = prompt.slice(positions[row]);
          return [...rest, ...Array<number>(longest - rest.length).fill(rest.at(-1)!)];
        }),
        rows: requests.length,
        position: positions,
        adapter: request.adapter,
        promptCache: this.#emptyCache,
        ownCache: jointCache,
        sequenceTokens: requests.map(({ request: { maxTokens, prompt } }) => prompt.length + maxTokens),
        logitIndices: unreadCounts.map((tokens, row) => row * longest + tokens - 1),
      });
      await jointCache.append(output.entries);
      for (const [row, work] of requests.entries()) {
        const { cachedPrompt, request } = work;
        await cachedPrompt.cache.append(await jointCache.entries(row, positions[row], request.prompt.length));
        cachedPrompt.tokens = request.prompt;
        const { vocabulary } = this.#config;
        await this.#join(work, output.logits.subarray(row * vocabulary, (row + 1) * vocabulary));
      }
    } catch (error) {
      for (const work of this.#prefilling) work.reject(error);
      this.#prefilling = [];
    }
  }

  #leave(work: StartedRequest): void {
    this.#prefilling = this.#prefilling.filter((one) => one !== work);
  }

  /** Starts the candidates of a prompt. @param logits logits after its last token */
  async #join(work: StartedRequest, logits: Float32Array): Promise<void> {
    const { candidates, cachedPrompt, request } = work;
    work.tokensAfterRead = cachedPrompt.tokens;
    append(
      candidates,
      request.seeds.map((seed) => new Candidate(seed, request, this.#bytes)),
    );
    for (const candidate of candidates) candidate.chooseNext(logits.slice());
    await this.#rows.join(
      work,
      candidates.filter((candidate) => !candidate.isFinished),
    );
    this.#leave(work);
    resolveFinished([work]);
  }

  async #step(): Promise<void> {
    const requests = this.#rows.all.map(({ work }) => work);
    try {
      const errors = await this.#rows.step();
      for (const [work, error] of errors) work.reject(error);
      resolveFinished(requests.filter((work) => !errors.has(work)));
    } catch (error) {
      for (const work of requests) work.reject(error);
      await this.#rows.keep(() => false);
    }
  }

  async #dropAborted(): Promise<void> {
    const aborted = new Set(this.#startedRequests().filter(({ hooks }) => hooks.isAborted()));
    if (aborted.size === 0) return;
    for (const work of aborted) work.reject(new AbortedError());
    this.#prefilling = this.#prefilling.filter((work) => !aborted.has(work));
    await this.#rows.keep(({ work }) => !aborted.has(work));
  }
}

const unreadTokens = ({ cachedPrompt, request }: StartedRequest): number =>
  request.prompt.length - cachedPrompt.cache.length;

/** True if a request's prompt may be read together with others and its unread part is short. */
const isShort = (work: StartedRequest): boolean =>
  work.request.readTogether === true && unreadTokens(work) <= maxShortPrompt;

function resolveFinished(requests: readonly StartedRequest[]): void {
  for (const { candidates, request, cachedTokens, resolve } of new Set(requests))
    if (candidates.every((candidate) => candidate.isFinished))
      resolve({
        replies: candidates.map((candidate) => candidate.reply()),
        promptTokens: request.prompt.length,
        cachedTokens,
      });
}
