import { formatType, plainUsage, provider, refused } from './provider.js';

/** LM Studio, with the address as it prints it: without `/v1`. Wrong paths are errors with HTTP 200. */
const served = provider({
  name: 'LM Studio',
  format: 'json_schema',
  base: '',
  path: '/v1',
  refusals: 1,
  maxChoices: 1,
  usage: plainUsage,
  refuse: (body) =>
    formatType(body) === 'json_object'
      ? refused(400, { error: "'response_format.type' must be 'json_schema' or 'text'" })
      : undefined,
  failures: {
    'an empty reply to a long prompt': {
      status: 200,
      body: {
        choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 60, completion_tokens: 0, total_tokens: 60 },
      },
      kind: 'no-text',
      says: ['empty reply', 'model.maxTokens', 'memory.tokens'],
    },
    'a prompt that is too long': {
      status: 400,
      body: { error: 'Trying to keep the first 4170 tokens when context the overflows: n_keep >= n_ctx' },
      kind: 'too-long',
      says: ['n_keep', 'memory.tokens'],
    },
  },
});

export const lmStudio: typeof served = {
  ...served,
  answer: (request) =>
    request.path === '/chat/completions'
      ? refused(200, {
          error: 'Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway',
        })
      : served.answer(request),
};
