import { provider } from './provider.js';

export const vllm = provider({
  name: 'vLLM',
  format: 'json_schema',
  thoughts: 12,
  message: (content) => ({ content, reasoning: 'Let me think.' }),
  failures: {
    'a prompt that is too long': {
      status: 400,
      body: {
        error: {
          message: "This model's maximum context length is 4096 tokens. However, you requested 5120 tokens.",
          type: 'BadRequestError',
          param: null,
          code: 400,
        },
      },
      kind: 'too-long',
      says: ['4096', 'memory.tokens', 'model.maxTokens', 'larger context'],
    },
    'another model': {
      status: 404,
      body: {
        error: {
          message: 'The model `a-model` does not exist.',
          type: 'NotFoundError',
          param: 'model',
          code: 404,
        },
      },
      kind: 'not-found',
      says: ['does not exist', 'model.name', 'model.baseUrl'],
    },
  },
});
