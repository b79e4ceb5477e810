/** The `slurm` section of a config: what to request from a cluster for the runs of a plan. */
import { z } from 'zod';
import { jsonSchemaOf, type SettingsKind } from '../settings/schema.js';

const count = (minimum: number) => z.int().min(minimum);
const word = z.string().regex(/^[\w.:,+@/-]+$/, 'use letters, digits and . : , + @ / -');

export const slurmSchema = z.strictObject({
  tasks: count(1).max(1000).default(8).describe('Tasks of the job array; each plays every nth run'),
  atOnce: count(1).optional().describe('Tasks that run at once (default: as many as there is room for)'),
  partition: word.optional().describe("Partition (default: the cluster's)"),
  account: word.optional().describe("Account (default: the user's)"),
  time: word.default('04:00:00').describe('Time of a task; after it the task is queued again, and goes on'),
  cpus: count(1).default(1).describe('Cores of a task'),
  memory: word.optional().describe('Memory of a task, such as `8G`'),
  gpus: count(1).optional().describe('GPUs of a task, for local models'),
  setup: z
    .string()
    .min(1)
    .optional()
    .describe('Shell file that a task reads first: modules, keys, a proxy')
    .meta({ format: 'path' }),
  notice: count(10)
    .default(60)
    .describe('Seconds before the end of its time at which a task is told to close what it plays'),
});

export type SlurmConfig = z.output<typeof slurmSchema>;

const alone = z.strictObject({ slurm: slurmSchema });

/** The section on its own, for reading it separately from the config of the runs. */
export const slurmKind: SettingsKind<z.output<typeof alone>> = {
  schema: alone,
  get json() {
    return jsonSchemaOf(alone);
  },
  example: 'slurm.partition=short',
};
