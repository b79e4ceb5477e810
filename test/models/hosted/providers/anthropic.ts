import { plainUsage, provider } from './provider.js';

/** Anthropic's compatible interface: one choice, no seed, no format, all ignored without a word. */
export const anthropic = provider({
  name: 'Anthropic, compatible interface',
  format: 'text',
  base: '/v1/',
  path: '/v1',
  env: { ANTHROPIC_API_KEY: 'key-of-anthropic' },
  key: ['authorization', 'Bearer key-of-anthropic'],
  model: { apiKeyEnv: 'ANTHROPIC_API_KEY', maxTokens: 2000 },
  maxChoices: 1,
  enforces: [],
  usage: plainUsage,
  failures: {
    overload: {
      status: 529,
      body: {
        type: 'error',
        error: { type: 'overloaded_error', message: 'Overloaded' },
        request_id: 'req_1',
      },
      kind: 'server',
      says: ['HTTP 529: Overloaded'],
    },
    'temperature and topP together': {
      model: { temperature: 0.5, topP: 0.9 },
      status: 400,
      body: {
        error: {
          message: '`temperature` and `top_p` cannot both be specified for this model.',
          type: 'invalid_request_error',
        },
      },
      kind: 'bad-request',
      says: ['cannot both be specified', 'model.temperature'],
    },
  },
});
