/** The config sections that determine what prompts show. */
import { z } from 'zod';
import { describe } from '../models/settings.js';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);

export const promptsSchema = z.strictObject({
  set: describe(
    '`numeric` (only f(params)), `semantic` (with a task description), `compact` (few tokens, for small models), `programs` (the default if policies are programs), or the path of your own folder (see prompts/README.md)',
    text.default('semantic'),
    { format: 'name-or-path' },
  ),
  description: text
    .optional()
    .describe('Your own template for the description of the environment')
    .meta({ format: 'path' }),
  helpers: text.optional().describe('JavaScript file with your template helpers').meta({ format: 'path' }),
  answer: describe(
    'Notation of answers. `json`: `{"params": [1.2, …]}`; `labels`: `params[0]: 1.2, …` (default: `json` for local models with `format: auto`, except in the set `compact`; else `labels`). Hosted models whose `format` isn\'t `text` always use `json`',
    z.enum(['json', 'labels']).optional(),
  ),
  optimum: z.number().optional().describe('Best possible return; stated in prompts, except by `compact`'),
  stepSize: positive.optional().describe('Suggested step size, for the sets `numeric` and `semantic`'),
  layout: describe(
    "`document` (the default): one message lists the evaluations. `conversation`: each evaluation is a turn, with the parameters as the model's answer and their score as the next message",
    z.enum(['document', 'conversation']).optional(),
  ),
});

export const memorySchema = z.strictObject({
  best: count(0)
    .optional()
    .describe(
      'Number of best evaluations shown. Without `best` and `recent`, prompts show all; for programs, the 4 best and the 2 most recent (unless `tokens` is set)',
    ),
  recent: count(0).optional().describe('Number of most recent evaluations shown'),
  tokens: describe(
    "Budget of the history in estimated tokens; if it is exceeded, the oldest evaluations are dropped first, those among the `best` last; `check` and `run` warn of this (default: 24,000; without `best` and `recent`, at most half of the model's context, if known)",
    count(1).optional(),
  ),
  trajectories: describe(
    'Form of the first episode of each evaluation in prompts (except those of `compact`): sampled steps (`rows`) or a `summary`',
    z.enum(['none', 'rows', 'summary']).default('none'),
  ),
  rows: count(1).default(10).describe('Maximum number of steps shown per episode (`trajectories: rows`)'),
});

export type PromptsConfig = z.output<typeof promptsSchema>;
export type MemorySettings = z.output<typeof memorySchema>;
/** Settings with their defaults, which depend on the model (src/config/resolve.ts). */
export type MemoryConfig = MemorySettings & { readonly tokens: number };
