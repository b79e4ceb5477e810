/** Fake servers that behave as providers document. */
import { countTokens } from '../../../support/fake-server.js';
import {
  type FakeProvider,
  formatType,
  invalidRequest,
  type Json,
  openaiUsage,
  plainUsage,
  promptTokens,
  proposal,
  provider,
  refused,
  withKey,
} from './provider.js';

/** A reasoning model of OpenAI. */
export const openai = provider({
  name: 'OpenAI, a reasoning model',
  format: 'json_schema',
  env: { OPENAI_API_KEY: 'sk-of-openai' },
  key: ['authorization', 'Bearer sk-of-openai'],
  model: { reasoningEffort: 'low', maxTokens: 5000 },
  refusals: 1,
  thoughts: 64,
  caches: true,
  refuse: (body) =>
    body.max_tokens === undefined
      ? undefined
      : invalidRequest("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", {
          param: 'max_tokens',
          code: 'unsupported_parameter',
        }),
});

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
      ? invalidRequest("Invalid schema for response_format 'answer': 'minItems' is not permitted.", {
          param: 'response_format',
          code: null,
        })
      : undefined,
});

/** Anthropic's compatible interface: one choice, no seed, no format, all ignored without a word. */
export const anthropic = provider({
  name: 'Anthropic, compatible interface',
  format: 'text',
  base: '/v1/',
  path: '/v1',
  ...withKey('ANTHROPIC_API_KEY', { maxTokens: 2000 }),
  maxChoices: 1,
  enforces: [],
  usage: plainUsage,
});

const invalidJson = (message: string) => [
  { error: { code: 400, message, status: 'INVALID_ARGUMENT', details: [{ fieldViolations: [{}] }] } },
];

/** Gemini's compatible interface: errors are lists, unknown fields are refused, thoughts are in the total alone. */
export const gemini = provider({
  name: 'Gemini, compatible interface',
  format: 'json_schema',
  base: '/v1beta/openai/',
  path: '/v1beta/openai',
  ...withKey('GEMINI_API_KEY'),
  refusals: 1,
  refuse: (body: Json) =>
    body.seed === undefined
      ? undefined
      : refused(400, invalidJson('Invalid JSON payload received. Unknown name "seed": Cannot find field.')),
});

/** OpenRouter passes on what upstream providers say, also with HTTP 200. */
export const openrouter = provider({
  name: 'OpenRouter',
  format: 'json_schema',
  base: '/api/v1',
  ...withKey('OPENROUTER_API_KEY'),
  maxChoices: 1,
  thoughts: 20,
  caches: true,
  message: (content) => ({
    content,
    reasoning: 'Let me think.',
    reasoning_content: '',
    reasoning_details: [],
  }),
  usage: (counts) => ({ ...openaiUsage(counts), cost: 0.001 }),
});

/** Groq: one choice a request, schemas with some models only. */
export const groq = provider({
  name: 'Groq',
  format: 'json_object',
  base: '/openai/v1',
  ...withKey('GROQ_API_KEY'),
  refusals: 2,
  thoughts: 9,
  caches: true,
  enforces: ['json_object'],
  message: (content) => ({ content, reasoning: 'Let me think.' }),
  refuse(body) {
    if (formatType(body) === 'json_schema') {
      const message = 'This model does not support response format `json_schema`.';
      return invalidRequest(message, { param: 'response_format' });
    }
    return body.n === undefined ? undefined : invalidRequest("'n' : number must be at most 1");
  },
});

export const together = provider({
  name: 'Together',
  format: 'json_schema',
  ...withKey('TOGETHER_API_KEY'),
  usage: plainUsage,
  message: (content) => ({ content: `<think>\nA step [0.1, 0.2] may help.\n</think>\n\n${content}` }),
});

