/**
 * The only definition of a config: its types, its defaults, `configs/schema.json` and the reference in the README
 * all come from these schemas. `load-config.ts` reads files and reports errors by line and column.
 */
import { z } from 'zod';
import { localSchema } from '../models/local/settings.js';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);
const httpUrl = z.url({ protocol: /^https?$/ });

const environmentSchema = z.strictObject({
  id: text.describe('Environment id, e.g. `CartPole-v1`'),
  options: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("Gymnasium's constructor options, e.g. `{is_slippery: false}`"),
  python: text
    .optional()
    .describe('Interpreter of `gymnasium:` environments (default: POLICYLOOP_PYTHON, then python3)'),
  timeoutSeconds: positive
    .optional()
    .describe('Longest wait for a reset or a step of an environment outside this program (default: 60)'),
  parallel: count(1)
    .optional()
    .describe(
      'Episodes at once outside this program (default: 32 in a process of `gymnasium:`, 1 with `openenv:`)',
    ),
});

const binsSchema = z.union([
  z.strictObject({
    low: z.number().describe('Lower end of the binned range'),
    high: z.number().describe('Upper end of the binned range'),
    bins: count(1).describe('Number of equal bins; what lies beyond falls into the outermost ones'),
  }),
  z.strictObject({ edges: z.array(z.number()).describe('Inner edges, ascending: one bin more than edges') }),
]);

const projectionSchema = z.strictObject({
  rank: count(1).max(1000).describe('Number of parameters'),
  seed: count(0).default(0).describe('Draws the subspace: the same in every run that says the same'),
});

const linearSchema = z.strictObject({
  kind: z
    .literal('linear')
    .describe(
      'Outputs = observation · W + b: argmax for discrete actions, the outputs themselves for continuous ones',
    ),
  bias: z.boolean().default(true).describe('Whether each output has a bias (after the weights)'),
  projection: projectionSchema
    .optional()
    .describe(
      'Propose the coordinates of the weights in a random subspace of this rank, where weights are too many',
    ),
  low: z.number().default(-6).describe('Smallest parameter value'),
  high: z.number().default(6).describe('Largest parameter value'),
  decimals: count(0).max(6).default(1).describe('Digits after the decimal point'),
});

const qTableSchema = z.strictObject({
  kind: z.literal('q-table').describe('A table over discrete (or discretised) states'),
  form: z
    .enum(['actions', 'values'])
    .default('actions')
    .describe('`actions`: one action a state. `values`: a value for every state and action, greedy choice'),
  discretize: z
    .array(binsSchema)
    .min(1)
    .optional()
    .describe('Bins, one item for each observation dimension; needed where the observation is continuous'),
  actions: z
    .array(z.array(z.number()).min(1))
    .min(1)
    .optional()
    .describe(
      'The action vectors to choose among, where the action space is continuous, e.g. `[[-1], [0], [1]]`',
    ),
  low: z.number().default(-10).describe('Smallest value (form `values`)'),
  high: z.number().default(10).describe('Largest value (form `values`)'),
  decimals: count(0).max(6).default(1).describe('Digits after the decimal point (form `values`)'),
});

const policySchema = z.discriminatedUnion('kind', [linearSchema, qTableSchema]);

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
    .enum(['text', 'json'])
    .default('text')
    .describe('`json` asks for an answer that follows a JSON schema, where the provider has that'),
  concurrency: count(1).default(4).describe('Calls in flight at once, when `candidates` is above 1'),
  timeoutSeconds: positive.default(600).describe('Deadline of one call, its retries included'),
  maxRetries: count(0).default(4).describe('Retries after rate limits, server and network errors'),
  maxRetryAfterSeconds: positive
    .default(60)
    .describe("The longest wait that a server's Retry-After may impose"),
  price: price.optional(),
};

const openaiSchema = z.strictObject({
  provider: z
    .literal('openai')
    .describe('The OpenAI API, or any server that is compatible with it (llama.cpp, vLLM, LM Studio, …)'),
  name: text.describe('Model name at the server, e.g. `gpt-5-mini`'),
  baseUrl: httpUrl
    .optional()
    .describe(
      'Any OpenAI-compatible server (default: OPENAI_BASE_URL, where a login may stand too; then api.openai.com)',
    ),
  apiKeyEnv: text
    .default('OPENAI_API_KEY')
    .describe('Environment variable that holds the key; a server on this machine needs none'),
  maxTokens: count(1).optional().describe("Longest completion in tokens (default: the provider's)"),
  reasoningEffort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])
    .optional()
    .describe('For reasoning models'),
  ...sampling,
});

