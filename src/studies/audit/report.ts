/** An audit as tables, in words, and as a page. */
import { styleText } from 'node:util';
import { packageVersion } from '../../base/package.js';
import type { Content } from '../../base/text/content.js';
import { html } from '../../base/text/html.js';
import { formatReturn, formatSigned, plural } from '../../base/text/numbers.js';
import { type Column, estimate, number, pageTable, terminalTable, text } from '../../base/text/table.js';
import { fitText } from '../../base/text/width.js';
import { baselineLabel } from '../../config/baselines.js';
import { minForVerdict } from '../../statistics/tests.js';
import { chartFigure } from '../../web/chart.js';
import { type Page, sectionsOf } from '../../web/page.js';
import { explanationList, howToReadTitle, pageHeader, verdictBox, writtenByNote } from '../../web/study.js';
import { pText, verdictCell } from '../comparison/words.js';
import type { Audit, Improvement, UnreproducedMean } from './audit.js';
import type { AuditResult, SearchOutcome } from './searches.js';

const sourceColumns: readonly Column<Audit>[] = [
  text('record', ({ name }) => name),
  number('evaluations', ({ evaluations }) => evaluations),
  number('policies', ({ policies }) => policies),
  number('behaviours', ({ behaviors }) => behaviors),
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

const meanColumns: readonly Column<Pick<Improvement, 'recorded' | 'fresh'>>[] = [
  number('recorded', ({ recorded }) => recorded, { format: formatReturn }),
  number('true mean', ({ fresh }) => fresh, { format: formatReturn }),
];

const holmColumn: Column<Pick<Improvement, 'adjusted'>> = number('p (Holm)', ({ adjusted }) => adjusted, {
  format: pText,
});

const improvementColumns: readonly Column<Improvement>[] = [
  text('new best', ({ at }) => at),
  ...meanColumns,
  text('compared with', ({ before }) => before ?? 'earlier returns without a policy'),
  estimate('difference', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatSigned,
  }),
  holmColumn,
  text('verdict', ({ verdict }) => verdictCell({ verdict })),
];

const unreproducedColumns: readonly Column<UnreproducedMean>[] = [
  text('evaluation', ({ at }) => at),
  ...meanColumns,
  holmColumn,
];

const searchColumns: readonly Column<SearchOutcome>[] = [
  text('search', ({ search }) => baselineLabel(search)),
  number('evaluations', ({ evaluations }) => evaluations),
  number('repeats', ({ returns }) => returns.length),
  estimate('true mean of its best', ({ interval, mean }) => ({ value: mean, interval })),
];

const table = <Row>(title: string, rows: readonly Row[], columns: readonly Column<Row>[]) => ({
  title,
  count: rows.length,
  /** Formats the first ten rows for a terminal. */
  terminal: (width?: number): string => terminalTable(rows.slice(0, 10), columns, width),
  page: (): Content => pageTable(rows, columns, { tall: true }),
});

/** Returns the tables of an audit that have rows. */
const tablesOf = ({ improvements, reproduced, searches }: AuditResult) =>
  [
    table('New bests', improvements.list, improvementColumns),
    table('Not reproduced', reproduced.not, unreproducedColumns),
    table('Searches with as many evaluations as the record', searches, searchColumns),
  ].filter(({ count }) => count > 0);

/** Summarises an audit in a few sentences. */
function summaryOf(result: Audit): string {
  const { failed, fresh, improvements, optimism, recorded, reproduced, unknown } = result;
  const { confirmed, recorded: bests } = improvements;
  return [
    ...(failed.length === 0
      ? []
      : [
          `${plural(failed.length, 'program')} failed in fresh episodes (${failed.slice(0, 5).join(', ')}${failed.length > 5 ? ', …' : ''}) and ${failed.length === 1 ? 'gets' : 'get'} the worst return.`,
        ]),
    `The best recorded mean (${formatReturn(recorded.best)}, ${recorded.at}) ${optimism === 0 ? 'equals' : `is ${formatReturn(Math.abs(optimism))} ${optimism < 0 ? 'lower' : 'higher'} than`} the policy's mean in fresh episodes (${formatReturn(fresh.ofRecordedBest)}).`,
    bests === 0
      ? 'There is no new best after the first evaluation.'
      : bests === 1
        ? `The only new best is ${confirmed === 1 ? '' : 'not '}confirmed as better than every earlier policy.`
        : `Of ${bests} new bests, ${confirmed} ${confirmed === 1 ? 'is' : 'are'} confirmed as better than every earlier one.`,
    `The best policy (${formatReturn(fresh.best)}) was first evaluated at ${fresh.bestAt}.`,
    reproduced.not.length > 0 &&
      `Chance doesn't explain ${plural(reproduced.not.length, 'recorded mean')}: scores differ in this environment.`,
    unknown > 0 &&
      `${plural(unknown, 'evaluation')} without parameters ${unknown === 1 ? 'is' : 'are'} left out.`,
  ]
    .filter(Boolean)
    .join(' ');
}

