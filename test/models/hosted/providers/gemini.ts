import { type Json, provider, refused } from './provider.js';

const invalid = (message: string) => [
  { error: { code: 400, message, status: 'INVALID_ARGUMENT', details: [{ fieldViolations: [{}] }] } },
];

/** Gemini's compatible interface: errors are lists, unknown fields are refused, thoughts are in the total alone. */
export const gemini = provider({
  name: 'Gemini, compatible interface',
  format: 'json_schema',
  base: '/v1beta/openai/',
  path: '/v1beta/openai',
  env: { GEMINI_API_KEY: 'key-of-gemini' },
  key: ['authorization', 'Bearer key-of-gemini'],
  model: { apiKeyEnv: 'GEMINI_API_KEY' },
  refusals: 1,
  refuse: (body: Json) =>
    body.seed === undefined
      ? undefined
      : refused(400, invalid('Invalid JSON payload received. Unknown name "seed": Cannot find field.')),
  failures: {
    'a field that the user added': {
      model: { extra: { frequency_penalty: 0.5 } },
      status: 400,
      body: invalid('Invalid JSON payload received. Unknown name "frequency_penalty": Cannot find field.'),
      kind: 'bad-request',
      says: ['Unknown name "frequency_penalty"', 'model.extra.frequency_penalty'],
    },
    overload: {
      status: 503,
      body: [{ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }],
      kind: 'server',
      says: ['HTTP 503: The model is overloaded.'],
    },
    'thoughts that use up the limit': {
      model: { maxTokens: 16 },
      status: 200,
      body: {
        choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'length' }],
        usage: { prompt_tokens: 60, completion_tokens: 0, total_tokens: 76 },
      },
      kind: 'no-text',
      says: ['used up all 16 tokens', 'raise model.maxTokens'],
    },
  },
});
