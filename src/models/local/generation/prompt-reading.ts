import type { PromptToken } from '../../language-model.js';
import type { TokenBytes } from '../tokens/token-text.js';
import type { GenerationRequest } from './candidate.js';
import type { Generation } from './protocol.js';
import { scoredToken } from './scored-token.js';

/** Collects a prompt's log-probabilities or mean hidden state, if requested, chunk by chunk. */
export class PromptReading {
  readonly #request: GenerationRequest;
  readonly #bytes: TokenBytes;
  readonly #echo: PromptToken[] = [];
  #sum: Float64Array | undefined;

  constructor(request: GenerationRequest, bytes: TokenBytes) {
    this.#request = request;
    this.#bytes = bytes;
    const [first] = request.prompt;
    if (request.echo && first !== undefined) this.#echo.push({ id: first, bytes: [...bytes.of(first)] });
  }

  /** Indices of the chunk's tokens whose logits are needed. */
  logitsOf(tokens: number, isLast: boolean): readonly number[] {
    if (this.#request.echo) return Array.from({ length: tokens }, (_, row) => row);
    return isLast && !this.#request.embedding ? [tokens - 1] : [];
  }

  /** @param from position of the chunk's first token */
  take(from: number, logits: Float32Array, vocabulary: number, sum: Float32Array | undefined): void {
    const { echo, prompt, topLogProbabilities } = this.#request;
    if (sum !== undefined) this.#sum = Float64Array.from(sum, (value, i) => value + (this.#sum?.[i] ?? 0));
    if (!echo) return;
    for (let row = 0; row < logits.length / vocabulary; row++) {
      const next = prompt[from + row + 1];
      const own = logits.subarray(row * vocabulary, (row + 1) * vocabulary);
      if (next !== undefined) this.#echo.push(scoredToken(own, next, this.#bytes, topLogProbabilities));
    }
  }

  get result(): Pick<Generation, 'echo' | 'embedding'> {
    const { echo, prompt } = this.#request;
    return {
      ...(echo && { echo: this.#echo }),
      ...(this.#sum && { embedding: Array.from(this.#sum, (value) => value / prompt.length) }),
    };
  }
}