const ollamaSchema = z.strictObject({
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
    .describe('Context window (num_ctx); sized from the prompt when absent'),
  think: z
    .union([z.boolean(), z.enum(['low', 'medium', 'high'])])
    .optional()
    .describe('Whether a reasoning model thinks first'),
  keepAlive: text.optional().describe('How long the server keeps the model loaded, e.g. `10m`'),
  ...sampling,
});

const randomSchema = z.strictObject({
  provider: z.literal('random').describe('Control: uniform random search'),
});
const hillClimbSchema = z.strictObject({
  provider: z.literal('hill-climb').describe('Control: Gaussian steps from the best so far'),
  sigma: positive.default(1).describe('Standard deviation of a step, in parameter units'),
});
const cmaEsSchema = z.strictObject({
  provider: z.literal('cma-es').describe('Control: covariance matrix adaptation evolution strategy'),
  sigma: positive.default(2).describe('Initial standard deviation, in parameter units'),
  population: count(2).optional().describe('Candidates a generation (default: 4 + ⌊3 ln n⌋)'),
});

const onePlusOneEsSchema = z.strictObject({
  provider: z
    .literal('one-plus-one-es')
    .describe('Control: (1+1) evolution strategy with the one-fifth success rule'),
  sigma: positive
    .default(2)
    .describe('Initial standard deviation, in parameter units; of a table, entries that change on average'),
});
const mixtureSchema = z.strictObject({
  provider: z
    .literal('mixture')
    .describe('Control: a mixture of the moves of evolutionary searches, to learn from the best of many'),
});

const replayedSchema = z.strictObject({
  provider: z
    .literal('replayed')
    .describe('What an earlier run was answered, once more: offline, byte for byte, nothing is sent or paid'),
  run: text.describe(
    'Directory of the run; of repeats, that of all of them: each replays the one that has its seed',
  ),
  onChange: z
    .enum(['fail', 'warn'])
    .default('fail')
    .describe(
      'Where a prompt is not the recorded one: `fail` ends the run and shows the first difference, `warn` goes on with the recorded replies',
    ),
});

const modelSchema = z.discriminatedUnion('provider', [
  openaiSchema,
  ollamaSchema,
  localSchema,
  randomSchema,
  hillClimbSchema,
  cmaEsSchema,
  onePlusOneEsSchema,
  mixtureSchema,
  replayedSchema,
]);

const promptsSchema = z.strictObject({
  set: text
    .default('semantic')
    .describe(
      '`numeric` (only f(params)), `semantic` (with the task described), `compact` (few tokens, for small models), or the path of a folder of your own',
    ),
  description: text
    .optional()
    .describe("Path of a template that describes the environment, instead of the set's"),
  optimum: z.number().optional().describe('The best return there can be, told to the model when given'),
  stepSize: positive.optional().describe('Exploration step told to the model when given'),
  conversation: z
    .union([z.literal('fresh'), z.strictObject({ turns: count(1).describe('Iterations of a conversation') })])
    .default('fresh')
    .describe(
      '`fresh`: every iteration starts anew. `{turns: N}`: a conversation goes on for N iterations, then starts anew from the memory',
    ),
});

const memorySchema = z.strictObject({
  best: count(0).optional().describe('Show the K best evaluations'),
  recent: count(0).optional().describe('Show the J most recent evaluations'),
  order: z
    .enum(['chronological', 'best-last', 'best-first'])
    .default('chronological')
    .describe('Chronological keeps the start of the prompt unchanged, so that prompt caches work'),
  tokens: count(1)
    .default(16_000)
    .describe('Budget of the history part, in estimated tokens; the oldest go first'),
  trajectories: z
    .enum(['none', 'rows', 'summary'])
    .default('none')
    .describe('What each shown evaluation tells of its first episode'),
  rows: count(1).default(10).describe('Sampled steps a trajectory (trajectories: rows)'),
  ofGroup: count(1)
    .optional()
    .describe(
      'Hold one evaluation an iteration, the best of its first K candidates (default: all); controls and fine-tuning see the same',
    ),
});

