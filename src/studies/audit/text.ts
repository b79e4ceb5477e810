/** An audit as tables, and in words. */
import { styleText } from 'node:util';
import { formatReturn, formatSigned, plural } from '../../base/text/numbers.js';
import { type Column, estimate, number, terminalTable, text } from '../../base/text/table.js';
import { fitted } from '../../base/text/width.js';
import { baselineLabel } from '../../config/baselines.js';
import { mean } from '../../statistics/descriptive.js';
import { meanInterval95 } from '../../statistics/distributions.js';
import { fewestForVerdict } from '../../statistics/tests.js';
import { pText, verdictCell } from '../comparison/words.js';
import type { Audit, Improvement, Unreproduced } from './audit.js';
import type { AuditResult, Searched } from './searches.js';

export const sourceColumns: readonly Column<Audit>[] = [
  text('record', ({ name }) => name),
  number('evaluations', ({ evaluations }) => evaluations),
  number('policies', ({ policies }) => policies),
  number('behaviours', ({ behaviours }) => behaviours),
  number('recorded best', ({ recorded }) => recorded.best, { format: formatReturn }),
  estimate('its true mean', ({ fresh }) => ({
    value: fresh.ofRecordedBest,
    interval: fresh.ofRecordedBestInterval,
  })),
  estimate('true best', ({ fresh }) => ({ value: fresh.best, interval: fresh.bestInterval })),
  text('first proposed', ({ fresh }) => fresh.bestAt),
  number('new bests', ({ improvements }) => improvements.recorded),
  number('confirmed', ({ improvements }) => improvements.confirmed),
];

export const improvementColumns: readonly Column<Improvement>[] = [
  text('new best', ({ at }) => at),
  number('recorded', ({ recorded }) => recorded, { format: formatReturn }),
  number('true mean', ({ fresh }) => fresh, { format: formatReturn }),
  text('compared with', ({ before }) => before ?? 'recorded before'),
  estimate('difference', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatSigned,
  }),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text('verdict', ({ verdict }) => verdictCell({ verdict })),
];

export const unreproducedColumns: readonly Column<Unreproduced>[] = [
  text('evaluation', ({ at }) => at),
  number('recorded', ({ recorded }) => recorded, { format: formatReturn }),
  number('true mean', ({ fresh }) => fresh, { format: formatReturn }),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
];

/** Fewer values give no interval of their mean. */
const fewest = 3;

export const searchColumns: readonly Column<Searched>[] = [
  text('search', ({ search }) => baselineLabel(search)),
  number('evaluations', ({ evaluations }) => evaluations),
  number('repeats', ({ returns }) => returns.length),
  estimate('true mean of its best', ({ returns }) => ({
    value: mean(returns),
    interval: returns.length < fewest ? null : meanInterval95(returns),
  })),
];

/** What an audit found, in a few sentences. */
export function conclusionOf({ fresh, improvements, optimism, recorded, reproduced }: Audit): string {
  const high = optimism >= 0 ? 'higher' : 'lower';
  const bests =
    improvements.recorded === 0
      ? 'There is no new best after the first evaluation.'
      : `Of ${plural(improvements.recorded, 'new best')}, ${improvements.confirmed} ${improvements.confirmed === 1 ? 'is' : 'are'} better than every new best before.`;
  const odd =
    reproduced.not.length === 0
      ? ''
      : ` ${plural(reproduced.not.length, 'recorded mean')} can't come from this environment and policy by chance.`;
  return `The best recorded mean (${formatReturn(recorded.best)}, ${recorded.at}) is ${formatReturn(Math.abs(optimism))} ${high} than the policy's mean in fresh episodes (${formatReturn(fresh.ofRecordedBest)}). ${bests} The best policy (${formatReturn(fresh.best)}) was first evaluated at ${fresh.bestAt}.${odd}`;
}

/** @param width see `CommandContext` */
export function auditText(results: readonly AuditResult[], width?: number): string {
  const environments = [...new Set(results.map(({ environment }) => environment))].join(', ');
  const blocks = [
    `${styleText('bold', environments)}  ${styleText('dim', `${plural(results[0]!.episodes, 'fresh episode')} per policy, and as many others for the figures`)}`,
    terminalTable(results, sourceColumns, width),
  ];
  for (const result of results) {
    const { improvements, name, reproduced, searches, unknown } = result;
    if (results.length > 1) blocks.push(styleText('bold', name));
    if (improvements.list.length > 0)
      blocks.push(terminalTable(improvements.list, improvementColumns, width));
    if (reproduced.not.length > 0)
      blocks.push(
        `not reproduced:\n${terminalTable(reproduced.not.slice(0, mostListed), unreproducedColumns, width)}${more(reproduced.not.length)}`,
      );
    if (searches.length > 0) blocks.push(terminalTable(searches, searchColumns, width));
    if (unknown > 0)
      blocks.push(
        `${styleText('yellow', 'note')} ${plural(unknown, 'evaluation')} without parameters left out`,
      );
    blocks.push(styleText('bold', conclusionOf(result)));
  }
  blocks.push(styleText('dim', reading.join('\n')));
  return fitted(blocks.join('\n\n'), width);
}

const mostListed = 10;

const more = (count: number) =>
  count > mostListed ? `\n… and ${count - mostListed} more (--json lists all)` : '';

/** Explanations of the columns. */
export const reading: readonly string[] = [
  'behaviours: policies that differ in at least one action of the fresh episodes; policies with equal actions are one behaviour',
  'true mean: mean return in fresh episodes, which all policies share; some choose the best policies, others give the figures, so that choosing can’t flatter them',
  `new bests: evaluations that the record has as its best so far; one is confirmed if its policy is higher than every new best before it, by paired differences and after Holm’s correction for all of them (at least ${fewestForVerdict} episodes)`,
  'not reproduced: recorded means that differ from the fresh episodes by more than chance allows (permutation test, Holm’s correction for all evaluations)',
];
