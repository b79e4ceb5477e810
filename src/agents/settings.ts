/** Settings of an agent: the `policy` section in configs of games, and `agent` in reinforcement learning. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);

/** What follows a reply without an action: ask again, draw a random action, take the first, or give up. */
export const fallbacks = ['ask-again', 'random', 'first', 'end'] as const;
export type Fallback = (typeof fallbacks)[number];

/** How the log-probabilities of an action's tokens are combined into its score. */
const scoreKinds = ['sum', 'token', 'word'] as const;

export const scoringSchema = z
  .strictObject({
    by: z
      .enum(scoreKinds)
      .default('sum')
      .describe('Log-probability of the whole action, or its mean over tokens or words'),
    choose: z
      .enum(['greedy', 'sample'])
      .default('sample')
      .describe('The action with the highest score, or one drawn by the softmax of the scores'),
    temperature: z
      .number()
      .positive()
      .default(1)
      .describe('The scores are divided by it before they are drawn from'),
  })
  .prefault({})
  .describe('Of scored actions');

export type Scoring = z.output<typeof scoringSchema>;

export const agentShape = {
  prompts: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Prompt set: the name of a built-in one, the path of a folder, or `plain`, which shows observations as they are (default: the one for the environment)',
    )
    .meta({ format: 'name-or-path' }),
  history: count(0)
    .default(1000)
    .describe(
      'Turns before the present one that the model is shown; the default shows whole conversations, and what is asked again is always shown',
    ),
  historyTokens: count(1)
    .optional()
    .describe('Tokens that a prompt may have: the oldest turns that make it longer are not shown'),
  asks: count(1)
    .default(2)
    .describe('How often `fallback: ask-again` asks again in a row; then an action is drawn at random'),
};