/** DeepSeek: no schema, any JSON if the prompt says so, blank lines before the body, its own names of cached tokens. */
export const deepseek = provider({
  name: 'DeepSeek',
  format: 'json_object',
  base: '',
  ...withKey('DEEPSEEK_API_KEY', { maxTokens: 4000 }),
  refusals: 1,
  maxChoices: 1,
  thoughts: 30,
  caches: true,
  enforces: ['json_object'],
  before: '\n\n\n\n\n',
  message: (content) => ({ content, reasoning_content: 'Let me think.' }),
  usage: (counts) => ({
    ...plainUsage(counts),
    prompt_cache_hit_tokens: counts.cached,
    prompt_cache_miss_tokens: counts.prompt - counts.cached,
    completion_tokens_details: { reasoning_tokens: counts.thoughts },
  }),
  refuse(body) {
    const invalid = (message: string) =>
      invalidRequest(message, { param: null, code: 'invalid_request_error' });
    if (formatType(body) === 'json_schema') return invalid('This response_format type is unavailable now');
    if (formatType(body) === 'json_object' && !/json/i.test(JSON.stringify(body.messages))) {
      return invalid("Prompt must contain the word 'json' in some form");
    }
    return undefined;
  },
});

const known = 'model messages max_tokens temperature top_p n stop response_format random_seed'.split(' ');

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
  ...withKey('MISTRAL_API_KEY', { maxTokens: 2000 }),
  refusals: 1,
  caches: true,
  message: (text) => ({
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Let me think.' }] },
      { type: 'text', text },
    ],
  }),
  usage: (counts) => ({ ...plainUsage(counts), num_cached_tokens: counts.cached }),
  refuse(body: Json) {
    const strange = Object.keys(body).find((field) => !known.includes(field));
    return strange === undefined ? undefined : refused(422, extra(strange, body[strange]));
  },
});

/** xAI: errors are texts, and thoughts are counted outside the completion. */
export const xai = provider({
  name: 'xAI',
  format: 'json_schema',
  ...withKey('XAI_API_KEY'),
  thoughts: 40,
  caches: true,
  message: (content) => ({ content, reasoning_content: 'Let me think.' }),
  usage: (counts) => ({ ...openaiUsage(counts), completion_tokens: counts.answer }),
});

/** A LiteLLM proxy in front of a provider that takes no seed and no `n`. */
export const litellm = provider({
  name: 'LiteLLM',
  format: 'json_schema',
  ...withKey('LITELLM_KEY'),
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
});

export const vllm = provider({
  name: 'vLLM',
  format: 'json_schema',
  thoughts: 12,
  message: (content) => ({ content, reasoning: 'Let me think.' }),
});

/** SGLang: errors have no wrapping object, and thoughts are counted beside the other counts. */
export const sglang = provider({
  name: 'SGLang',
  format: 'json_schema',
  thoughts: 12,
  caches: true,
  message: (content) => ({ content, reasoning_content: 'Let me think.' }),
  usage: (counts) => ({
    ...plainUsage(counts),
    prompt_tokens_details: { cached_tokens: counts.cached },
    reasoning_tokens: counts.thoughts,
  }),
});

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
      ? invalidRequest('Failed to initialize samplers: failed to parse grammar', { code: 400 })
      : undefined,
});

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
});

/** Ollama's own interface. */
export const ollama: FakeProvider = {
  name: 'Ollama',
  format: 'json_schema',
  refusals: 0,
  model: (host) => ({ provider: 'ollama', name: 'a-model', host, maxTokens: 2000 }),
  answer({ body, path }) {
    if (path === '/api/show') {
      const model_info = { 'llama.context_length': 32_768 };
      return refused(200, {
        model_info,
        capabilities: ['completion'],
        template: '{{ .System }}{{ .Prompt }}',
      });
    }
    if (path !== '/api/chat') return refused(404, { error: '404 page not found' });
    const text = proposal(Number((body.options as { seed: number }).seed), body.format !== undefined);
    const [prompt, completion] = [promptTokens(body), countTokens(text)];
    return {
      status: 200,
      counted: { completions: 1, promptTokens: prompt, completionTokens: completion },
      body: {
        message: { role: 'assistant', content: text },
        done: true,
        done_reason: 'stop',
        prompt_eval_count: prompt,
        eval_count: completion,
      },
    };
  },
};

const unsupported = 'response_format n logprobs max_completion_tokens reasoning_effort tool_choice'.split(
  ' ',
);

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
});
