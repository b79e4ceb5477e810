/** The section `model` of a config, for hosted, replayed and user models; `local/settings.ts` has the local model's. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);
const httpUrl = z.url({ protocol: /^https?$/ });

const price = z
  .strictObject({
    input: z.number().min(0).describe('Price of a million prompt tokens'),
    cachedInput: z
      .number()
      .min(0)
      .optional()
      .describe('Price of a million cached prompt tokens (default: input)'),
    output: z.number().min(0).describe('Price of a million completion tokens'),
  })
  .describe('Prices, in any one currency, so that cost is counted');

const sampling = {
  temperature: z.number().min(0).max(2).optional().describe("Sampling temperature (default: the provider's)"),
  topP: z.number().gt(0).max(1).optional().describe("Nucleus sampling (default: the provider's)"),
  format: z
    .enum(['auto', 'text', 'json'])
    .default('auto')
    .describe(
      '`auto` asks for JSON, parameters first, and has the server enforce a schema if it can; `json` insists on a schema, reason first; `text` asks for a line of text',
    ),
  concurrency: count(1).default(4).describe('Calls in flight at once, when `candidates` is above 1'),
  timeoutSeconds: positive.default(600).describe('Deadline of one call, its retries included'),
  maxRetries: count(0).default(4).describe('Retries after rate limits, server and network errors'),
  requestsPerMinute: count(1)
    .optional()
    .describe(
      'Most requests a minute, retries included, over all runs and tasks of a command: they wait for their turn (default: any number)',
    ),
  maxRetryAfterSeconds: positive
    .default(300)
    .describe("The longest wait that a server's Retry-After may impose; one that asks for more ends the run"),
  price: price.optional(),
};

export const openaiSchema = z.strictObject({
  provider: z
    .literal('openai')
    .describe('The OpenAI API, or any server that is compatible with it (llama.cpp, vLLM, LM Studio, …)'),
  name: text.describe('Model name at the server, e.g. `gpt-5-mini`'),
  baseUrl: httpUrl
    .optional()
    .describe(
      'Any OpenAI-compatible server, usually with `/v1` at its end (default: OPENAI_BASE_URL, where a login may stand too; then api.openai.com)',
    ),
  apiKeyEnv: text
    .default('OPENAI_API_KEY')
    .describe('Environment variable that holds the key; a server on this machine needs none')
    // A user may put the key itself here, and no message must show it.
    .meta({ writeOnly: true }),
  maxTokens: count(1).optional().describe("Longest completion in tokens (default: the provider's)"),
  reasoningEffort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])
    .optional()
    .describe('For reasoning models'),
  extra: z
    .record(text, z.unknown())
    .optional()
    .describe(
      'Fields for the request beside those that have a key here, as the server names them, e.g. `{top_k: 20}`',
    ),
  ...sampling,
});

export const ollamaSchema = z.strictObject({
  provider: z.literal('ollama').describe('A model served by Ollama'),
  name: text.describe('Model name, e.g. `qwen3:8b`'),
  host: httpUrl
    .optional()
    .describe(
      'Address of the server (default: OLLAMA_HOST, where a login may stand too; then http://127.0.0.1:11434)',
    ),
  maxTokens: count(1).default(4096).describe('Longest completion in tokens (num_predict)'),
  contextTokens: count(512)
    .optional()
    .describe(
      'Context window (num_ctx) (default: what the longest prompt of the run needs, for all its calls)',
    ),
  think: z
    .union([z.boolean(), z.enum(['low', 'medium', 'high'])])
    .optional()
    .describe('Whether a reasoning model thinks first'),
  keepAlive: text
    .optional()
    .describe(
      "How long the server keeps the model loaded, e.g. `10m`; seconds without a unit, '-1' for ever",
    ),
  ...sampling,
  topK: count(0).optional().describe("The k likeliest tokens; 0: all (top_k; default: the model's)"),
  minP: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe("Tokens at least this fraction as likely as the likeliest (min_p; default: the model's)"),
  repetitionPenalty: positive
    .optional()
    .describe(
      'Above 1 it punishes tokens that occurred, which numbers suffer from (repeat_penalty; default: 1, off)',
    ),
});

export const replayedSchema = z.strictObject({
  provider: z
    .literal('replayed')
    .describe('What an earlier run was answered, once more: offline, byte for byte, nothing is sent or paid'),
  run: text
    .describe('Directory of the run; of repeats, that of all of them: each replays the one that has its seed')
    .meta({ format: 'path' }),
  onChange: z
    .enum(['fail', 'warn'])
    .default('fail')
    .describe(
      'Where a prompt is not the recorded one: `fail` ends the run and shows the first difference, `warn` goes on with the recorded replies',
    ),
});

export const moduleModelSchema = z.strictObject({
  provider: z
    .literal('module')
    .describe('A file of your own that makes the model; `{provider: ./my-model.js}` is short for it'),
  path: text.describe('Path of the JavaScript file').meta({ format: 'path' }),
  options: z.record(z.string(), z.unknown()).default({}).describe('What its `create` is given'),
});

export const customModelSchema = z.strictObject({
  provider: z.literal('custom').describe('A model that the calling program hands in, with `run()`'),
  id: text.describe('Its id'),
});

export type OpenAIConfig = z.output<typeof openaiSchema>;
export type OllamaConfig = z.output<typeof ollamaSchema>;
export type ModuleModelConfig = z.output<typeof moduleModelSchema>;
export type ReplayedConfig = z.output<typeof replayedSchema>;
export type PriceConfig = z.output<typeof price>;
