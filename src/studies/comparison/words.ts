/** Puts the results of a comparison into words. */
import {
  formatInterval,
  formatNumber,
  formatReturn,
  formatSigned,
  missingMark,
  plural,
} from '../../base/text/numbers.js';
import { minSizeIfTied } from '../../statistics/bootstrap.js';
import { smallest } from '../../statistics/descriptive.js';
import { minForVerdict, type Verdict } from '../../statistics/tests.js';
import type { GroupDifference } from './comparability.js';
import type { TargetFigures, TaskComparison } from './run-comparison.js';

/** With fewer pairs, or fewer runs in a group, the text of a verdict advises more seeds. */
export const enoughRuns = 10;

type TestCounts = Pick<GroupDifference, 'counts' | 'test'>;

/** Formats a verdict as a cell of a table. @param result has no `test` if it counts neither pairs nor runs */
export const verdictCell = (
  result: Pick<GroupDifference, 'verdict'> & Partial<Pick<GroupDifference, 'test' | 'reason'>>,
) => ({ text: verdictText(result), mark: `chip ${verdictChips[result.verdict]}` });

function verdictText({ verdict, test, reason }: Parameters<typeof verdictCell>[0]): string {
  if (verdict === 'not-comparable') return `no verdict: ${reason}`;
  const unitText = test === undefined ? '' : test === 'paired' ? ' pairs' : ' runs';
  return verdict.replace('-', ' ') + (verdict === 'too-few' ? unitText : '');
}

/** CSS classes of the verdict chips on a page. */
const verdictChips: Readonly<Record<GroupDifference['verdict'], string>> = {
  higher: 'good',
  lower: 'bad',
  'no-evidence': '',
  'too-few': 'warn',
  'not-comparable': 'warn',
};

/** Examples: `10 pairs`, `10 and 8 runs`. */
export const countText = ({ counts, test }: TestCounts): string =>
  test === 'paired' ? plural(counts[0]!, 'pair') : `${counts.join(' and ')} runs`;

function differenceText(result: GroupDifference): string {
  const { of, against, difference, reason, verdict } = result;
  if (verdict === 'not-comparable') return `There is no verdict on ${of} and ${against}: ${reason}.`;
  if (difference === null)
    return `${of} or ${against} has no confirmed return, so there is nothing to compare.`;
  return verdictSentence({ ...result, difference, verdict }, 'confirmed return');
}

/** Summarises all differences in a few sentences; undefined if there are none. */
export function conclude(tasks: readonly Pick<TaskComparison, 'name' | 'differences'>[]): string | undefined {
  const items = tasks.flatMap(({ name, differences }) => differences.map((found) => ({ task: name, found })));
  if (items.length < 2) return items[0] && differenceText(items[0].found);
  const countOf = (verdict: GroupDifference['verdict']) =>
    items.filter(({ found }) => found.verdict === verdict).length;
  const evidentTexts = items.flatMap(({ task, found: { of, against, verdict } }) => {
    if (verdict !== 'higher' && verdict !== 'lower') return [];
    const [high, low] = verdict === 'higher' ? [of, against] : [against, of];
    return `${tasks.length > 1 ? `${task}: ` : ''}${high} beats ${low}`;
  });
  const others = [
    [countOf('no-evidence'), 'without evidence'],
    [countOf('too-few'), 'with too few runs for a verdict'],
    [countOf('not-comparable'), "without a verdict, because methods or settings aren't comparable"],
  ] as const;
  const restText = others.flatMap(([count, words]) => (count === 0 ? [] : `${count} ${words}`)).join(', ');
  if (evidentTexts.length === 0) return `None of ${items.length} differences is evident: ${restText}.`;
  const listed = evidentTexts.slice(0, maxListed).join('; ');
  const moreText = evidentTexts.length > maxListed ? `; and ${evidentTexts.length - maxListed} more` : '';
  return `${evidentTexts.length} of ${items.length} differences in confirmed return ${evidentTexts.length === 1 ? 'is' : 'are'} evident: ${listed}${moreText}.${restText === '' ? '' : ` The others: ${restText}.`}`;
}

/** Maximum number of differences that the sentence lists; the table lists all of them. */
const maxListed = 8;

/**
 * Puts a verdict into words.
 * @param quantity what differs, e.g. `confirmed return`
 */
export function verdictSentence(
  result: Pick<GroupDifference, 'of' | 'against' | 'interval' | 'adjusted'> &
    TestCounts & { readonly difference: number; readonly verdict: Verdict },
  quantity: string,
): string {
  const { of, against, adjusted, counts, interval, test, verdict } = result;
  const meanText = `${of} − ${against} is ${formatSigned(result.difference)} in ${quantity}`;
  const count = countText(result);
  if (verdict === 'too-few' || interval === null) {
    const areTied = smallest(counts) >= minForVerdict;
    const unit = test === 'paired' ? 'pairs' : 'runs';
    const needed = `${areTied ? minSizeIfTied : minForVerdict} ${unit}${test === 'paired' ? '' : ' of each'}`;
    return `Too few ${unit} for a verdict: ${meanText} over ${count}, and at least ${needed} are needed${areTied ? ', because most values are equal' : ''}.`;
  }
  // An interval clipped to the possible range is asymmetric, so use its longer half.
  const halfWidth = Math.max(interval[1] - result.difference, result.difference - interval[0]);
  const noiseNote =
    verdict === 'no-evidence' && halfWidth > 0
      ? ` A difference below about ${formatReturn(halfWidth)} can't be distinguished from noise here.`
      : '';
  const tip = smallest(counts) < enoughRuns ? ' More seeds would narrow the interval.' : '';
  return `${verdictStarts[verdict]}: ${meanText} (95 % interval ${formatInterval(interval, formatSigned)}, p ${adjusted === null ? missingMark : pText(adjusted)}, ${count}).${noiseNote}${tip}`;
}

const verdictStarts = { higher: 'Higher', lower: 'Lower', 'no-evidence': 'No evidence of a difference' };

export function pText(p: number): string {
  return p < 0.001 ? '< 0.001' : formatNumber(p, p < 0.1 ? 2 : 3);
}

/** Formats the median iteration; `> 40` if it is unknown and the longest run that missed the target took 40. */
export const iterationsText = ({ medianIterations, censoredAfter }: TargetFigures): string =>
  medianIterations === null ? `> ${censoredAfter ?? 0}` : String(medianIterations);

/** Returns the rule for verdicts, shown below a table; empty if nothing was tested. */
export const verdictRule = (tested: number): readonly string[] =>
  tested === 0
    ? []
    : [
        `verdicts: higher or lower if the 95 % interval of the difference excludes 0 and p < 0.05${tested > 1 ? `, with Holm's correction for the ${tested} differences that were tested` : ''}`,
      ];

/** Explanations of the columns of comparison tables. */
export const glossary = {
  confirmed:
    "confirmed: mean return of each run's chosen policy on fresh episodes; 95 % intervals over runs, if there are at least three. If a fifth of the runs reach a bound of the return, the interval allows for unseen runs at the other bound",
  area: 'best so far: the best observed return up to each evaluation, averaged over the evaluations of a run (a rejected candidate counts as one, unless limits.evaluations sets the budget). The best of many noisy means is optimistic',
  target:
    'to target: median over all runs; runs that did not reach the target count as censored where they ended (Kaplan-Meier)',
} as const;
