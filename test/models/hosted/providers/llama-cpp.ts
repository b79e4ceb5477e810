import { formatType, plainUsage, provider, refused } from './provider.js';

/** llama.cpp's server with a schema that is too large for its grammars; it takes any JSON. */
export const llamaCpp = provider({
  name: 'llama.cpp',
  format: 'json_object',
  refusals: 1,
  maxChoices: 1,
  enforces: ['json_object', 'json_schema'],
  usage: plainUsage,
  refuse: (body) =>
    formatType(body) === 'json_schema'
      ? refused(400, {
          error: {
            code: 400,
            message: 'Failed to initialize samplers: failed to parse grammar',
            type: 'invalid_request_error',
          },
        })
      : undefined,
  failures: {
    'a prompt that is too long': {
      status: 400,
      body: {
        error: {
          code: 400,
          message:
            'request (4170 tokens) exceeds the available context size (4096 tokens), try increasing it',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 4170,
          n_ctx: 4096,
        },
      },
      kind: 'too-long',
      says: ['4170 tokens', 'memory.tokens', 'larger context'],
    },
    'a model that loads': {
      status: 503,
      body: { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
      kind: 'server',
      says: ['Loading model'],
    },
  },
});
