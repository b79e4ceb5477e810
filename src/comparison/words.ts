/** What a comparison says, in words that follow from its figures. */

import { formatNumber, formatReturn, plural } from '../format/numbers.js';
import { fewestPairs } from '../statistics/paired.js';
import type { GroupDifference, TargetFigures } from './run-comparison.js';

/** Pairs, or runs of each, from which small samples need no word of warning. */
const many = 10;

/** For a column. */
export function verdictText({ verdict, test, reason }: GroupDifference): string {
  switch (verdict) {
    case 'higher':
    case 'lower':
      return verdict;
    case 'no-evidence':
      return 'no evidence';
    case 'too-few':
      return test === 'paired' ? 'too few pairs' : 'too few runs';
    case 'not-comparable':
      return `not comparable: ${reason}`;
  }
}

/** `10 pairs`, `10 and 8 runs`. */
export const countText = ({ counts, test }: GroupDifference): string =>
  test === 'paired' ? plural(counts[0]!, 'pair') : `${counts.join(' and ')} runs`;

/** The one difference there is, as a sentence. */
export function conclusion(difference: GroupDifference): string {
  const { of, against, adjusted, counts, interval, reason, verdict } = difference;
  if (verdict === 'not-comparable') return `${of} and ${against} can't be compared: ${reason}.`;
  if (difference.difference === null)
    return `Nothing of ${of} or ${against} was confirmed, so there is nothing to compare.`;
  const found = `${of} − ${against} is ${signed(difference.difference)} in confirmed return`;
  if (verdict === 'too-few' || interval === null) {
    const needed = difference.test === 'paired' ? `${fewestPairs} pairs` : `${fewestPairs} runs of each`;
    return `Too few for a verdict: ${found} over ${countText(difference)}, and at least ${needed} are needed.`;
  }
  const over = `95 % interval ${ends(interval, signed)}, p ${pText(adjusted)}, ${countText(difference)}`;
  const fewest = Math.min(...counts);
  const few = fewest < many ? ` ${countText(difference)} are few: more repeats would narrow this.` : '';
  switch (verdict) {
    case 'higher':
      return `Higher: ${found} (${over}).${few}`;
    case 'lower':
      return `Lower: ${found} (${over}).${few}`;
    case 'no-evidence': {
      const half = (interval[1] - interval[0]) / 2;
      const noise =
        half > 0 ? ` A difference below about ${formatReturn(half)} can't be told from noise here.` : '';
      return `No evidence of a difference: ${found} (${over}).${noise}${few}`;
    }
  }
}

/** With its sign, also where it is positive. */
export const signed = (value: number): string => `${value > 0 ? '+' : ''}${formatReturn(value)}`;

export const ends = (
  interval: readonly [number, number] | null,
  format: (value: number) => string = formatReturn,
): string => (interval === null ? '–' : `${format(interval[0])} … ${format(interval[1])}`);

export function pText(p: number | null): string {
  if (p === null) return '–';
  return p < 0.001 ? '< 0.001' : formatNumber(p, p < 0.1 ? 2 : 3);
}

/** `7 of 10`. */
export const reachedText = (target: TargetFigures | null): string =>
  target === null ? '–' : `${target.reached} of ${target.of}`;

/** The median iteration; `> 40` where fewer than half are known to have reached it by then. */
export function timeText(
  target: TargetFigures | null,
  which: 'medianIterations' | 'medianEvaluations',
): string {
  if (target === null) return '–';
  const time = target[which];
  if (time !== null) return String(time);
  return which === 'medianIterations' ? `> ${target.censoredAfter ?? 0}` : '–';
}

/** Said below every table. */
export const reading = {
  confirmed:
    'confirmed: mean return of each run’s chosen policy on episodes that neither proposed nor chose it; 95 % bootstrap intervals over runs',
  area: 'area: best return so far, averaged over the evaluations of a run (a rejected candidate spends one; a complete run that ended early keeps what it had). It is observed, not confirmed: the best of many noisy means',
  target:
    'to target: runs whose observed return reached it, and the median iteration over all runs; those that did not are right-censored where they ended (Kaplan-Meier), not left out',
} as const;
