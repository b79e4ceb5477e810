import {
  type ChatMessage,
  type Completion,
  type GenerateOptions,
  type LanguageModel,
  ModelError,
} from '../../src/models/language-model.js';
import { countTokens } from './fake-server.js';

export interface ScriptedCall {
  readonly messages: readonly ChatMessage[];
  readonly options: GenerateOptions;
}

/** A text, or parts of a completion (text '' where absent), or an error that the call throws. */
export type ScriptedReply = string | Partial<Completion> | Error;

export interface ScriptedModel extends LanguageModel {
  /** Every call, in order. */
  readonly calls: readonly ScriptedCall[];
}

/**
 * A model that says what the test says, and keeps what it was asked. A list is said in order, and asking for more
 * throws; a function is told the call and its number, from 0.
 */
export function createScriptedModel(
  script: readonly ScriptedReply[] | ((call: ScriptedCall, index: number) => ScriptedReply),
): ScriptedModel {
  const calls: ScriptedCall[] = [];
  return {
    id: 'scripted/model',
    calls,
    generate: async (messages, options) => {
      if (options.signal?.aborted) throw new ModelError('aborted', 'aborted', { retries: 0, latencyMs: 0 });
      const index = calls.push({ messages, options }) - 1;
      const reply = typeof script === 'function' ? script(calls[index]!, index) : script[index];
      if (reply === undefined) throw new Error(`the script has no reply for call ${index}`);
      if (reply instanceof Error) throw reply;
      const given = typeof reply === 'string' ? { text: reply } : reply;
      return [
        {
          text: '',
          finishReason: 'stop',
          usage: {
            promptTokens: messages.reduce((total, { content }) => total + countTokens(content), 0),
            completionTokens: countTokens(given.text ?? ''),
          },
          latencyMs: 0,
          retries: 0,
          ...given,
        },
      ];
    },
  };
}
