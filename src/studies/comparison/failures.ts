/** Failed runs count in comparisons: leaving them out would compare a method only where it worked. */
import { plural } from '../../base/text/numbers.js';
import type { RunSummary } from '../../runs/summary.js';
import { largest, smallest } from '../../statistics/descriptive.js';

/** True if a run failed (its environment's errors don't count), or no policy could be confirmed in fresh episodes. */
export const hasFailed = ({ confirmed, manifest, status }: RunSummary, candidates: number): boolean =>
  (status === 'failed' && manifest.reason?.kind !== 'environment-error') ||
  (status === 'completed' && confirmed === null && candidates > 0);

/** Returns the lowest confirmed return of the environment, used for failed runs without one; null if there is none. */
export function worstReturn(confirmed: readonly (number | null)[]): number | null {
  const knownReturns = confirmed.filter((value) => value !== null);
  return knownReturns.length === 0 ? null : smallest(knownReturns);
}

/**
 * Returns the reason for withholding a verdict if methods fail in different shares of their runs; otherwise undefined.
 * @param sides methods, each with its number of failed runs out of `over` runs
 */
export function failureCaution(
  ...sides: readonly { readonly name: string; readonly failed: number; readonly over: number }[]
): string | undefined {
  const shares = sides.map(({ failed, over }) => (over === 0 ? 0 : failed / over));
  if (largest(shares) - smallest(shares) < 1e-9) return undefined;
  return sides
    .map(({ name, failed, over }) => `${failed} of ${plural(over, 'run')} of ${name} failed`)
    .join(', ');
}
