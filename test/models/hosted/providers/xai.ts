import { provider } from './provider.js';

const invalid = 'Client specified an invalid argument';

/** xAI: errors are texts, and thoughts are counted outside the completion. */
export const xai = provider({
  name: 'xAI',
  format: 'json_schema',
  env: { XAI_API_KEY: 'key-of-xai' },
  key: ['authorization', 'Bearer key-of-xai'],
  model: { apiKeyEnv: 'XAI_API_KEY' },
  thoughts: 40,
  caches: true,
  message: (content) => ({ content, reasoning_content: 'Let me think.' }),
  usage: ({ answer, cached, prompt, thoughts }) => ({
    prompt_tokens: prompt,
    completion_tokens: answer,
    total_tokens: prompt + answer + thoughts,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thoughts },
  }),
  failures: {
    'an effort that the model does not take': {
      model: { reasoningEffort: 'low' },
      status: 400,
      body: { code: invalid, error: 'Argument not supported on this model: reasoningEffort' },
      kind: 'bad-request',
      says: ['not supported on this model', 'model.reasoningEffort'],
    },
    'an error with HTTP 200': {
      status: 200,
      body: { code: 'The service is currently unavailable', error: 'Service temporarily unavailable' },
      kind: 'empty',
      says: ['Service temporarily unavailable'],
    },
  },
});
