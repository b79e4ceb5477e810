/** Round values on an axis. */

/** The smallest 1, 2 or 5 × 10ⁿ that is at least `rough`. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = [1, 2, 5].find((one) => rough / power <= one * 1.0001) ?? 10;
  return digit * power;
}

/** A range that contains the values and ends at round ones; `ticks` are in between. @param count about how many ticks */
export function roundRange(
  values: readonly number[],
  count: number,
): { readonly low: number; readonly high: number; readonly ticks: readonly number[] } {
  const finite = values.filter(Number.isFinite);
  let [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (finite.length === 0) [low, high] = [0, 1];
  if (low === high) {
    const margin = Math.abs(low) * 0.05 || 0.5;
    [low, high] = [low - margin, high + margin];
  }
  const step = roundStep((high - low) / count);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const ticks = Array.from({ length: last - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
  return { low: first * step, high: last * step, ticks };
}

/** Powers of ten, or 1, 2 and 5 times them if there are few, between two positive numbers. */
export function logTicks(low: number, high: number): readonly number[] {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const ticksOf = (digits: readonly number[]) =>
    Array.from({ length: to - from + 1 }, (_, i) => digits.map((digit) => Number(`${digit}e${from + i}`)))
      .flat()
      .filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  const powers = ticksOf([1]);
  if (powers.length >= 3) return powers;
  const more = ticksOf([1, 2, 5]);
  return more.length >= 2 ? more : [low, high];
}
