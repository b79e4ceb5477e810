/** The config sections that determine what prompts show. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);

export const promptsSchema = z.strictObject({
  set: text
    .default('semantic')
    .describe(
      '`numeric` (only f(params)), `semantic` (with the task described), `compact` (few tokens, for small models), or the path of a folder of your own (what it holds: prompts/README.md)',
    )
    .meta({ format: 'name-or-path' }),
  description: text
    .optional()
    .describe("Path of a template that describes the environment, instead of the set's")
    .meta({ format: 'path' }),
  helpers: text
    .optional()
    .describe('Path of a JavaScript file with helpers and values of your own for the templates')
    .meta({ format: 'path' }),
  answer: z
    .enum(['json', 'labels'])
    .optional()
    .describe(
      'Notation of answers: `{"params": [1.2, …]}` or `params[0]: 1.2, …` (default: JSON where the format is enforced, except in the set `compact`). Hosted models with an enforced format always answer in JSON',
    ),
  optimum: z.number().optional().describe('The best return there can be, told to the model when given'),
  stepSize: positive.optional().describe('Exploration step told to the model when given'),
  layout: z
    .enum(['document', 'conversation'])
    .optional()
    .describe(
      '`document` (the default): one message lists the evaluations. `conversation`: each evaluation is a turn, the parameters as the answer of the model and their score as the next message',
    ),
  conversation: z
    .union([z.literal('fresh'), z.strictObject({ turns: count(1).describe('Iterations of a conversation') })])
    .default('fresh')
    .describe(
      '`fresh`: every iteration starts anew. `{turns: N}`: a conversation goes on for N iterations, then starts anew from the memory',
    ),
});

export const demonstrationsSchema = z.strictObject({
  from: text
    .describe(
      'A JSON file that lists the steps of a good episode as `{state, action}`, a folder of `episode_1.json`, `episode_2.json`, …, or the directory of a run, whose best recorded episodes are taken',
    )
    .meta({ format: 'path' }),
  episodes: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe('How many are shown; those of different policies may contradict each other'),
  steps: z
    .union([z.literal('all'), count(1)])
    .default(50)
    .describe('Steps shown of each episode, at even distances from the first to the last, or `all`'),
  digits: z.int().min(1).max(17).default(4).describe('Significant digits of the numbers'),
});

export const proposalSchema = z.strictObject({
  form: z
    .enum(['absolute', 'delta'])
    .default('absolute')
    .describe(
      '`absolute`: a model proposes parameters. `delta`: changes, which are added to the parameters of a parent: the latest evaluation, or those of `beam`',
    ),
  beam: count(1)
    .optional()
    .describe(
      'The K best evaluations are parents: candidate c of an iteration goes on from the one of rank c mod K, in a prompt of its own (default: proposals go on from none; changes, from the latest evaluation)',
    ),
});

export const memorySchema = z.strictObject({
  best: count(0).optional().describe('Show the K best evaluations'),
  recent: count(0).optional().describe('Show the J most recent evaluations'),
  order: z
    .enum(['chronological', 'best-last', 'best-first'])
    .default('chronological')
    .describe('Chronological keeps the start of the prompt unchanged, so that prompt caches work'),
  tokens: count(1)
    .optional()
    .describe(
      'Budget of the history part, in estimated tokens; the oldest evaluations go first. `check` and `run` say where it hides evaluations (default: 24,000; without `best` and `recent`, at most half the context of the model, where that is known)',
    ),
  digits: z
    .int()
    .min(1)
    .max(12)
    .optional()
    .describe(
      'Least significant digits of scores below 1. Other scores have two decimals, and as many more as it takes to tell different scores apart (default: 3)',
    ),
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
  revisions: z
    .enum(['best', 'all'])
    .optional()
    .describe(
      'Of a proposal and its revision by the `critic`, hold the better one (`best`, the default) or both',
    ),
});

export type ProposalConfig = z.output<typeof proposalSchema>;
export type PromptsConfig = z.output<typeof promptsSchema>;
export type DemonstrationsConfig = z.output<typeof demonstrationsSchema>;
export type MemoryConfig = z.output<typeof memorySchema>;

/** Default of `memory.tokens`: leaves room in a context of 32,768 for the task and an answer of 4,096 tokens. */
export const historyTokens = 24_000;
