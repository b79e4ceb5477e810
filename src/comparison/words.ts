/** What a comparison says, in words that follow from its figures. */

import {
  formatInterval,
  formatNumber,
  formatReturn,
  formatSigned,
  missing,
  plural,
} from '../format/numbers.js';
import { smallest } from '../statistics/descriptive.js';
import { fewestForVerdict, type Verdict } from '../statistics/verdict.js';
import type { GroupDifference } from './differences.js';
import type { TargetFigures, TaskComparison } from './run-comparison.js';

/** Pairs, or runs of each, from which small samples need no word of warning. */
export const manyRuns = 10;

type Counted = Pick<GroupDifference, 'counts' | 'test'>;

/** For a column. */
export function verdictText({
  verdict,
  test,
  reason,
}: Pick<GroupDifference, 'verdict' | 'test' | 'reason'>): string {
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

/** Classes of the chips that verdicts stand in on a page. */
export const verdictChips: Readonly<Record<GroupDifference['verdict'], string>> = {
  higher: 'good',
  lower: 'bad',
  'no-evidence': '',
  'too-few': 'warn',
  'not-comparable': 'warn',
};

/** `10 pairs`, `10 and 8 runs`. */
export const countText = ({ counts, test }: Counted): string =>
  test === 'paired' ? plural(counts[0]!, 'pair') : `${counts.join(' and ')} runs`;

/** One difference as a sentence. */
function conclusion(found: GroupDifference): string {
  const { of, against, difference, reason, verdict } = found;
  if (verdict === 'not-comparable') return `${of} and ${against} can't be compared: ${reason}.`;
  if (difference === null)
    return `Nothing of ${of} or ${against} was confirmed, so there is nothing to compare.`;
  return verdictSentence({ ...found, difference, verdict }, 'confirmed return');
}

/**
 * What all differences say together, in a sentence that stands on the terminal and on the page; undefined where there
 * are none.
 */
export function conclusionOf(tasks: readonly TaskComparison[]): string | undefined {
  const all = tasks.flatMap(({ name, differences }) => differences.map((found) => ({ task: name, found })));
  if (all.length < 2) return all[0] && conclusion(all[0].found);
  const counted = (verdict: GroupDifference['verdict']) =>
    all.filter(({ found }) => found.verdict === verdict).length;
  const evident = all.flatMap(({ task, found: { of, against, verdict } }) => {
    if (verdict !== 'higher' && verdict !== 'lower') return [];
    const [high, low] = verdict === 'higher' ? [of, against] : [against, of];
    return `${tasks.length > 1 ? `${task}: ` : ''}${high} is higher than ${low}`;
  });
  const others = [
    [counted('no-evidence'), 'without evidence'],
    [counted('too-few'), 'with too few runs for a verdict'],
    [counted('not-comparable'), 'not comparable'],
  ] as const;
  const rest = others.flatMap(([count, words]) => (count === 0 ? [] : `${count} ${words}`)).join(', ');
  if (counted('no-evidence') === all.length)
    return `No evidence of a difference in any of ${all.length} comparisons.`;
  if (evident.length === 0) return `None of ${all.length} differences is evident: ${rest}.`;
  const listed = evident.slice(0, shownEvident).join('; ');
  const more = evident.length > shownEvident ? `; and ${evident.length - shownEvident} more` : '';
  return `${evident.length} of ${all.length} differences ${evident.length === 1 ? 'is' : 'are'} evident: ${listed}${more}.${rest === '' ? '' : ` The others: ${rest}.`}`;
}

/** Differences that a sentence names; a table has them all. */
const shownEvident = 8;

/**
 * A verdict in the words of every command and page.
 * @param quantity what differs, e.g. `confirmed return`
 */
export function verdictSentence(
  found: Pick<GroupDifference, 'of' | 'against' | 'interval' | 'adjusted'> &
    Counted & { readonly difference: number; readonly verdict: Verdict },
  quantity: string,
): string {
  const { of, against, adjusted, counts, interval, test, verdict } = found;
  const measured = `${of} − ${against} is ${formatSigned(found.difference)} in ${quantity}`;
  const count = countText(found);
  if (verdict === 'too-few' || interval === null) {
    const needed = `${fewestForVerdict} ${test === 'paired' ? 'pairs' : 'runs of each'}`;
    return `Too few for a verdict: ${measured} over ${count}, and at least ${needed} are needed.`;
  }
  // A clipped interval has two different halves.
  const half = Math.max(interval[1] - found.difference, found.difference - interval[0]);
  const noise =
    verdict === 'no-evidence' && half > 0
      ? ` A difference below about ${formatReturn(half)} can't be told from noise here.`
      : '';
  const few = smallest(counts) < manyRuns ? ` ${count} are few: more repeats would narrow this.` : '';
  return `${verdictStarts[verdict]}: ${measured} (95 % interval ${formatInterval(interval, formatSigned)}, p ${adjusted === null ? missing : pText(adjusted)}, ${count}).${noise}${few}`;
}

const verdictStarts = {
  higher: 'Higher',
  lower: 'Lower',
  'no-evidence': 'No evidence of a difference',
} as const;

/** A p-value: `< 0.001`, `0.043`. */
export function pText(p: number): string {
  return p < 0.001 ? '< 0.001' : formatNumber(p, p < 0.1 ? 2 : 3);
}

/** `7 of 10`. */
export const reachedText = ({ reached, of }: TargetFigures): string => `${reached} of ${of}`;

/** The median iteration; `> 40` where fewer than half are known to have reached it by then. */
export const iterationsText = ({ medianIterations, censoredAfter }: TargetFigures): string =>
  medianIterations === null ? `> ${censoredAfter ?? 0}` : String(medianIterations);

/** The rule of every verdict, for below a table; nothing where none was tested. */
export const verdictRule = (tested: number): readonly string[] =>
  tested === 0
    ? []
    : [
        `verdicts: where the 95 % interval of the difference leaves out 0 and p < 0.05${tested > 1 ? `, corrected by Holm for the ${tested} differences that were tested` : ''}`,
      ];

/** Said below every table. */
export const reading = {
  confirmed:
    'confirmed: mean return of each run’s chosen policy on episodes that neither proposed nor chose it; 95 % bootstrap intervals over runs',
  area: 'area: best return so far, averaged over the evaluations of a run (a rejected candidate spends one; a complete run that ended early keeps what it had). It is observed, not confirmed: the best of many noisy means',
  target:
    'to target: runs whose observed return reached it, and the median iteration over all runs; those that did not are right-censored where they ended (Kaplan-Meier), not left out',
} as const;
