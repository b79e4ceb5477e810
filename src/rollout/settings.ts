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
      'Of evaluations that would reach the best, at most 1 − confidence are cut short; 1: only where that is impossible',
    ),
  block: count(1).default(5).describe('Episodes between two looks, so also the fewest that are played'),
  highest: z
    .number()
    .optional()
    .describe('What no episode returns more than (default: what is known of the environment)'),
});

export const evaluationSchema = z.strictObject({
  episodes: count(1).default(20).describe('Episodes an evaluation; their mean return is the score'),
  seeds: z
    .enum(['common', 'fresh'])
    .default('common')
    .describe('`common`: all candidates meet the same episodes. `fresh`: new ones each iteration'),
  maxSteps: count(1)
    .default(1000)
    .describe("Steps after which an episode is cut, beside the environment's own limit"),
  reward: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Path of a JavaScript file whose function gives each step its reward, in the place of the environment’s',
    )
    .meta({ format: 'path' }),
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

export type EvaluationConfig = z.output<typeof evaluationSchema>;
