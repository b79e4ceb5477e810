import { createGenerator, type RandomGenerator } from '../../../random/generator.js';
import type { Sampling } from '../../language-model.js';
import type { Constraint, ConstraintState } from '../constraint/constraint.js';
import { logProbability, sampleToken, type TokenMask } from '../constraint/sampling.js';
import type { AdapterInputs } from '../engine/adapter-inputs.js';
import { StopStrings, TextStream, type TokenBytes } from '../tokens/token-text.js';
import type { GeneratedAnswer, GenerateJob } from './protocol.js';

export interface GenerationRequest
  extends Pick<GenerateJob, 'seeds' | 'maxTokens' | 'stop' | 'logProbabilities' | 'conversation'> {
  /** Factors of the adapter; the same object each time, as prompts are kept by it. */
  readonly adapter: AdapterInputs;
  readonly prompt: readonly number[];
  /** Its system message: a prompt goes on from one that has the same. */
  readonly system?: string | undefined;
  readonly sampling: Sampling;
  /** Whether log-probabilities at the temperature of the sampling are wanted. */
  readonly sampledLogProbabilities?: boolean;
  /** Tokens that end an answer. */
  readonly eosTokens: ReadonlySet<number>;
  /** Stop texts count only once its answer is complete. */
  readonly constraint?: Constraint;
  /** Token ids of texts that are scored as answers, in place of answering; `maxTokens` is the length of the longest. */
  readonly texts?: readonly (readonly number[])[];
}

export interface GenerationHooks {
  /** Receives more text of a candidate, as soon as it is certain. */
  onText?(candidate: number, text: string): void;
  /** Asked before every run of the model; true ends the generation with `AbortedError`. */
  aborted(): boolean;
}

/** An unfinished answer. It has its own random numbers, so the candidates beside it don't change it. */
export class Candidate {
  readonly ids: number[] = [];
  /** Chosen tokens that the model has yet to read, at least one until the answer is finished. */
  readonly unread: number[] = [];
  /** Whether tokens without choice need their log-probabilities. */
  readonly scored: boolean;
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
  readonly #allowed: (readonly number[] | null)[] = [];
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
    this.scored = request.logProbabilities;
    this.#random = createGenerator(seed);
    this.#occurred = new Set(request.prompt);
    this.#stream = new TextStream(bytes);
    this.#stops = new StopStrings(request.stop);
    this.#constraint = request.constraint?.start();
    this.#stoppable = this.#constraint === undefined;
    this.#mask = this.#nextMask();
  }

  /** Whether no more tokens come. */
  get ended(): boolean {
    return this.#finish !== undefined;
  }

  /** Whether nothing is left to read: all but the first of the unread tokens of an ended answer lack their score. */
  get finished(): boolean {
    return this.ended && (!this.scored || this.unread.length <= 1);
  }

  /** Chooses the next token from its logits, which are changed, and those that follow without choice. */
  take(logits: Float32Array): void {
    const { logProbabilities, sampledLogProbabilities, sampling } = this.#request;
    const raw = logProbabilities || sampledLogProbabilities ? logits.slice() : undefined;
    const id = sampleToken(logits, sampling, this.#random, this.#occurred, this.#mask);
    if (raw !== undefined && logProbabilities) this.score(raw, id);
    if (raw !== undefined && sampledLogProbabilities) {
      const { temperature } = sampling;
      const tempered = temperature === 1 ? raw : raw.map((logit) => logit / temperature);
      const allowed = this.#mask?.kind === 'only' ? this.#mask.ids : undefined;
      this.#sampledLogProbabilities.push(logProbability(tempered, id, allowed));
      this.#allowed.push(allowed === undefined ? null : [...allowed]);
    }
    this.#add(id);
    while (!this.ended) {
      this.#mask = this.#nextMask();
      if (this.#mask?.kind !== 'only' || this.#mask.ids.length !== 1) break;
      this.#sampledLogProbabilities.push(0);
      this.#allowed.push([...this.#mask.ids]);
      this.#add(this.#mask.ids[0]!);
    }
  }

  /** Notes the log-probability of a token that was chosen, under the model itself. */
  score(logits: Float32Array, id: number): void {
    this.#logProbabilities.push(logProbability(logits, id));
  }

  answer(): GeneratedAnswer {
    return {
      text: this.#text,
      ids: this.ids,
      finishReason: this.#finish ?? 'length',
      ...(this.#request.logProbabilities && { logProbabilities: this.#logProbabilities }),
      ...(this.#request.sampledLogProbabilities && {
        sampledLogProbabilities: this.#sampledLogProbabilities,
        allowed: this.#allowed,
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
