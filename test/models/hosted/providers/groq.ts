import { formatType, provider, refused } from './provider.js';

/** Groq: one choice a request, schemas with some models only. */
export const groq = provider({
  name: 'Groq',
  format: 'json_object',
  base: '/openai/v1',
  env: { GROQ_API_KEY: 'key-of-groq' },
  key: ['authorization', 'Bearer key-of-groq'],
  model: { apiKeyEnv: 'GROQ_API_KEY' },
  refusals: 2,
  thoughts: 9,
  caches: true,
  enforces: ['json_object'],
  message: (content) => ({ content, reasoning: 'Let me think.' }),
  refuse(body) {
    if (formatType(body) === 'json_schema') {
      const message = 'This model does not support response format `json_schema`.';
      return refused(400, { error: { message, type: 'invalid_request_error', param: 'response_format' } });
    }
    if (body.n === undefined) return undefined;
    return refused(400, {
      error: { message: "'n' : number must be at most 1", type: 'invalid_request_error' },
    });
  },
  failures: {
    'a request beyond the limit of a minute': {
      status: 413,
      body: {
        error: {
          message: 'Request too large for model `a-model`: Limit 6000, Requested 7213 tokens per minute',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
      kind: 'too-long',
      says: ['Requested 7213', 'memory.tokens'],
    },
    'an effort that the model does not know': {
      model: { reasoningEffort: 'minimal' },
      status: 400,
      body: {
        error: {
          message: '`reasoning_effort` must be one of `none` or `default`',
          type: 'invalid_request_error',
        },
      },
      kind: 'bad-request',
      says: ['must be one of', 'model.reasoningEffort'],
    },
  },
});
