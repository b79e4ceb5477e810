/** The config sections that determine what prompts show. */
import { z } from 'zod';
import { about } from '../models/settings.js';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);

export const promptsSchema = z.strictObject({
  set: about(
    '`numeric` (only f(params)), `semantic` (with a task description), `compact` (few tokens, for small models), `programs` (the default if policies are programs), or the path of your own folder (see prompts/README.md)',
    text.default('semantic'),
    { format: 'name-or-path' },
  ),
  description: text
    .optional()
    .describe('Your own template for the description of the environment')
    .meta({ format: 'path' }),
  helpers: text.optional().describe('JavaScript file with your template helpers').meta({ format: 'path' }),
  answer: about(
    'Notation of answers: `{"params": [1.2, …]}` or `params[0]: 1.2, …` (default: JSON if replies may contain nothing but the answer, except in the set `compact`; hosted models with an enforced format always answer in JSON)',
    z.enum(['json', 'labels']).optional(),
  ),
  optimum: z.number().optional().describe('Best possible return; stated in prompts if set'),
  stepSize: positive.optional().describe('Suggested step size for exploration; stated in prompts if set'),
  layout: about(
    "`document` (the default): one message lists the evaluations. `conversation`: each evaluation is a turn, with the parameters as the model's answer and their score as the next message",
    z.enum(['document', 'conversation']).optional(),
  ),
  conversation: about(
    '`fresh`: a new conversation for every iteration. `{turns: N}`: one conversation for N iterations, then a new one from the memory',
    z
      .union([
        z.literal('fresh'),
        z.strictObject({ turns: count(1).describe('Iterations per conversation') }),
      ])
      .default('fresh'),
  ),
});

export const demonstrationsSchema = z.strictObject({
  from: about(
    'Source of good episodes: a JSON file of steps (`{state, action}`), a folder of such files (`episode_1.json`, …), a run (its best recorded episodes), or a .js file with a program that plays them',
    text,
    { format: 'path' },
  ),
  episodes: about(
    'Number of episodes shown; episodes of different policies may contradict each other',
    z.int().min(1).max(100).default(1),
  ),
  steps: about(
    'Steps shown per episode, evenly spaced from the first to the last, or `all`',
    z.union([z.literal('all'), count(1)]).default(50),
  ),
  digits: z.int().min(1).max(17).default(4).describe('Significant digits of observations and actions'),
});

export const proposalSchema = z.strictObject({
  form: about(
    '`absolute`: proposals are parameters. `delta`: proposals are changes to the parameters of a parent, which is the best evaluation of the latest iteration or one chosen by `beam`',
    z.enum(['absolute', 'delta']).default('absolute'),
  ),
  beam: about(
    'Number of best evaluations used as parents. The candidates of an iteration use them in turn, best first, with one prompt per parent (default: no parents; with `delta`, the best evaluation of the latest iteration)',
    count(1).optional(),
  ),
});

export const memorySchema = z.strictObject({
  best: count(0)
    .optional()
    .describe(
      'Show the K best evaluations. Without `best` and `recent`, prompts show all; for programs, the 4 best and the 2 most recent (unless `tokens` is set)',
    ),
  recent: count(0).optional().describe('Show the J most recent evaluations'),
  order: about(
    'Order of the evaluations in prompts; `chronological` keeps the start of the prompt unchanged, so prompt caches work',
    z.enum(['chronological', 'best-last', 'best-first']).default('chronological'),
  ),
  tokens: about(
    "Budget of the history in estimated tokens; the oldest evaluations are dropped first, which `check` and `run` report (default: 24,000; without `best` and `recent`, at most half of the model's context, if known)",
    count(1).optional(),
  ),
  digits: about(
    'Minimum number of significant digits of scores (default: 3). Scores have at least two decimals, and more if needed to distinguish them',
    z.int().min(1).max(12).optional(),
  ),
  trajectories: about(
    'Show the first episode of each evaluation as sampled steps (`rows`) or as a `summary`',
    z.enum(['none', 'rows', 'summary']).default('none'),
  ),
  rows: count(1).default(10).describe('Sampled steps per trajectory (`trajectories: rows`)'),
  ofGroup: about(
    'Keep one evaluation per iteration, the best of its first K candidates (default: all); baselines and fine-tuning see the same evaluations',
    count(1).optional(),
  ),
  revisions: about(
    'Of a proposal and its revision by the `critic`, keep the better one (`best`, the default) or both',
    z.enum(['best', 'all']).optional(),
  ),
});

export type ProposalConfig = z.output<typeof proposalSchema>;
export type PromptsConfig = z.output<typeof promptsSchema>;
export type DemonstrationsConfig = z.output<typeof demonstrationsSchema>;
export type MemoryConfig = z.output<typeof memorySchema>;

/** Default of `memory.tokens`; in a context of 32,768, leaves room for the task and an answer of 4,096 tokens. */
export const historyTokens = 24_000;
