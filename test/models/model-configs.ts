import { expect } from 'vitest';
import type { Wait } from '../../src/models/hosted/retry.js';
import type { ChatMessage, GenerateOptions, ModelError } from '../../src/models/language-model.js';
import type { OllamaConfig, OpenAIConfig } from '../../src/models/settings.js';
import { answerGrammar } from '../../src/prompting/notation/grammar.js';

const sampling = {
  format: 'text',
  concurrency: 4,
  timeoutSeconds: 600,
  maxRetries: 4,
  maxRetryAfterSeconds: 60,
} as const;

export function openaiConfig(given: Partial<OpenAIConfig> = {}): OpenAIConfig {
  return { provider: 'openai', name: 'test-model', apiKeyEnv: 'OPENAI_API_KEY', ...sampling, ...given };
}

export function ollamaConfig(given: Partial<OllamaConfig> = {}): OllamaConfig {
  return { provider: 'ollama', name: 'test-model', maxTokens: 4096, ...sampling, ...given };
}

export const grammar = answerGrammar({ count: 2, kind: 'float', low: -6, high: 6, decimals: 1 });

export const messages: readonly ChatMessage[] = [
  { role: 'system', content: 'You improve parameters.' },
  { role: 'user', content: 'Propose two numbers.' },
];

export const options: GenerateOptions = { grammar, seeds: [11] };

/** The error that a call ends with. */
export const failureOf = (call: Promise<unknown>): Promise<ModelError> =>
  call.then(
    () => expect.unreachable(),
    (error: ModelError) => error,
  );

/** Keeps the waits that were asked for, in milliseconds, and waits for none of them. */
export function recordWaits(): { readonly wait: Wait; readonly waits: readonly number[] } {
  const waits: number[] = [];
  return { waits, wait: async (milliseconds) => void waits.push(milliseconds) };
}