/** @param width see `CommandContext.columns` */
export function auditText(results: readonly AuditResult[], width?: number): string {
  const [{ episodes, measuring }] = results as [AuditResult];
  const environments = [...new Set(results.map(({ environment }) => environment))].join(', ');
  const blocks = results.flatMap((result) => [
    ...(results.length > 1 ? [styleText('bold', result.name)] : []),
    ...tablesOf(result).map(
      (section) =>
        `${section.title}\n${section.terminal(width)}${section.count > 10 ? `\n… and ${section.count - 10} more (--json or --html lists them)` : ''}`,
    ),
    styleText('bold', summaryOf(result)),
  ]);
  return fitText(
    [
      `${styleText('bold', environments)}  ${styleText('dim', `${plural(episodes, 'fresh episode')} per policy, ${measuring} more for the figures`)}`,
      terminalTable(results, sourceColumns, width),
      ...blocks,
      styleText('dim', readingNotes.join('\n')),
    ].join('\n\n'),
    width,
  );
}

/** Explanations of the columns. */
const readingNotes: readonly string[] = [
  'behaviours: policies that differ in at least one action of the fresh episodes; policies with equal actions are one behaviour',
  "true mean: mean return in fresh episodes, which all policies share; some choose the best policies, others give the figures, so that selection can't inflate them",
  `new bests: evaluations with the highest recorded mean so far; one is confirmed if its policy is better than every earlier one, by paired differences and after Holm's correction for all new bests (at least ${minForVerdict} episodes)`,
  "not reproduced: recorded means that differ from the fresh episodes by more than chance allows (permutation test, Holm's correction for all evaluations)",
];

export function auditPage(results: readonly AuditResult[]): Page {
  const names = results.map(({ name }) => name).join(', ');
  const [firstResult] = results;
  return {
    title: `Audit: ${names}`,
    header: pageHeader({
      kicker: 'audit',
      title: [...new Set(results.map(({ environment }) => environment))].join(', '),
      state: `${results.length === 1 ? names : plural(results.length, 'record')}, ${plural(firstResult!.episodes, 'fresh episode')} per policy, ${firstResult!.measuring} more for the figures`,
      verdict: results.length === 1 && verdictBox(summaryOf(firstResult!)),
    }),
    sections: sectionsOf(
      ['result', 'Result', pageTable(results, sourceColumns, { tall: true })],
      ...results.map(
        (result, i) =>
          [
            `record-${i + 1}`,
            result.name,
            html`${results.length > 1 && html`<p>${summaryOf(result)}</p>`}
${curveChart(result)}
${tablesOf(result).map((table) => html`<h3>${table.title}</h3>${table.page()}`)}`,
          ] as const,
      ),
      ['reading', howToReadTitle, explanationList(readingNotes)],
    ),
    footer: writtenByNote(packageVersion()),
  };
}

function curveChart({ curves: { best, fresh, recorded }, evaluations }: AuditResult): Content {
  const line = { draw: 'steps', width: 2 } as const;
  return chartFigure(
    {
      label: `Over ${plural(evaluations, 'evaluation')}: recorded and true mean of the recorded best policy, and true mean of the policy that is best in fresh episodes.`,
      x: { title: 'Evaluation', kind: 'whole' },
      y: { title: 'Mean return' },
      at: recorded.map((_, i) => i + 1),
      series: [
        { ...line, label: 'recorded best', color: '--arm-1', values: recorded },
        { ...line, label: 'true mean of the recorded best', color: '--arm-0', values: fresh },
        { ...line, label: 'true mean of the best policy', color: '--good', isDashed: true, values: best },
      ],
    },
    html`The gap between the first two lines is luck. The dashed line is what a search without noise would have kept.`,
  );
}
