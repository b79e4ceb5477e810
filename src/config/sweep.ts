/** The `sweep` section of a config: which keys take which values, and how these are combined. */
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

const alone = z.strictObject({ sweep: sweepSchema });

/** The section on its own, for reading it before the configs of the runs exist. */
export const sweepKind: SettingsKind<z.output<typeof alone>> = {
  schema: alone,
  get json() {
    return jsonSchemaOf(alone);
  },
  example: 'sweep.method=random',
};