const warmupSchema = z.strictObject({
  policies: count(0)
    .optional()
    .describe('Random policies evaluated before the first proposal (default: 20, or none with `from`)'),
  from: text.optional().describe('Run directory whose replay buffer is taken over first'),
});

const racingSchema = z.strictObject({
  confidence: z
    .number()
    .min(0.5)
    .max(1)
    .default(0.95)
    .describe(
      'Of evaluations that would reach the best, at most 1 − confidence are cut short; 1: only where that is impossible',
    ),
  block: count(1).default(5).describe('Episodes between two looks, so also the fewest that are played'),
  highest: z
    .number()
    .optional()
    .describe('What no episode returns more than (default: what is known of the environment)'),
});

const evaluationSchema = z.strictObject({
  episodes: count(1).default(20).describe('Episodes an evaluation; their mean return is the score'),
  seeds: z
    .enum(['common', 'fresh'])
    .default('common')
    .describe('`common`: all candidates meet the same episodes. `fresh`: new ones each iteration'),
  maxSteps: count(1)
    .default(1000)
    .describe("Steps after which an episode is cut, beside the environment's own limit"),
  workers: z
    .union([z.literal('auto'), count(1)])
    .default('auto')
    .describe('Threads (of `gymnasium:`, processes) that play episodes; `auto`: one a core, where that pays'),
  racing: racingSchema
    .optional()
    .describe(
      'Cut an evaluation short when it can hardly reach the best so far (default: play all episodes)',
    ),
});

const confirmationSchema = z.strictObject({
  candidates: count(0)
    .default(3)
    .describe('How many of the best are evaluated again at the end; 0 turns it off'),
  episodes: count(2).default(100).describe('Episodes for each, on seeds no evaluation has used'),
});

const targetSchema = z.strictObject({
  return: z.number().describe('Mean return to reach'),
  hold: count(1).default(1).describe('Consecutive iterations whose best candidate must reach it'),
});

const amounts = {
  tokens: count(1).optional().describe('Prompt and completion tokens'),
  promptTokens: count(1).optional().describe('Prompt tokens, cached ones included'),
  cachedTokens: count(1).optional().describe('Prompt tokens from the cache'),
  completionTokens: count(1).optional().describe('Completion tokens, reasoning included'),
  reasoningTokens: count(1).optional().describe('Hidden reasoning'),
  cost: positive.optional().describe('Cost, in the currency of `model.price`'),
};
const calls = count(1).optional().describe('Model calls');

const limitsSchema = z.strictObject({
  calls,
  ...amounts,
  minutes: positive.optional().describe('Wall time; a call that goes on then is ended'),
  perCall: z
    .strictObject({
      ...amounts,
      seconds: positive
        .optional()
        .describe('Wall time, retries included; the lower of it and `model.timeoutSeconds`'),
    })
    .optional()
    .describe('The same for each call'),
  total: z
    .strictObject({ calls, ...amounts, minutes: positive.optional().describe('Wall time') })
    .optional()
    .describe('The same for all repeats together'),
});

const renderSchema = z.strictObject({
  every: count(1)
    .optional()
    .describe(
      'Draws the best candidate of every Nth iteration into `animations/` of the run (default: none)',
    ),
});

export const configSchema = z.strictObject({
  $schema: z.string().optional().describe('For editors'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'use letters, digits, dot, hyphen and underscore')
    .optional()
    .describe('Name of the experiment; the run directory is named after it'),
  environment: z
    .union([text, environmentSchema])
    .describe('Environment id, or `{id, options}`')
    .meta({ examples: ['CartPole-v1'] }),
  policy: policySchema
    .optional()
    .describe('Default: `linear`, or `q-table` where the observation is discrete'),
  model: modelSchema
    .describe('Who proposes parameters: a language model, or a control')
    .meta({ examples: [{ provider: 'ollama', name: 'qwen3:8b' }] }),
  seed: count(0)
    .default(0)
    .describe('Fixes everything: environment, warm-up, controls, sampling where the provider allows'),
  repeats: count(1).default(1).describe('Independent repeats with derived seeds'),
  iterations: count(1).default(100).describe('Improvement iterations'),
  candidates: count(1).default(1).describe('Proposals an iteration: one prompt, K replies, all evaluated'),
  corrections: count(0).default(3).describe('How often a reply that broke the format is asked again'),
  target: z
    .union([z.number(), targetSchema])
    .optional()
    .describe('Stop early at this mean return, or `{return, hold}`'),
  limits: limitsSchema
    .prefault({})
    .describe('Caps that end the run cleanly before the call that could pass one'),
  warmup: z
    .union([count(0), warmupSchema])
    .prefault({})
    .describe('Random policies first: their number, or `{policies, from}`'),
  evaluation: evaluationSchema.prefault({}).describe('How a candidate is scored'),
  confirmation: confirmationSchema
    .prefault({})
    .describe('Evaluates the best candidates again at the end, on seeds that did not select them'),
  memory: z
    .union([z.literal('all'), z.literal('none'), memorySchema])
    .default('all')
    .describe('Which evaluations a prompt shows: `all`, `none`, or `{best, recent, …}`'),
  prompts: promptsSchema.prefault({}).describe('What the model is told'),
  record: z
    .enum(['none', 'first', 'all'])
    .default('first')
    .describe('Which episodes of an evaluation are written with their trajectory'),
  render: renderSchema.prefault({}).describe('Pictures of episodes, beside those of the report'),
});

