import { createGenerator, type RandomGenerator } from '../../../random/generator.js';
import type { CompletionToken, Sampling } from '../../language-model.js';
import type { Constraint, ConstraintState } from '../constraint/constraint.js';
import {
  changeLogits,
  isUnfiltered,
  logProbability,
  sampleToken,
  type TokenMask,
} from '../constraint/sampling.js';
import type { AdapterInputs } from '../engine/adapter-inputs.js';
import { StopStrings, TextStream, type TokenBytes } from '../tokens/token-text.js';
import type { GeneratedAnswer, GenerateJob } from './protocol.js';
import { scoredToken } from './scored-token.js';

export interface GenerationRequest
  extends Pick<
    GenerateJob,
    | 'seeds'
    | 'maxTokens'
    | 'stop'
    | 'logProbabilities'
    | 'topLogProbabilities'
    | 'logits'
    | 'echo'
    | 'embedding'
    | 'conversation'
  > {
  /** Factors of the adapter. Cached prompts are looked up by this object, so a copy of it finds none. */
  readonly adapter: AdapterInputs;
  readonly prompt: readonly number[];
  /** System message. Only cached prompts with the same system message are reused. */
  readonly system?: string | undefined;
  readonly sampling: Sampling;
  readonly sampledLogProbabilities?: boolean;
  /** Allows reading this prompt in one pass with others, which is faster, but changes the last bits of its logits. */
  readonly readTogether?: boolean;
  readonly eosTokens: ReadonlySet<number>;
  /** With a constraint, stop strings take effect only after the end of its answer (`answerEnd`). */
  readonly constraint?: Constraint;
  /** Texts to score instead of generating an answer, as token ids; `maxTokens` is the length of the longest. */
  readonly texts?: readonly (readonly number[])[];
}

export interface GenerationHooks {
  /** Receives new text of a candidate as soon as it can't change anymore. */
  onText?(candidate: number, text: string): void;
  /** Called before each run of the model; if it returns true, the generation ends with `AbortedError`. */
  aborted(): boolean;
}

/** An answer in progress. It has its own random stream, so other candidates don't affect it. */
export class Candidate {
  readonly ids: number[] = [];
  /** Chosen tokens that the model hasn't read yet. */
  readonly unread: number[] = [];
  readonly scored: boolean;
  readonly #index: number;
  readonly #request: GenerationRequest;
  readonly #hooks: GenerationHooks;
  readonly #random: RandomGenerator;
  readonly #occurred: Set<number>;
  readonly #stream: TextStream;
  readonly #stops: StopStrings;
  readonly #constraint: ConstraintState | undefined;
  readonly #counts = new Map<number, number>();
  readonly #bytes: TokenBytes;
  readonly #tokens: CompletionToken[] = [];
  readonly #sampledLogProbabilities: number[] = [];
  readonly #allowed: (readonly number[] | null)[] = [];
  #mask: TokenMask | undefined;
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
    this.#bytes = bytes;
    this.#stream = new TextStream(bytes);
    this.#stops = new StopStrings(request.stop);
    this.#constraint = request.constraint?.start();
    this.#stoppable = this.#constraint === undefined;
    this.#mask = this.#nextMask();
  }

  /** True once the last token has been chosen. */
  get ended(): boolean {
    return this.#finish !== undefined;
  }

  /** True if the answer has ended and, if scores were requested, each of its tokens has one. */
  get finished(): boolean {
    return this.ended && (!this.scored || this.unread.length <= 1);
  }

  /** Chooses the next token from its logits, which it modifies, and adds any forced tokens after it. */
  take(logits: Float32Array): void {
    const { logProbabilities, sampledLogProbabilities, sampling, logits: changes } = this.#request;
    const unfiltered = changes === undefined && isUnfiltered(sampling, this.#mask);
    const raw = logProbabilities || (sampledLogProbabilities && !unfiltered) ? logits.slice() : undefined;
    if (changes !== undefined) changeLogits(logits, changes, this.#counts);
    const { id, logProbability: drawn } = sampleToken(
      logits,
      sampling,
      this.#random,
      this.#occurred,
      this.#mask,
    );
    if (raw !== undefined && logProbabilities) this.score(raw, id);
    if (sampledLogProbabilities) {
      const { temperature } = sampling;
      const allowed = this.#mask?.kind === 'only' ? this.#mask.ids : undefined;
      const tempered = temperature === 1 ? raw : raw?.map((logit) => logit / temperature);
      this.#sampledLogProbabilities.push(
        tempered === undefined ? drawn : logProbability(tempered, id, allowed),
      );
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

  /** Records a chosen token's log-probability under the model itself, at temperature 1 and without a constraint. */
  score(logits: Float32Array, id: number): void {
    this.#tokens.push(scoredToken(logits, id, this.#bytes, this.#request.topLogProbabilities));
  }

  answer(): GeneratedAnswer {
    return {
      text: this.#text,
      ids: this.ids,
      finishReason: this.#finish ?? 'length',
      ...(this.#request.logProbabilities && { tokens: this.#tokens }),
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
    if (this.#request.logits !== undefined) this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
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

interface ScoringRequest {
  readonly texts: readonly (readonly number[])[];
  /** Logits after the last token of the prompt. */
  readonly first: Float32Array;
  readonly vocabulary: number;
  /** Reads `rows` sequences of equal length after the prompt; returns the logits at the indices `logitsOf` of `ids`. */
  run(ids: readonly number[], rows: number, logitsOf: readonly number[]): Promise<Float32Array>;
}

/** Maximum number of logits computed at a time (256 MiB), unless a single text needs more. */
const logitsAtOnce = 2 ** 26;

/** Scores answers to one prompt, many at a time. @returns the log-probabilities of each answer's tokens */
export async function scoreTexts(request: ScoringRequest): Promise<readonly (readonly number[])[]> {
  const { first, run, texts, vocabulary } = request;
  const scores = texts.map((ids) => [logProbability(first, ids[0]!)]);
  // Texts of similar length share a batch to keep padding small.
  const longer = [...texts.keys()]
    .filter((text) => texts[text]!.length > 1)
    .toSorted((a, b) => texts[a]!.length - texts[b]!.length);
  while (longer.length > 0) {
    const longest = texts[longer.at(-1)!]!.length - 1;
    const rows = longer.splice(-Math.max(1, Math.floor(logitsAtOnce / vocabulary / longest)));
    const padded = rows.flatMap((text) => {
      const read = texts[text]!.slice(0, -1);
      return [...read, ...Array<number>(longest - read.length).fill(read.at(-1)!)];
    });
    const places = rows.flatMap((text, row) =>
      Array.from({ length: texts[text]!.length - 1 }, (_, i) => row * longest + i),
    );
    const logits = await run(padded, rows.length, places);
    let place = 0;
    for (const text of rows)
      for (const id of texts[text]!.slice(1))
        scores[text]!.push(logProbability(logits.subarray(place * vocabulary, ++place * vocabulary), id));
  }
  return scores;
}
