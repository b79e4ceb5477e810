import { provider, refused } from './provider.js';

/** A reasoning model of OpenAI. */
export const openai = provider({
  name: 'OpenAI, a reasoning model',
  format: 'json_schema',
  env: { OPENAI_API_KEY: 'sk-of-openai' },
  key: ['authorization', 'Bearer sk-of-openai'],
  model: { reasoningEffort: 'low', maxTokens: 5000 },
  refusals: 1,
  thoughts: 64,
  caches: true,
  refuse: (body) =>
    body.max_tokens === undefined
      ? undefined
      : refused(400, {
          error: {
            message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            type: 'invalid_request_error',
            param: 'max_tokens',
            code: 'unsupported_parameter',
          },
        }),
  failures: {
    'a temperature that the user chose': {
      model: { temperature: 0.2 },
      status: 400,
      body: {
        error: {
          message:
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) is.",
          type: 'invalid_request_error',
          param: 'temperature',
          code: 'unsupported_value',
        },
      },
      kind: 'bad-request',
      says: ["'temperature' does not support 0.2", 'model.temperature', 'remove that key'],
    },
    'an empty account': {
      status: 429,
      body: {
        error: {
          message: 'You exceeded your current quota',
          type: 'insufficient_quota',
          param: null,
          code: 'insufficient_quota',
        },
      },
      kind: 'authentication',
      says: ['exceeded your current quota', 'add credit', 'OPENAI_API_KEY', 'policyloop resume'],
    },
    'thoughts that use up the limit': {
      model: { maxTokens: 300 },
      status: 200,
      body: {
        choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'length' }],
        usage: { prompt_tokens: 60, completion_tokens: 300, total_tokens: 360 },
      },
      kind: 'no-text',
      says: ['used up all 300 tokens', 'raise model.maxTokens'],
    },
    'a prompt that is too long': {
      status: 400,
      body: {
        error: {
          message: "This model's maximum context length is 8192 tokens. However, your messages have 9000.",
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
      kind: 'too-long',
      says: ['8192', 'memory.tokens', 'model.maxTokens'],
    },
  },
});
