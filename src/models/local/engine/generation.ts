import { createGenerator, type RandomGenerator } from '../../../random/generator.js';
import type { Sampling } from '../../language-model.js';
import type { Constraint, ConstraintState } from '../constraint/constraint.js';
import { logProbability, sampleToken, type TokenMask } from '../constraint/sampling.js';
import { StopStrings, TextStream, type TokenBytes } from '../tokens/token-text.js';
import { type DecoderConfig, stateShapes } from '../weights/decoder-config.js';
import { longSequences } from '../weights/rope.js';
import type { AdapterInputs } from './adapter-inputs.js';
import { type HeldPrompt, PromptCaches, type TokenCache } from './key-value-cache.js';
import type { GeneratedAnswer, GenerateJob, Generation } from './protocol.js';
import type { DecoderSession } from './runtime.js';
import { keptStates, type States, tiledStates } from './states.js';

interface GenerationRequest extends Pick<GenerateJob, 'seeds' | 'maxTokens' | 'stop' | 'logProbabilities'> {
  /** Factors of the adapter; the same object each time, as prompts are kept by it. */
  readonly adapter: AdapterInputs;
  readonly prompt: readonly number[];
  readonly sampling: Sampling;
  /** Whether log-probabilities at the temperature of the sampling are wanted. */
  readonly sampledLogProbabilities?: boolean;
  /** Tokens that end an answer. */
  readonly eosTokens: ReadonlySet<number>;
  /** Stop texts count only once its answer is complete. */
  readonly constraint?: Constraint;
}

export interface GenerationHooks {
  /** Receives more text of a candidate, as soon as it is certain. */
  onText?(candidate: number, text: string): void;
  /** Asked before every run of the model; true ends the generation with `AbortedError`. */
  aborted(): boolean;
}

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

/** Slots by which the cache of a candidate grows. */
const ownBlock = 32;

/**
 * Generates answers. The prompt is prefilled once, whatever the number of candidates, and its keys and values stay for
 * the next call, which computes only what its prompt adds. Calls share caches: they must not overlap.
 */
export class TextGenerator {
  readonly #session: DecoderSession;
  readonly #config: DecoderConfig;
  /** Whether some layers carry a state. */
  readonly #carries: boolean;
  readonly #bytes: TokenBytes;
  readonly #prompts: PromptCaches;
  readonly #own: TokenCache;
  /** Those of the candidates. */
  #states: States = [];

  constructor(session: DecoderSession, config: DecoderConfig, bytes: TokenBytes) {
    this.#session = session;
    this.#config = config;
    this.#carries = stateShapes(config).length > 0;
    this.#bytes = bytes;
    this.#prompts = new PromptCaches(() => session.newCache());
    this.#own = session.newCache();
  }

