import { createGenerator, type RandomGenerator } from '../../../random/generator.js';
import type { Sampling } from '../../language-model.js';
import type { Constraint, ConstraintState } from '../constraint/constraint.js';
import { logProbability, sampleToken, type TokenMask } from '../constraint/sampling.js';
import { TextStream, type TokenBytes } from '../tokens/token-text.js';
import type { DecoderConfig } from '../weights/hf-config.js';
import type { AdapterInputs } from './adapter-inputs.js';
import { type HeldPrompt, KeyValueCache, PromptCaches } from './key-value-cache.js';
import type { DecoderSession } from './runtime.js';

/** Text of an answer as it grows, cut at the first stop string; what may become one is held back from the reader. */
export class StopStrings {
  readonly #stops: readonly string[];
  #held = '';
  #stopped = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '');
  }

  /** Whether a stop string has been met. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Takes more text; returns what can be shown for certain. */
  push(text: string): string {
    if (this.#stopped) return '';
    this.#held += text;
    const cuts = this.#stops.map((stop) => this.#held.indexOf(stop)).filter((at) => at >= 0);
    if (cuts.length > 0) {
      this.#stopped = true;
      return this.#release(Math.min(...cuts));
    }
    return this.#release(this.#held.length - this.#pendingLength());
  }

  /** The rest, when nothing more comes. */
  end(): string {
    return this.#stopped ? '' : this.#release(this.#held.length);
  }

  /** Length of the longest end of the held text that begins a stop string. */
  #pendingLength(): number {
    const longest = Math.max(0, ...this.#stops.map((stop) => stop.length - 1));
    for (let length = Math.min(longest, this.#held.length); length > 0; length--) {
      const end = this.#held.slice(-length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }

  #release(length: number): string {
    const shown = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return shown;
  }
}

// Generates answers: the prompt is prefilled once, whatever the number of candidates, and its keys and values stay for
// the next call, which pays only for what its prompt adds.

interface GenerationRequest {
  /** What adapts the model; the same object each time, as prompts are kept by it. */
  readonly adapter: AdapterInputs;
  readonly prompt: readonly number[];
  /** One candidate a seed. */
  readonly seeds: readonly number[];
  /** Longest answer in tokens. */
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Texts that end an answer; under a constraint they count only once its answer is complete. */
  readonly stop: readonly string[];
  /** Tokens that end an answer. */
  readonly eosTokens: ReadonlySet<number>;
  /** Whether the log-probability of each token is wanted. */
  readonly logProbabilities: boolean;
  readonly constraint?: Constraint;
}

export interface GeneratedAnswer {
  readonly text: string;
  /** Tokens of the answer, the one that ended it included. */
  readonly ids: readonly number[];
  readonly finishReason: 'stop' | 'length';
  /** Natural logarithms, one a token, under the model itself. */
  readonly logProbabilities?: readonly number[];
}

interface Generation {
  readonly answers: readonly GeneratedAnswer[];
  readonly promptTokens: number;
  /** Part of the prompt whose keys and values were there already. */
  readonly cachedTokens: number;
}

export interface GenerationHooks {
  /** More text of a candidate, as soon as it is certain. */
  onText?(candidate: number, text: string): void;
  /** Asked before every run of the model; true ends the generation with `AbortedError`. */
  aborted(): boolean;
}

export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

export interface TextGenerator {
  /** @throws AbortedError once `hooks.aborted()` is true; what was prefilled by then stays for the next call. */
  generate(request: GenerationRequest, hooks: GenerationHooks): Promise<Generation>;
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

/** Calls share caches: they must not overlap. */
export function createTextGenerator(
  session: DecoderSession,
  config: DecoderConfig,
  bytes: TokenBytes,
): TextGenerator {
  const shape = { layers: config.layers.length, kvHeads: config.kvHeads, headDim: config.headDim };
  const prompts = new PromptCaches(shape);
  const own = new KeyValueCache(shape);

  /** @returns the logits after the last token of the prompt */
  async function prefill(
    held: HeldPrompt,
    { prompt: ids, adapter }: GenerationRequest,
    hooks: GenerationHooks,
  ): Promise<Float32Array> {
    const prompt = held.cache;
    own.reset(1);
    let logits = new Float32Array();
    while (prompt.length < ids.length) {
      if (hooks.aborted()) throw new AbortedError();
      const chunk = ids.slice(prompt.length, prompt.length + chunkLength(config, prompt.length));
      const last = prompt.length + chunk.length === ids.length;
      const output = await session.forward({
        ids: chunk,
        rows: 1,
        position: prompt.length,
        adapter,
        prompt,
        own,
        logitsOf: last ? [chunk.length - 1] : [],
      });
      prompt.append(output.entries);
      held.tokens = ids.slice(0, prompt.length);
      logits = output.logits.slice();
    }
    return logits;
  }

  return {
    async generate(request, hooks) {
      const held = prompts.of(request.adapter);
      const prompt = held.cache;
      const cachedTokens = Math.min(commonPrefix(held.tokens, request.prompt), request.prompt.length - 1);
      prompt.truncate(cachedTokens);
      held.tokens.length = cachedTokens;
      const first = await prefill(held, request, hooks);
      const candidates = request.seeds.map(
        (seed, index) => new Candidate(index, seed, request, bytes, hooks),
      );
      for (const candidate of candidates) candidate.take(first.slice());
      let running = candidates.filter((candidate) => !candidate.finished);
      own.reset(Math.max(1, running.length));
      while (running.length > 0) {
        if (hooks.aborted()) throw new AbortedError();
        // Tokens that a constraint leaves no choice about are read together with the one before them.
        const tokens = Math.min(...running.map((candidate) => candidate.unread.length));
        const ready = [...running.keys()].filter((row) => running[row]!.unread.length === tokens);
        const { logits, entries } = await session.forward({
          ids: running.flatMap((candidate) => candidate.unread.splice(0, tokens)),
          rows: running.length,
          position: prompt.length + own.length,
          adapter: request.adapter,
          prompt,
          own,
          logitsOf: ready.map((row) => (row + 1) * tokens - 1),
        });
        own.append(entries, ownBlock);
        ready.forEach((row, i) => {
          running[row]!.take(logits.subarray(i * config.vocabulary, (i + 1) * config.vocabulary));
        });
        const kept = [...running.keys()].filter((row) => !running[row]!.finished);
        if (kept.length < running.length && kept.length > 0) own.keepRows(kept);
        if (kept.length === 0 && candidates.length === 1) keepAnswer(held, candidates[0]!);
        running = kept.map((row) => running[row]!);
      }
      return {
        answers: candidates.map((candidate) => candidate.answer()),
        promptTokens: request.prompt.length,
        cachedTokens,
      };
    },
  };

  /** A conversation that goes on after a single answer finds its keys and values there. */
  function keepAnswer(held: HeldPrompt, candidate: Candidate): void {
    held.cache.append(own.entries(0));
    held.tokens = [...held.tokens, ...candidate.ids.slice(0, own.length)];
  }
}

function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}

/** One answer in the making. Its random numbers are its own, so it doesn't matter which others are made beside it. */
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
    const { sampling, logProbabilities } = this.#request;
    const raw = logProbabilities ? logits.slice() : undefined;
    const id = sampleToken(logits, sampling, this.#random, this.#occurred, this.#mask);
    if (raw !== undefined) this.#logProbabilities.push(logProbability(raw, id));
    this.#add(id);
    while (!this.finished) {
      this.#mask = this.#nextMask();
      // The log-probability of a forced token needs its logits like that of any other.
      if (logProbabilities || this.#mask?.kind !== 'only' || this.#mask.ids.length !== 1) break;
      this.#add(this.#mask.ids[0]!);
    }
  }

  answer(): GeneratedAnswer {
    return {
      text: this.#text,
      ids: this.ids,
      finishReason: this.#finish ?? 'length',
      ...(this.#request.logProbabilities && { logProbabilities: this.#logProbabilities }),
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

  /** What can be shown of the text so far. */
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
