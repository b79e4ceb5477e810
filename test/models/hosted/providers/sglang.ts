import { provider } from './provider.js';

/** SGLang: errors have no wrapping object, and thoughts are counted beside the other counts. */
export const sglang = provider({
  name: 'SGLang',
  format: 'json_schema',
  thoughts: 12,
  caches: true,
  message: (content) => ({ content, reasoning_content: 'Let me think.' }),
  usage: ({ answer, cached, prompt, thoughts }) => ({
    prompt_tokens: prompt,
    completion_tokens: answer + thoughts,
    total_tokens: prompt + answer + thoughts,
    prompt_tokens_details: { cached_tokens: cached },
    reasoning_tokens: thoughts,
  }),
  failures: {
    'a prompt that is too long': {
      status: 400,
      body: {
        object: 'error',
        message: "The input (4170 tokens) is longer than the model's context length (4096 tokens).",
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
      kind: 'too-long',
      says: ['4170 tokens', 'memory.tokens'],
    },
  },
});
