/** Settings of an agent: the `policy` section in configs of games, and `agent` in reinforcement learning. */
import { z } from 'zod';
import { about } from '../models/settings.js';

const count = (minimum: number) => z.int().min(minimum);

/** What follows a reply without an action: ask again, draw a random action, take the first, or give up. */
export const fallbacks = ['ask-again', 'random', 'first', 'end'] as const;
export type Fallback = (typeof fallbacks)[number];

export const scoringSchema = z
  .strictObject({
    by: about(
      'Score: log-probability of the whole action, or its mean over tokens or words',
      z.enum(['sum', 'token', 'word']).default('sum'),
    ),
    choose: about(
      'The action with the highest score, or one sampled by the softmax of the scores',
      z.enum(['greedy', 'sample']).default('sample'),
    ),
    temperature: z.number().positive().default(1).describe('Divides the scores before sampling'),
  })
  .prefault({})
  .describe('For scored actions');

export type Scoring = z.output<typeof scoringSchema>;

export const agentShape = {
  prompts: about(
    "Prompt set: a built-in name, the path of a folder, or `plain` for bare observations (default: the environment's own)",
    z.string().min(1).optional(),
    { format: 'name-or-path' },
  ),
  history: about(
    'Previous turns shown to the model (default: whole conversations); repeated questions are always shown',
    count(0).default(1000),
  ),
  historyTokens: count(1)
    .optional()
    .describe('Token limit of a prompt; the oldest turns beyond it are dropped'),
  asks: about(
    'Consecutive retries of `fallback: ask-again`; after that, an action is drawn at random',
    count(1).default(2),
  ),
};
