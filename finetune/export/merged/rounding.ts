/** Measures how much of an adapter's change survives rounding to the written data type. */
import { decodeWeights } from '../../../src/models/local/weights/rows.js';

/** Sums the effect of rounding over blocks of weights. */
export function createRoundingMeter() {
  let [squaredChange, projectedError] = [0, 0];
  return {
    /** @param written `exact`, encoded as `dtype` @param added the adapter's change, in the order of `exact` */
    add(exact: Float32Array, written: Uint8Array, dtype: string, added: Float32Array): void {
      const rounded = decodeWeights(Buffer.from(written.buffer, written.byteOffset, written.length), dtype);
      for (let i = 0; i < exact.length; i++) {
        projectedError += (rounded[i]! - exact[i]!) * added[i]!;
        squaredChange += added[i]! ** 2;
      }
    },
    /**
     * Fraction of the adapter's change that is left in the written weights, computed by projection. Below 1 if the
     * change is smaller than the steps of the data type, because then rounding returns the base's weights.
     */
    keptChange: () => (projectedError === 0 ? 1 : 1 + projectedError / squaredChange),
  };
}

export type RoundingMeter = ReturnType<typeof createRoundingMeter>;

/** Returns a note if rounding lost a notable part of the adapter's change; `hint` names the option that avoids it. */
export const roundingNotes = (keptChange: number, dtype: string, hint: string): readonly string[] =>
  keptChange >= 0.9
    ? []
    : [
        `rounding to ${dtype} kept only ${Math.max(0, 100 * keptChange).toFixed(0)} % of the adapter's change, which is smaller than the steps of ${dtype}; ${hint}`,
      ];
