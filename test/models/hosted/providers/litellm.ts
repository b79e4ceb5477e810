import { provider, refused } from './provider.js';

/** A LiteLLM proxy in front of a provider that takes no seed and no `n`. */
export const litellm = provider({
  name: 'LiteLLM',
  format: 'json_schema',
  env: { LITELLM_KEY: 'key-of-litellm' },
  key: ['authorization', 'Bearer key-of-litellm'],
  model: { apiKeyEnv: 'LITELLM_KEY' },
  refusals: 1,
  caches: true,
  refuse: (body) =>
    body.seed === undefined
      ? undefined
      : refused(400, {
          error: {
            message:
              "litellm.UnsupportedParamsError: a-provider does not support parameters: ['seed', 'n'], for model=a-model. Received Model Group=a-model",
            type: 'None',
            param: 'None',
            code: '400',
          },
        }),
  failures: {
    'a budget that is used up': {
      status: 400,
      body: {
        error: {
          message: 'Budget has been exceeded! Current cost: 1, Max budget: 1',
          type: 'budget_exceeded',
          param: 'None',
          code: '400',
        },
      },
      kind: 'bad-request',
      says: ['Budget has been exceeded!'],
    },
  },
});
