import { formatType, provider, refused } from './provider.js';

/** DeepSeek: no schema, any JSON if the prompt says so, blank lines before the body, its own names of cached tokens. */
export const deepseek = provider({
  name: 'DeepSeek',
  format: 'json_object',
  base: '',
  env: { DEEPSEEK_API_KEY: 'key-of-deepseek' },
  key: ['authorization', 'Bearer key-of-deepseek'],
  model: { apiKeyEnv: 'DEEPSEEK_API_KEY', maxTokens: 4000 },
  refusals: 1,
  maxChoices: 1,
  thoughts: 30,
  caches: true,
  enforces: ['json_object'],
  before: '\n\n\n\n\n',
  message: (content) => ({ content, reasoning_content: 'Let me think.' }),
  usage: ({ answer, cached, prompt, thoughts }) => ({
    prompt_tokens: prompt,
    completion_tokens: answer + thoughts,
    total_tokens: prompt + answer + thoughts,
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: prompt - cached,
    completion_tokens_details: { reasoning_tokens: thoughts },
  }),
  refuse(body) {
    const invalid = (message: string) =>
      refused(400, {
        error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
      });
    if (formatType(body) === 'json_schema') return invalid('This response_format type is unavailable now');
    if (formatType(body) === 'json_object' && !/json/i.test(JSON.stringify(body.messages))) {
      return invalid("Prompt must contain the word 'json' in some form");
    }
    return undefined;
  },
  failures: {
    'an empty account': {
      status: 402,
      body: {
        error: {
          message: 'Insufficient Balance',
          type: 'unknown_error',
          param: null,
          code: 'invalid_request_error',
        },
      },
      kind: 'authentication',
      says: ['Insufficient Balance', 'add credit', 'DEEPSEEK_API_KEY'],
    },
    'a limit that is too high': {
      model: { maxTokens: 99_999 },
      status: 400,
      body: {
        error: {
          message: 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_request_error',
        },
      },
      kind: 'bad-request',
      says: ['[1, 8192]', 'model.maxTokens'],
    },
  },
});
