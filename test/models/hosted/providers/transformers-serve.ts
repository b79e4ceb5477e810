import { type Json, plainUsage, provider, refused } from './provider.js';

const unsupported = [
  'response_format',
  'n',
  'logprobs',
  'max_completion_tokens',
  'reasoning_effort',
  'tool_choice',
];

/** `transformers serve`: fields that it doesn't know are refused by FastAPI. */
export const transformersServe = provider({
  name: 'transformers serve',
  format: 'text',
  model: { maxTokens: 1024 },
  // A schema, any JSON, `n`: the first two with `n`, which is named with them.
  refusals: 2,
  enforces: [],
  usage: plainUsage,
  refuse(body: Json) {
    const strange = unsupported.filter((field) => body[field] !== undefined).map((field) => `'${field}'`);
    return strange.length === 0
      ? undefined
      : refused(422, { detail: `Unsupported fields in the request: {${strange.join(', ')}}` });
  },
  failures: {
    'an effort': {
      model: { reasoningEffort: 'low' },
      status: 422,
      body: { detail: "Unsupported fields in the request: {'reasoning_effort'}" },
      kind: 'bad-request',
      says: ['Unsupported fields', 'model.reasoningEffort'],
    },
    'a field of another type': {
      status: 422,
      body: {
        detail: [{ type: 'int_type', loc: ['body', 'max_tokens'], msg: 'Input should be a valid integer' }],
      },
      kind: 'bad-request',
      says: ['max_tokens: Input should be a valid integer', 'model.maxTokens'],
    },
  },
});
