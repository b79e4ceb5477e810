import { provider, refused } from './provider.js';

/** A deployment of Azure OpenAI: the API version is in the query, the key in a header of its own. */
export const azure = provider({
  name: 'Azure OpenAI',
  format: 'json_schema',
  base: '/openai/deployments/mine?api-version=2024-10-21',
  env: { AZURE_OPENAI_API_KEY: 'key-of-azure' },
  key: ['api-key', 'key-of-azure'],
  model: { apiKeyEnv: 'AZURE_OPENAI_API_KEY' },
  refusals: 1,
  caches: true,
  // Older versions of the API take schemas, but no bounds.
  refuse: (body) =>
    JSON.stringify(body.response_format ?? '').includes('maxItems')
      ? refused(400, {
          error: {
            message: "Invalid schema for response_format 'answer': 'minItems' is not permitted.",
            type: 'invalid_request_error',
            param: 'response_format',
            code: null,
          },
        })
      : undefined,
  failures: {
    'a wait of a day': {
      status: 429,
      headers: { 'retry-after': '86400' },
      body: {
        error: { code: '429', message: 'Requests have exceeded the limit. Please retry after 86400 seconds' },
      },
      kind: 'quota',
      says: [
        'retry after 86400 seconds',
        'for 24 h',
        'model.maxRetryAfterSeconds',
        'Continue after 20',
        'policyloop resume',
      ],
    },
    'a filtered prompt': {
      status: 400,
      body: {
        error: {
          message: 'The response was filtered',
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation' },
        },
      },
      kind: 'content-filter',
      says: ['The response was filtered'],
    },
  },
});
