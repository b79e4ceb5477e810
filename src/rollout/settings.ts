/** The `evaluation` section of a config. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);

const racingSchema = z.strictObject({
  confidence: z
    .number()
    .min(0.5)
    .max(1)
    .default(0.95)
    .describe(
      'Minimum probability of completing an evaluation that would match the best; 1: cut short only evaluations that can no longer match it',
    ),
  block: count(1).default(5).describe('Number of episodes before the first check and between checks'),
  highest: z
    .number()
    .optional()
    .describe("Upper bound on an episode's return (default: the environment's, if known)"),
});

export const evaluationSchema = z.strictObject({
  episodes: count(1).default(20).describe('Episodes per evaluation; their mean return is the score'),
  seeds: z
    .enum(['common', 'fresh'])
    .default('common')
    .describe('`common`: all candidates play the same episodes. `fresh`: new episodes in each iteration'),
  maxSteps: count(1)
    .default(1000)
    .describe("Maximum steps per episode, in addition to the environment's own limit"),
  reward: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Path of a JavaScript file with a function that computes each step's reward, replacing the environment's",
    )
    .meta({ format: 'path' }),
  workers: z
    .union([z.literal('auto'), count(1)])
    .default('auto')
    .describe(
      'Number of threads that play episodes (`auto`: one per core if that saves time) or, for environments in Python, of processes (`auto`: one)',
    ),
  racing: racingSchema
    .optional()
    .describe(
      'Cut an evaluation short once it is unlikely to match the best so far (default: play all episodes)',
    ),
});

export type EvaluationConfig = z.output<typeof evaluationSchema>;
