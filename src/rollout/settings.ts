/** The `evaluation` section of a config. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);

export const evaluationSchema = z.strictObject({
  episodes: count(1).default(20).describe('Episodes per evaluation; their mean return is the score'),
  seeds: z
    .enum(['common', 'fresh'])
    .default('common')
    .describe('`common`: all candidates play the same episodes. `fresh`: new episodes in each iteration'),
  maxSteps: count(1)
    .default(1000)
    .describe("Maximum number of steps per episode; the environment's own limit also applies"),
  reward: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Path of a JavaScript or TypeScript file with a function that computes each step's reward, replacing the environment's",
    )
    .meta({ format: 'path' }),
  workers: z
    .union([z.literal('auto'), count(1)])
    .default('auto')
    .describe(
      'Threads that play episodes (`auto`: one per core if that saves time). For environments in Python: processes (`auto`: one)',
    ),
});

export type EvaluationConfig = z.output<typeof evaluationSchema>;
