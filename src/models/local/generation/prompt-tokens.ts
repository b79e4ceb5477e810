/** Encodes the prompts of jobs, and rejects prompts that don't fit in the context. */
import { setImmediate } from 'node:timers/promises';
import { shortenPrompt } from '../../language-model.js';
import type { ChatTokenizer } from '../tokens/tokenizer.js';
import type { DecoderConfig } from '../weights/decoder-config.js';
import type { GenerateJob } from './protocol.js';

export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly kind: 'bad-request' | 'too-long';

  constructor(message: string, kind: RequestError['kind'] = 'bad-request') {
    super(message);
    this.kind = kind;
  }
}

/** Number of characters to encode at a time. A character takes about 3 µs, and up to 25 µs in a run of spaces. */
const sliceLength = 2048;
/** Prompts with at most this many characters are encoded without being counted first, because that is quick. */
const quicklyEncoded = 2 ** 16;

/** Far more characters per token than any text has, unless it is mostly spaces. */
const charactersPerToken = 16;

/**
 * @returns a function that encodes prompts. While it counts the tokens of a long text, other jobs continue.
 * @throws RequestError (when the function is called) for prompts that are empty or don't fit
 */
export function promptReader(tokenizer: ChatTokenizer, contextTokens: number, config: DecoderConfig) {
  /** Texts are counted one after the other, so that jobs being decoded wait for only one slice per step. */
  let counting: Promise<unknown> = Promise.resolve();
  const tooLong = (count: string) =>
    new RequestError(
      `the prompt has ${count}, but the context only holds ${contextTokens} tokens, answer included: ` +
        shortenPrompt +
        (contextTokens < config.contextTokens ? ' or raise model.contextTokens' : ''),
      'too-long',
    );

  async function requireShort(texts: readonly string[]): Promise<void> {
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (characters <= quicklyEncoded) return;
    if (characters > charactersPerToken * contextTokens) throw tooLong(`${characters} characters`);
    let count = 0;
    for (const text of texts)
      for (let at = 0; at < text.length; at += sliceLength) {
        count += tokenizer.encodeText(text.slice(at, at + sliceLength)).length;
        // A cut can split tokens, so the slices may have more tokens than the text, but not twice as many.
        if (count > 2 * contextTokens) throw tooLong(`more than ${contextTokens} tokens`);
        await setImmediate();
      }
  }

  return async ({ messages }: GenerateJob): Promise<readonly number[]> => {
    const counted = counting.then(() => requireShort(messages.map(({ content }) => content)));
    counting = counted.catch(() => undefined);
    await counted;
    const ids = tokenizer.encodePrompt(messages);
    if (ids.length === 0) throw new RequestError('the prompt is empty');
    if (ids.length >= contextTokens) throw tooLong(`${ids.length} tokens`);
    return ids;
  };
}
