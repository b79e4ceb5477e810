/** Round values on axes. */

/** Returns the smallest 1, 2 or 5 × 10ⁿ that is at least `minStep` (with a tolerance of 0.01 %). */
export function tickStep(minStep: number): number {
  const power = 10 ** Math.floor(Math.log10(minStep));
  const fraction = minStep / power;
  return (fraction <= 1.0001 ? 1 : fraction <= 2.0001 ? 2 : fraction <= 5.0001 ? 5 : 10) * power;
}

/** Returns round, equally spaced values from `low` to `high`: at most `count` + 1. */
export function ticksWithin(low: number, high: number, count: number): readonly number[] {
  const step = tickStep((high - low) / count);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Formats a position as a percentage, for attributes of SVG elements. */
export const percentText = (share: number): string => `${Math.round(share * 100_000) / 1000}%`;

/** Returns the powers of ten between two positive numbers; if fewer than three, also 2 and 5 times each power. */
export function logTicks(low: number, high: number): readonly number[] {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const exponents = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const isInside = (tick: number) => tick >= low * 0.999 && tick <= high * 1.001;
  const ticksOf = (digits: readonly number[]) =>
    exponents.flatMap((exponent) => digits.map((digit) => Number(`${digit}e${exponent}`))).filter(isInside);
  const powers = ticksOf([1]);
  return powers.length >= 3 ? powers : ticksOf([1, 2, 5]);
}
