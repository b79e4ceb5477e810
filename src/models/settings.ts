/** The `model` section of a config, for hosted, replayed and user models; `local/settings.ts` is for local ones. */
import { z } from 'zod';

/** Adds a description to a schema. @param meta e.g. `{ format: 'path' }` */
export const describe = <S extends z.ZodType>(text: string, schema: S, meta?: z.core.GlobalMeta): S => {
  const described = schema.describe(text);
  return meta === undefined ? described : described.meta(meta);
};

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);
const httpUrl = z.url({ protocol: /^https?$/ });

const amount = z.number().min(0);
const priceSchema = z
  .strictObject({
    input: amount.describe('Price per million prompt tokens'),
    cachedInput: amount.optional().describe('Price per million cached prompt tokens (default: input)'),
    output: amount.describe('Price per million completion tokens'),
    listed: z
      .string()
      .regex(/^\d{4}-\d{2}$/, 'use a month such as 2026-11')
      .optional()
      .describe('Month of the list price (without discounts), if policyloop filled in the price'),
  })
  .describe(
    'Prices for calculating the cost, all in one currency (default: the list price in US dollars, for common hosted models)',
  );

const hostedFields = {
  temperature: z.number().min(0).max(2).optional().describe("Sampling temperature (default: the provider's)"),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe("Total probability of the tokens considered in nucleus sampling (default: the provider's)"),
  format: describe(
    '`auto` requests JSON, parameters first, with a schema if the server can enforce one; `json` requests the reason first, and fails if the server rejects the schema; `text` requests plain text. Programs are always requested as text',
    z.enum(['auto', 'text', 'json']).default('auto'),
  ),
  concurrency: count(1).default(4).describe('Maximum number of concurrent calls per run'),
  timeoutSeconds: positive.default(600).describe('Maximum duration of a call, including retries, in seconds'),
  maxRetries: count(0)
    .default(4)
    .describe('Maximum number of retries after a rate limit, server error or network error'),
  requestsPerMinute: describe(
    'Maximum requests per minute, including retries, of all runs of a process (default: unlimited)',
    count(1).optional(),
  ),
  maxRetryAfterSeconds: describe(
    "Longest wait, in seconds, that a server's Retry-After may impose; a longer one ends the run",
    positive.default(300),
  ),
  price: priceSchema.optional(),
};

export const openaiSchema = z.strictObject({
  provider: z.literal('openai').describe('OpenAI, or any compatible server (llama.cpp, vLLM, LM Studio, …)'),
  name: text.describe('Model name on the server, e.g. `gpt-5-mini`'),
  baseUrl: describe(
    'URL of a compatible server, usually ending in `/v1` (default: OPENAI_BASE_URL, which may include a login, then api.openai.com)',
    httpUrl.optional(),
  ),
  apiKeyEnv: describe(
    'Name of the environment variable that contains the key; a server on this machine needs no key',
    text.default('OPENAI_API_KEY'),
    // Users may put the key itself here, so messages must not show it.
    { writeOnly: true, aliases: ['apiKey', 'key', 'token'] },
  ),
  maxTokens: count(1).optional().describe("Maximum tokens per completion (default: the provider's)"),
  reasoningEffort: describe(
    'Reasoning effort, for reasoning models',
    z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
  ),
  extra: describe(
    'Additional fields of the request, named as the server expects, e.g. `{top_k: 20}`',
    z.record(text, z.unknown()).optional(),
  ),
  ...hostedFields,
});

export const ollamaSchema = z.strictObject({
  provider: z.literal('ollama').describe('A model served by Ollama'),
  name: text.describe('Model name, e.g. `qwen3:8b`'),
  host: describe(
    'URL of the server (default: OLLAMA_HOST, which may include a login, then http://127.0.0.1:11434)',
    httpUrl.optional(),
  ),
  maxTokens: count(1).default(4096).describe('Maximum tokens per completion (num_predict)'),
  contextTokens: count(512)
    .optional()
    .describe('Context window in tokens (num_ctx; default: enough for the longest prompt and its reply)'),
  think: describe(
    'Reasoning before the answer: true, false, or an effort (low, medium, high)',
    z.union([z.boolean(), z.enum(['low', 'medium', 'high'])]).optional(),
  ),
  keepAlive: text
    .optional()
    .describe(
      "Time for which the model stays loaded, e.g. '10m' or '600' (seconds); '-1': forever (default: the server's)",
    ),
  ...hostedFields,
  topK: count(0)
    .optional()
    .describe("Number of most likely tokens to choose from; 0: all (top_k; default: the model's)"),
  minP: describe(
    "Minimum probability of a token, as a fraction of the most likely token's (min_p; default: the model's)",
    z.number().min(0).max(1).optional(),
  ),
  repetitionPenalty: describe(
    'Penalty factor for tokens that have already occurred; values above 1 distort numbers (repeat_penalty; default: 1, off)',
    positive.optional(),
  ),
});

export const replayedSchema = z.strictObject({
  provider: z
    .literal('replayed')
    .describe('The replies of an earlier run, replayed offline, byte for byte, at no cost'),
  run: describe('Directory of a run with the `seed` of this config, or of runs that include one', text, {
    format: 'path',
  }),
  onChange: describe(
    'Handling of a prompt that differs from the recorded one: `fail` ends the run and shows the first difference, `warn` only warns, and uses the recorded replies',
    z.enum(['fail', 'warn']).default('fail'),
  ),
});

export const moduleModelSchema = z.strictObject({
  provider: z
    .literal('module')
    .describe('A model that your own module creates (short form: `{provider: ./my-model.js}`)'),
  path: text.describe('Path of the JavaScript or TypeScript file').meta({ format: 'path' }),
  options: z.record(z.string(), z.unknown()).default({}).describe('Options for the `create` function'),
});

export const customModelSchema = z.strictObject({
  provider: z
    .literal('custom')
    .meta({ description: 'A model that the calling program passes to `run()`', writeOnly: true }),
  id: text.describe('Id of the model, as shown in runs'),
});

export type OpenAIConfig = z.output<typeof openaiSchema>;
export type OllamaConfig = z.output<typeof ollamaSchema>;
export type ModuleModelConfig = z.output<typeof moduleModelSchema>;
export type ReplayedConfig = z.output<typeof replayedSchema>;
export type PriceConfig = z.output<typeof priceSchema>;