/** A config as a user may write it. */
export type ConfigInput = z.input<typeof configSchema>;
type ParsedConfig = z.output<typeof configSchema>;

/** Whether it reads prompts, as the controls don't. */
export function isLanguageModel({ provider }: Pick<ModelConfig, 'provider'>): boolean {
  return provider === 'openai' || provider === 'ollama' || provider === 'local';
}

export type PolicyConfig = z.output<typeof policySchema>;
export type LinearConfig = z.output<typeof linearSchema>;
export type ProjectionConfig = z.output<typeof projectionSchema>;
export type QTableConfig = z.output<typeof qTableSchema>;
export type ModelConfig = z.output<typeof modelSchema>;
export type OpenAIConfig = z.output<typeof openaiSchema>;
export type OllamaConfig = z.output<typeof ollamaSchema>;
export type RandomConfig = z.output<typeof randomSchema>;
export type HillClimbConfig = z.output<typeof hillClimbSchema>;
export type CmaEsConfig = z.output<typeof cmaEsSchema>;
export type OnePlusOneEsConfig = z.output<typeof onePlusOneEsSchema>;
export type ReplayedConfig = z.output<typeof replayedSchema>;
export type EnvironmentConfig = z.output<typeof environmentSchema>;
export type MemoryConfig = z.output<typeof memorySchema>;
export type WarmupConfig = z.output<typeof warmupSchema>;
export type TargetConfig = z.output<typeof targetSchema>;
export type EvaluationConfig = z.output<typeof evaluationSchema>;
export type ConfirmationConfig = z.output<typeof confirmationSchema>;
export type PromptsConfig = z.output<typeof promptsSchema>;
export type LimitsConfig = z.output<typeof limitsSchema>;
export type PriceConfig = z.output<typeof price>;

/** A resolved config: every default filled in, every shorthand written out. It is itself a valid config. */
export type Config = Omit<ParsedConfig, '$schema' | 'environment' | 'target' | 'warmup' | 'memory'> & {
  readonly environment: EnvironmentConfig;
  readonly target?: TargetConfig | undefined;
  readonly warmup: WarmupConfig & { readonly policies: number };
  readonly memory: MemoryConfig;
};

/** The long form of what may be written short: a section given as a bare value. */
export const shorthands = {
  environment: (id: string) => ({ id }),
  target: (value: number) => ({ return: value }),
  warmup: (policies: number) => ({ policies }),
  memory: (which: 'all' | 'none') => (which === 'all' ? {} : { best: 0, recent: 0 }),
};

const withPolicies = (warmup: WarmupConfig) => ({
  ...warmup,
  policies: warmup.policies ?? (warmup.from === undefined ? 20 : 0),
});

/** Writes the shorthands out. */
export function resolveConfig(parsed: ParsedConfig): Config {
  const { $schema: _schema, environment, target, warmup, memory, ...rest } = parsed;
  return {
    ...rest,
    environment:
      typeof environment === 'string'
        ? environmentSchema.parse(shorthands.environment(environment))
        : environment,
    target: typeof target === 'number' ? targetSchema.parse(shorthands.target(target)) : target,
    warmup: typeof warmup === 'number' ? shorthands.warmup(warmup) : withPolicies(warmup),
    memory: typeof memory === 'string' ? memorySchema.parse(shorthands.memory(memory)) : memory,
  };
}