  /** @throws AbortedError once `hooks.aborted()` is true; tokens prefilled by then stay for the next call. */
  async generate(request: GenerationRequest, hooks: GenerationHooks): Promise<Generation> {
    const held = this.#prompts.of(request.adapter);
    const cachedTokens = this.#reusable(held, request);
    held.cache.truncate(cachedTokens);
    held.tokens.length = cachedTokens;
    const first = await this.#prefill(held, request, hooks);
    const candidates = request.seeds.map(
      (seed, index) => new Candidate(index, seed, request, this.#bytes, hooks),
    );
    for (const candidate of candidates) candidate.take(first.slice());
    let running = candidates.filter((candidate) => !candidate.finished);
    this.#own.reset(Math.max(1, running.length));
    this.#states = tiledStates(held.states.at(held.cache.length), running.length);
    while (running.length > 0) {
      if (hooks.aborted()) throw new AbortedError();
      await this.#step(held, request, running);
      const kept = [...running.keys()].filter((row) => !running[row]!.finished);
      if (kept.length < running.length && kept.length > 0) {
        await this.#own.keepRows(kept);
        this.#states = keptStates(this.#states, running.length, kept);
      }
      if (kept.length === 0 && candidates.length === 1) await this.#keepAnswer(held, candidates[0]!);
      running = kept.map((row) => running[row]!);
    }
    return {
      answers: candidates.map((candidate) => candidate.answer()),
      promptTokens: request.prompt.length,
      cachedTokens,
    };
  }

  /** Tokens of the prompt whose keys and values are there, turned as those of this call will be. */
  #reusable(held: HeldPrompt, { prompt, maxTokens }: GenerationRequest): number {
    const limit = longSequences(this.#config.layers);
    const long = limit !== undefined && prompt.length + maxTokens > limit;
    if (long !== held.long) held.tokens = [];
    held.long = long;
    const common = Math.min(commonPrefix(held.tokens, prompt), prompt.length - 1);
    return this.#carries ? held.states.cut(common) : common;
  }

  /** @returns the logits after the last token of the prompt */
  async #prefill(
    held: HeldPrompt,
    { prompt: ids, adapter, maxTokens }: GenerationRequest,
    hooks: GenerationHooks,
  ): Promise<Float32Array> {
    const prompt = held.cache;
    this.#own.reset(1);
    let logits = new Float32Array();
    while (prompt.length < ids.length) {
      if (hooks.aborted()) throw new AbortedError();
      const chunk = ids.slice(prompt.length, prompt.length + chunkLength(this.#config, prompt.length));
      const last = prompt.length + chunk.length === ids.length;
      const output = await this.#session.forward({
        ids: chunk,
        rows: 1,
        position: prompt.length,
        sequenceTokens: ids.length + maxTokens,
        adapter,
        prompt,
        own: this.#own,
        states: held.states.at(prompt.length),
        logitsOf: last ? [chunk.length - 1] : [],
      });
      await prompt.append(output.entries);
      if (this.#carries) held.states.add(prompt.length, output.states);
      held.tokens = ids.slice(0, prompt.length);
      logits = output.logits.slice();
    }
    return logits;
  }

  /** Runs the model on chosen tokens; candidates without unread tokens then choose the next one. */
  async #step(
    { cache: prompt }: HeldPrompt,
    { prompt: { length }, maxTokens, adapter }: GenerationRequest,
    running: readonly Candidate[],
  ): Promise<void> {
    // Tokens that a constraint leaves no choice about are read together with the one before them.
    const tokens = Math.min(...running.map((candidate) => candidate.unread.length));
    const ready = running.flatMap((candidate, row) => (candidate.unread.length === tokens ? [row] : []));
    const { logits, entries, states } = await this.#session.forward({
      ids: running.flatMap((candidate) => candidate.unread.splice(0, tokens)),
      rows: running.length,
      position: prompt.length + this.#own.length,
      sequenceTokens: length + maxTokens,
      adapter,
      prompt,
      own: this.#own,
      states: this.#states,
      logitsOf: ready.map((row) => (row + 1) * tokens - 1),
    });
    await this.#own.append(entries, ownBlock);
    this.#states = states;
    const { vocabulary } = this.#config;
    ready.forEach((row, i) => {
      running[row]!.take(logits.subarray(i * vocabulary, (i + 1) * vocabulary));
    });
  }

  /** A conversation that goes on after a single answer finds its keys and values there. */
  async #keepAnswer(held: HeldPrompt, candidate: Candidate): Promise<void> {
    await held.cache.append(await this.#own.entries(0));
    if (this.#carries) held.states.add(held.cache.length, this.#states);
    held.tokens = [...held.tokens, ...candidate.ids.slice(0, this.#own.length)];
  }
}

function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}

/** An unfinished answer. It has its own random numbers, so the candidates beside it don't change it. */
class Candidate {
  readonly ids: number[] = [];
  /** Chosen tokens that the model has yet to read, at least one until the answer is finished. */
  readonly unread: number[] = [];
  readonly #index: number;
  readonly #request: GenerationRequest;
  readonly #hooks: GenerationHooks;
  readonly #random: RandomGenerator;
  readonly #occurred: Set<number>;
  readonly #stream: TextStream;
  readonly #stops: StopStrings;
  readonly #constraint: ConstraintState | undefined;
  readonly #logProbabilities: number[] = [];
  readonly #sampledLogProbabilities: number[] = [];
  readonly #chosen: boolean[] = [];
  #mask: TokenMask | undefined;
  /** Whether stop strings count from here on. */
  #stoppable: boolean;
  #text = '';
  #finish: 'stop' | 'length' | undefined;

  constructor(
    index: number,
    seed: number,
    request: GenerationRequest,
    bytes: TokenBytes,
    hooks: GenerationHooks,
  ) {
    this.#index = index;
    this.#request = request;
    this.#hooks = hooks;
    this.#random = createGenerator(seed);
    this.#occurred = new Set(request.prompt);
    this.#stream = new TextStream(bytes);
    this.#stops = new StopStrings(request.stop);
    this.#constraint = request.constraint?.start();
    this.#stoppable = this.#constraint === undefined;
    this.#mask = this.#nextMask();
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  /** Chooses the next token from its logits, which are changed, and those that follow without choice. */
  take(logits: Float32Array): void {
    const { sampling, logProbabilities, sampledLogProbabilities } = this.#request;
    const raw = logProbabilities || sampledLogProbabilities ? logits.slice() : undefined;
    const id = sampleToken(logits, sampling, this.#random, this.#occurred, this.#mask);
    if (raw !== undefined && logProbabilities) this.#logProbabilities.push(logProbability(raw, id));
    if (raw !== undefined && sampledLogProbabilities) {
      const { temperature } = sampling;
      const tempered = temperature === 1 ? raw : raw.map((logit) => logit / temperature);
      const isChosen = this.#mask?.kind !== 'only' || this.#mask.ids.length > 1;
      this.#sampledLogProbabilities.push(isChosen ? logProbability(tempered, id) : 0);
      this.#chosen.push(isChosen);
    }
    this.#add(id);
    while (!this.finished) {
      this.#mask = this.#nextMask();
      // The log-probability of a forced token under the model itself needs its logits like that of any other.
      if (logProbabilities || this.#mask?.kind !== 'only' || this.#mask.ids.length !== 1) break;
      if (sampledLogProbabilities) {
        this.#sampledLogProbabilities.push(0);
        this.#chosen.push(false);
      }
      this.#add(this.#mask.ids[0]!);
    }
  }

  answer(): GeneratedAnswer {
    return {
      text: this.#text,
      ids: this.ids,
      finishReason: this.#finish ?? 'length',
      ...(this.#request.logProbabilities && { logProbabilities: this.#logProbabilities }),
      ...(this.#request.sampledLogProbabilities && {
        sampledLogProbabilities: this.#sampledLogProbabilities,
        chosen: this.#chosen,
      }),
    };
  }

  #nextMask(): TokenMask | undefined {
    return this.#constraint?.mask(this.#request.maxTokens - this.ids.length);
  }

  #add(id: number): void {
    this.ids.push(id);
    this.unread.push(id);
    this.#occurred.add(id);
    if (this.#request.eosTokens.has(id)) {
      this.#end('stop');
      return;
    }
    this.#constraint?.take(id);
    this.#show(this.#beforeStop(this.#stream.push(id)));
    if (this.#stops.stopped) this.#end('stop');
    else if (this.ids.length >= this.#request.maxTokens) this.#end('length');
  }

  #end(reason: 'stop' | 'length'): void {
    this.#finish = reason;
    this.#show(this.#beforeStop(this.#stream.end()) + this.#stops.end());
  }

  /** The part of the new text that can be shown. */
  #beforeStop(text: string): string {
    if (this.#stoppable) return this.#stops.push(text);
    const reply = this.#text + text;
    const end = this.#constraint?.answerEnd(reply) ?? 0;
    if (end < 0) return text;
    this.#stoppable = true;
    return reply.slice(this.#text.length, end) + this.#stops.push(reply.slice(end));
  }

  #show(text: string): void {
    if (text === '') return;
    this.#text += text;
    this.#hooks.onText?.(this.#index, text);
  }
}
