/** The sections `sweep` and `slurm`: the values to try, and the cluster resources to use. */
import { z } from 'zod';
import { settingsKind } from '../base/settings/schema.js';
import { limitsSchema } from './limits.js';

const count = (minimum: number) => z.int().min(minimum);

export const sweepSchema = z
  .strictObject({
    method: z
      .enum(['grid', 'random'])
      .default('grid')
      .describe('`grid`: every combination of the values; `random`: random settings without duplicates'),
    samples: count(1).optional().describe('Number of settings that `random` draws; can be raised later'),
    seed: count(0).default(0).describe('Seed of the random settings'),
    keys: z
      .record(z.string().min(1), z.unknown())
      .default({})
      .describe(
        "Values per key: a list, or a string as on the command line (`1..10`, `choice(4,8)`, `uniform(0,1)`); null omits the key. `seed` sets the seeds of every setting (default: the config's `seed`)",
      ),
    limits: limitsSchema.prefault({}).describe('Limits for all runs together, divided between Slurm tasks'),
  })
  .superRefine(({ method, samples }, context) => {
    if ((method === 'random') === (samples !== undefined)) return;
    context.addIssue({
      code: 'custom',
      path: ['samples'],
      message: samples === undefined ? 'is required with method random' : 'applies only to method random',
    });
  });

export type SweepConfig = z.output<typeof sweepSchema>;

const word = z.string().regex(/^[\w.:,+@/-]+$/, 'use letters, digits and . : , + @ / - _');

export const slurmSchema = z.strictObject({
  tasks: count(1)
    .max(1000)
    .default(8)
    .describe('Maximum number of tasks in the job array; each of n tasks takes every nth run'),
  atOnce: count(1).optional().describe('Maximum number of tasks at once (default: no limit)'),
  partition: word.optional().describe("Partition (default: the cluster's)"),
  account: word.optional().describe("Account (default: the user's)"),
  time: word
    .default('04:00:00')
    .describe('Time limit per task; a task that reaches it is requeued and continues'),
  cpus: count(1).default(1).describe('Cores per task'),
  memory: word.optional().describe('Memory per task, such as `8G`'),
  gpus: count(1).optional().describe('GPUs per task, for local models'),
  setup: z
    .string()
    .min(1)
    .optional()
    .describe('Shell file to source first, e.g. to load modules or set keys or a proxy')
    .meta({ format: 'path' }),
  notice: count(10).default(60).describe('Seconds before its time limit at which a task stops its runs'),
});

export type SlurmConfig = z.output<typeof slurmSchema>;

/** Only the section `sweep`: like `slurm`, it is read by itself, before the configs of the runs exist. */
export const sweepKind = settingsKind({
  schema: z.strictObject({ sweep: sweepSchema }),
  example: 'sweep.method=random',
});

export const slurmKind = settingsKind({
  schema: z.strictObject({ slurm: slurmSchema }),
  example: 'slurm.partition=short',
});
