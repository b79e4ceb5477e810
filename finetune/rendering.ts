/** From messages and an answer to the token ids of training, by the very code that renders prompts when the model serves. */
import { UserError } from '../src/errors.js';
import type { ChatMessage } from '../src/models/language-model.js';
import { readGenerationDefaults } from '../src/models/local/generation-defaults.js';
import type { DecoderConfig } from '../src/models/local/hf-config.js';
import type { ChatTokenizer } from '../src/models/local/tokenizer.js';
import type { TokenExample } from './batch.js';

/** A prompt and the answer to learn. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly completion: string;
  /** How much each token of the answer counts; negative: becomes less likely. */
  readonly weight: number;
  /** Who was served this prompt when it was logged, and the tokens counted then; absent where none were. */
  readonly served?: { readonly model: string; readonly promptTokens: number };
}

/**
 * The token that ends an answer: the one that the tokenizer names, since chat templates write it, else the model's own.
 * @throws UserError when none is stated
 */
export function endOfAnswer(directory: string, config: DecoderConfig, tokenizer: ChatTokenizer): number {
  const end = tokenizer.eosTokens[0] ?? readGenerationDefaults(directory).eosTokens[0] ?? config.eosTokens[0];
  if (end === undefined)
    throw new UserError({
      field: 'model.path',
      value: directory,
      message:
        'neither tokenizer nor config names a token that ends an answer, so answers could not learn to end',
      remedy: 'state eos_token in tokenizer_config.json or eos_token_id in config.json',
    });
  return end;
}

/** The prompt as it is served, and the answer as the model would write it: no control token but the one at its end. */
export function renderExample(
  tokenizer: ChatTokenizer,
  end: number,
  { messages, completion, weight }: Conversation,
): TokenExample {
  return {
    promptIds: tokenizer.encodePrompt(messages),
    completionIds: [...tokenizer.encodeText(completion), end],
    weight,
  };
}

/**
 * Whether the chat template shows an answer in a longer conversation as it stood when it was given. Where it does not
 * (some templates drop thinking, or trim), a model that serves several turns sees other text than it was trained on.
 */
export function keepsAnswers(tokenizer: ChatTokenizer, { messages, completion }: Conversation): boolean {
  const answered = [...messages, { role: 'assistant', content: completion } as const];
  return tokenizer.promptText(answered).startsWith(tokenizer.promptText(messages) + completion);
}
