import { plainUsage, provider, refused } from './provider.js';

/** Ollama's compatible interface: `n` is ignored, bounds of numbers are, lists of them are not. */
export const ollamaV1 = provider({
  name: 'Ollama, /v1',
  format: 'json_schema',
  maxChoices: 1,
  usage: plainUsage,
  message: (content) => ({ content, reasoning: '' }),
  refuse: (body) =>
    body.response_format !== undefined && !JSON.stringify(body.response_format).includes('"enum":[-6,-5.9,')
      ? refused(400, {
          error: { message: 'the test expects a list of the numbers', type: 'api_error', code: null },
        })
      : undefined,
  failures: {
    'a model that is not there': {
      status: 404,
      body: {
        error: { message: "model 'a-model' not found", type: 'not_found_error', param: null, code: null },
      },
      kind: 'not-found',
      says: ["model 'a-model' not found", 'model.name'],
    },
  },
});
