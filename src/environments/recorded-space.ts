import { z } from 'zod';
import type { Space } from './environment.js';

const discrete = z.strictObject({
  kind: z.literal('discrete'),
  n: z.int().min(1),
  start: z.int().default(0),
});
/** JSON has no infinities: `JSON.stringify` makes null of them. */
const bounds = (none: number) =>
  z.array(
    z
      .number()
      .nullable()
      .transform((bound) => bound ?? none),
  );

/** A space as it is written to JSON. */
export const recordedSpace = z.discriminatedUnion('kind', [
  discrete,
  z.strictObject({ kind: z.literal('tuple'), spaces: z.array(discrete).min(1) }),
  z.strictObject({
    kind: z.literal('box'),
    low: bounds(Number.NEGATIVE_INFINITY),
    high: bounds(Number.POSITIVE_INFINITY),
    dtype: z.enum(['float32', 'float64']).default('float32'),
  }),
]) satisfies z.ZodType<Space>;
