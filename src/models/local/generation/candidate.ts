import { createGenerator, type RandomGenerator } from '../../../base/random/generator.js';
import type { OnRead, Sampling } from '../../language-model.js';
import type { Constraint, ConstraintState } from '../constraint/constraint.js';
import { isUnfiltered, logProbability, sampleToken, type TokenMask } from '../constraint/sampling.js';
import type { ParameterInputs } from '../engine/runtime.js';
import { TextStream, type TokenBytes } from '../tokens/token-text.js';
import type { GeneratedReply, GenerationJob } from './protocol.js';

export interface GenerationRequest
  extends Pick<GenerationJob, 'seeds' | 'maxTokens' | 'conversation' | 'sampledLogProbabilities'> {
  /** Only for a graph whose parameters are inputs; after they change, call `TextGenerator.clearCache`. */
  readonly adapter?: ParameterInputs;
  readonly prompt: readonly number[];
  /** System message. Only cached prompts with the same system message are reused. */
  readonly system?: string | undefined;
  readonly sampling: Sampling;
  /** Allows reading this prompt together with others and after any cached tokens: faster, but it affects rounding. */
  readonly readTogether?: boolean;
  readonly eosTokens: ReadonlySet<number>;
  readonly constraint?: Constraint;
}

export interface GenerationHooks {
  /** Called before each pass once the request has started; if it returns true, `generate` throws `AbortedError`. */
  isAborted(): boolean;
  readonly onRead?: OnRead | undefined;
}

/** A reply in progress. It has its own random stream, so other candidates don't affect it. */
export class Candidate {
  readonly ids: number[] = [];
  /** Chosen tokens that the model hasn't read yet. */
  readonly unreadIds: number[] = [];
  readonly #request: GenerationRequest;
  readonly #random: RandomGenerator;
  readonly #seenIds: Set<number>;
  readonly #stream: TextStream;
  readonly #constraint: ConstraintState | undefined;
  readonly #sampledLogProbabilities: number[] = [];
  readonly #allowedIds: (readonly number[] | null)[] = [];
  #mask: TokenMask | undefined;
  #text = '';
  #finishReason: 'stop' | 'length' | undefined;

  constructor(seed: number, request: GenerationRequest, bytes: TokenBytes) {
    this.#request = request;
    this.#random = createGenerator(seed);
    this.#seenIds = new Set(request.prompt);
    this.#stream = new TextStream(bytes);
    this.#constraint = request.constraint?.start();
    this.#mask = this.#nextMask();
  }

  /** True once the last token has been chosen. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Chooses the next token from `logits`, which it may modify, and adds any forced tokens that follow. */
  chooseNext(logits: Float32Array): void {
    const { sampledLogProbabilities, sampling } = this.#request;
    const mask = this.#mask;
    const rawLogits = sampledLogProbabilities && !isUnfiltered(sampling, mask) ? logits.slice() : undefined;
    const { id, logProbability: logp } = sampleToken(logits, sampling, this.#random, this.#seenIds, mask);
    if (sampledLogProbabilities) {
      // For greedy choices, log-probabilities are at temperature 1.
      const temperature = sampling.temperature || 1;
      const allowed = mask?.kind === 'only' ? mask.ids : undefined;
      const tempered = temperature === 1 ? rawLogits : rawLogits?.map((logit) => logit / temperature);
      this.#sampledLogProbabilities.push(tempered ? logProbability(tempered, id, allowed) : logp);
      this.#allowedIds.push(allowed === undefined ? null : [...allowed]);
    }
    this.#add(id);
    while (!this.isFinished) {
      this.#mask = this.#nextMask();
      if (this.#mask?.kind !== 'only' || this.#mask.ids.length !== 1) break;
      this.#sampledLogProbabilities.push(0);
      this.#allowedIds.push([...this.#mask.ids]);
      this.#add(this.#mask.ids[0]!);
    }
  }

  reply(): GeneratedReply {
    return {
      text: this.#text,
      ids: this.ids,
      finishReason: this.#finishReason ?? 'length',
      ...(this.#request.sampledLogProbabilities && {
        sampledLogProbabilities: this.#sampledLogProbabilities,
        allowed: this.#allowedIds,
      }),
    };
  }

  #nextMask(): TokenMask | undefined {
    return this.#constraint?.mask(this.#request.maxTokens - this.ids.length);
  }

  #add(id: number): void {
    this.ids.push(id);
    this.unreadIds.push(id);
    this.#seenIds.add(id);
    if (this.#request.eosTokens.has(id)) {
      this.#end('stop');
      return;
    }
    this.#constraint?.accept(id);
    this.#text += this.#stream.push(id);
    if (this.ids.length >= this.#request.maxTokens) this.#end('length');
  }

  #end(reason: 'stop' | 'length'): void {
    this.#finishReason = reason;
    this.#text += this.#stream.end();
  }
}
