import { type Json, provider, refused } from './provider.js';

const known = [
  'model',
  'messages',
  'max_tokens',
  'temperature',
  'top_p',
  'n',
  'stop',
  'response_format',
  'random_seed',
];

const extra = (field: string, value: unknown) => ({
  object: 'error',
  message: {
    detail: [
      { type: 'extra_forbidden', loc: ['body', field], msg: 'Extra inputs are not permitted', input: value },
    ],
  },
  type: 'invalid_request_error',
  param: null,
  code: null,
});

/** Mistral: every unknown field is refused, and the message is an object; thoughts are parts of the content. */
export const mistral = provider({
  name: 'Mistral',
  format: 'json_schema',
  env: { MISTRAL_API_KEY: 'key-of-mistral' },
  key: ['authorization', 'Bearer key-of-mistral'],
  model: { apiKeyEnv: 'MISTRAL_API_KEY', maxTokens: 2000 },
  refusals: 1,
  caches: true,
  message: (text) => ({
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Let me think.' }] },
      { type: 'text', text },
    ],
  }),
  usage: ({ answer, cached, prompt }) => ({
    prompt_tokens: prompt,
    completion_tokens: answer,
    total_tokens: prompt + answer,
    num_cached_tokens: cached,
  }),
  refuse(body: Json) {
    const strange = Object.keys(body).find((field) => !known.includes(field));
    return strange === undefined ? undefined : refused(422, extra(strange, body[strange]));
  },
  failures: {
    'a field that the user added': {
      model: { extra: { top_k: 20 } },
      status: 422,
      body: extra('top_k', 20),
      kind: 'bad-request',
      says: ['top_k: Extra inputs are not permitted', 'model.extra.top_k'],
    },
    'a rate limit': {
      status: 429,
      body: {
        object: 'error',
        message: 'Rate limit exceeded',
        type: 'rate_limited',
        param: null,
        code: '1300',
      },
      kind: 'rate-limit',
      says: ['Rate limit exceeded'],
    },
  },
});
