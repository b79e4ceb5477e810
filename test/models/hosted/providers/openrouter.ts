import { openaiUsage, provider } from './provider.js';

/** OpenRouter passes on what upstream providers say, also with HTTP 200. */
export const openrouter = provider({
  name: 'OpenRouter',
  format: 'json_schema',
  base: '/api/v1',
  env: { OPENROUTER_API_KEY: 'key-of-openrouter' },
  key: ['authorization', 'Bearer key-of-openrouter'],
  model: { apiKeyEnv: 'OPENROUTER_API_KEY' },
  maxChoices: 1,
  thoughts: 20,
  caches: true,
  message: (content) => ({
    content,
    reasoning: 'Let me think.',
    reasoning_content: '',
    reasoning_details: [],
  }),
  usage: (counts) => ({ ...openaiUsage(counts), cost: 0.001 }),
  failures: {
    'a failure upstream, with HTTP 200': {
      status: 200,
      body: {
        error: {
          code: 502,
          message: 'Provider returned error',
          metadata: { provider_name: 'Upstream', raw: '{"error":{"message":"upstream is down"}}' },
        },
      },
      kind: 'server',
      says: ['502', 'Provider returned error (Upstream: upstream is down)'],
    },
    'too little credit for the limit': {
      status: 402,
      body: {
        error: {
          code: 402,
          message: 'This request requires more credits, or fewer max_tokens. You can only afford 10114.',
          metadata: { provider_name: null },
        },
        user_id: 'u',
      },
      kind: 'authentication',
      says: ['can only afford 10114', 'lower model.maxTokens'],
    },
    'a model that warms up': {
      status: 200,
      body: { id: 'gen-1', choices: null },
      kind: 'empty',
      says: ['no choices'],
    },
  },
});
