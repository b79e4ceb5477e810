/** The sections `sweep` and `slurm`: which values the runs take, and where they run. */
import { z } from 'zod';
import { jsonSchemaOf, type SettingsKind } from '../settings/schema.js';

const count = (minimum: number) => z.int().min(minimum);

const keys = z
  .record(z.string().min(1), z.unknown())
  .default({})
  .describe(
    'What each key is to be: a list, or a text as on the command line (`1..10`, `choice(4,8)`, `uniform(0,1)`); null is a run without the key. `seed` says the seeds of every setting (default: those of `repeats`)',
  );

const drawing = {
  samples: count(1),
  seed: count(0).default(0).describe('Fixes the settings that are drawn'),
};

export const sweepSchema = z.discriminatedUnion('method', [
  z.strictObject({
    method: z.literal('grid').describe('Every combination of the values'),
    keys,
  }),
  z.strictObject({
    method: z
      .literal('list')
      .describe('The first values of all keys, then the second ones, …: lists of one length'),
    keys,
  }),
  z.strictObject({
    method: z.literal('random').describe('Different settings, each value drawn for itself'),
    samples: drawing.samples.describe('Settings that are drawn; more can be asked for later'),
    seed: drawing.seed,
    keys,
  }),
  z.strictObject({
    method: z
      .literal('halving')
      .describe('Successive halving: all settings on few seeds, the better ones on more and more of them'),
    samples: drawing.samples
      .optional()
      .describe('Settings that are drawn as `random` does (default: every combination of the values)'),
    seed: drawing.seed,
    first: count(1).default(2).describe('Seeds of the first round'),
    factor: count(2)
      .default(2)
      .describe('A round has so many times the seeds, and keeps one of so many settings'),
    confidence: z
      .number()
      .min(0.5)
      .max(1)
      .default(0.95)
      .describe(
        'A setting that would still reach the best one is dropped out of turn with less than 1 − this; 1: never',
      ),
    keys,
  }),
]);

export type SweepConfig = z.output<typeof sweepSchema>;

/** The `slurm` section: what to request from a cluster. */
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

/** A section on its own, to read it before the configs of the runs exist. */
function sectionKind<Shape extends z.ZodRawShape>(
  shape: Shape,
  example: string,
): SettingsKind<z.output<z.ZodObject<Shape>>> {
  const schema = z.strictObject(shape) as unknown as z.ZodObject<Shape>;
  return { schema, json: jsonSchemaOf(schema), example };
}

export const sweepKind = sectionKind({ sweep: sweepSchema }, 'sweep.method=random');
export const slurmKind = sectionKind({ slurm: slurmSchema }, 'slurm.partition=short');
