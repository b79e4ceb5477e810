/** Measures what rounding to the written data type does to an adapter's change. */
import { decodeWeights } from '../../../src/models/local/weights/rows.js';

export interface Rounding {
  /** Rounding error relative to the adapter's change (both as root sum of squares). */
  readonly roundingError: number;
  /**
   * How much of the adapter's change is in the written weights: the written change projected on it, 1 if all. Less than
   * 1 if the change is smaller than the steps of the data type, because then rounding returns the base's weights.
   */
  readonly keptChange: number;
}

/** Adds up the rounding of blocks of weights. */
export function roundingMeter() {
  let [error, change, along] = [0, 0, 0];
  return {
    /** @param written `exact`, encoded as `dtype` @param added the adapter's change, in the order of `exact` */
    add(exact: Float32Array, written: Uint8Array, dtype: string, added: Float32Array): void {
      const rounded = decodeWeights(Buffer.from(written.buffer, written.byteOffset, written.length), dtype);
      for (let i = 0; i < exact.length; i++) {
        const difference = rounded[i]! - exact[i]!;
        error += difference ** 2;
        along += difference * added[i]!;
        change += added[i]! ** 2;
      }
    },
    read: (): Rounding => ({
      roundingError: error === 0 ? 0 : Math.sqrt(error / change),
      keptChange: along === 0 ? 1 : 1 + along / change,
    }),
  };
}

export type RoundingMeter = ReturnType<typeof roundingMeter>;

/** Smaller kept shares are reported. */
const enough = 0.9;

/** A note if rounding lost a notable part of the adapter's change; `hint` names the option that avoids it. */
export const roundingNote = (
  keptChange: number | undefined,
  dtype: string,
  hint: string,
): string | undefined =>
  keptChange === undefined || keptChange >= enough
    ? undefined
    : `rounding to ${dtype} kept only ${Math.max(0, 100 * keptChange).toFixed(0)} % of the adapter's change, which is smaller than the steps of ${dtype}; ${hint}`;
