import { plainUsage, provider } from './provider.js';

export const together = provider({
  name: 'Together',
  format: 'json_schema',
  env: { TOGETHER_API_KEY: 'key-of-together' },
  key: ['authorization', 'Bearer key-of-together'],
  model: { apiKeyEnv: 'TOGETHER_API_KEY' },
  usage: plainUsage,
  message: (content) => ({ content: `<think>\nA step [0.1, 0.2] may help.\n</think>\n\n${content}` }),
  failures: {
    'a prompt that is too long': {
      status: 400,
      body: {
        id: 'x',
        error: {
          message: '`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4170 `inputs` tokens',
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      },
      kind: 'too-long',
      says: ['must be <= 4097', 'memory.tokens', 'model.maxTokens'],
    },
    overload: {
      status: 503,
      body: { error: { message: 'Model is overloaded', type: 'service_unavailable' } },
      kind: 'server',
      says: ['Model is overloaded'],
    },
  },
});
