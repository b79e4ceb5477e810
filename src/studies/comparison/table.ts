/** The tables of a comparison, for the terminal and in other formats. */

import { styleText } from 'node:util';
import { append } from '../../base/append.js';
import {
  formatCompact,
  formatCost,
  formatReturn,
  formatShare,
  formatSigned,
  plural,
} from '../../base/text/numbers.js';
import {
  type Column,
  csvColumn,
  csvTable,
  estimate,
  number,
  tableFormats,
  terminalTable,
  text,
} from '../../base/text/table.js';
import { fitText } from '../../base/text/width.js';
import type { GroupDifference } from './comparability.js';
import type { GroupFigures, RunComparison, TaskComparison } from './run-comparison.js';
import { conclude, countText, glossary, iterationsText, pText, verdictCell, verdictRule } from './words.js';

type GroupRow = GroupFigures & { readonly task: TaskComparison };

export const groupRows = (task: TaskComparison): readonly GroupRow[] =>
  task.groups.map((group) => ({ ...group, task }));

export const groupColumn: Column<GroupRow> = text('group', ({ name }) => name, { name: 'group' });

export const confirmedColumns: readonly Column<GroupRow>[] = [
  number('runs', ({ runs }) => runs.length, { name: 'runs' }),
  csvColumn('seeds', ({ seeds }) => seeds.join(' ')),
  estimate('confirmed', ({ confirmed: c }) => c && { value: c.mean, interval: c.meanInterval }, {
    name: 'confirmed_mean',
  }),
  estimate('median', ({ confirmed: c }) => c && { value: c.median, interval: c.medianInterval }, {
    name: 'confirmed_median',
  }),
  estimate('IQM', ({ confirmed: c }) => c && { value: c.iqm, interval: c.iqmInterval }, {
    name: 'confirmed_iqm',
  }),
];

/** Returns the columns for effort. In CSV, all tasks have the same columns; other tables omit those without values. */
export function effortColumns({ groups }: Pick<TaskComparison, 'groups'>): readonly Column<GroupRow>[] {
  const hasTarget = groups.some(({ target }) => target !== null);
  const hasTokens = groups.some(({ tokens }) => tokens > 0);
  return [
    estimate('best so far, mean', ({ area }) => area && { value: area.mean, interval: area.meanInterval }, {
      name: 'observed_area',
    }),
    csvColumn('area_evaluations', ({ task }) => task.horizon),
    number(hasTarget && 'target', ({ target }) => target?.return, { name: 'target', format: formatReturn }),
    number(hasTarget && 'reached', ({ target }) => target && `${target.reached} of ${target.of}`),
    csvColumn('reached', ({ target }) => target?.reached),
    number(hasTarget && 'iterations to target', ({ target }) => target && iterationsText(target)),
    csvColumn('median_iterations', ({ target }) => target?.medianIterations),
    number(hasTarget && 'evaluations to target', ({ target }) => target?.medianEvaluations, {
      name: 'median_evaluations',
    }),
    csvColumn('censored_after', ({ target }) => target?.censoredAfter),
    number(hasTokens && 'tokens per run', ({ tokens }) => tokens, { name: 'tokens', format: formatCompact }),
    number(hasTokens && 'cost per run', ({ cost }) => cost, { name: 'cost', format: formatCost }),
  ];
}

/** @param quantity heading of the differences */
export const differenceColumnsOf = (quantity: string): readonly Column<GroupDifference>[] => [
  text('difference', ({ of, against }) => `${of} − ${against}`),
  number('over', countText),
  estimate(
    quantity,
    ({ difference, interval }) => (difference === null ? null : { value: difference, interval }),
    { format: formatSigned },
  ),
  number('wins', ({ winRate }) => winRate, { format: formatShare }),
  text('test', ({ test }) => ({ paired: 'paired', unpaired: 'unpaired', none: null })[test]),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text('verdict', verdictCell),
];

export const differenceColumns = differenceColumnsOf('confirmed');

/** Maximum number of left-out runs to list. */
const maxShownLeftOut = 10;

/** @param width see `CommandContext.columns` */
export function comparisonTables(comparison: RunComparison, width?: number): string {
  const { leftOut, tasks, tested } = comparison;
  const blocks = tasks.flatMap((task) => [
    `${styleText('bold', task.name)}  ${styleText('dim', `best so far: over the first ${plural(task.horizon, 'evaluation')}`)}`,
    terminalTable(groupRows(task), [groupColumn, ...confirmedColumns], width),
    terminalTable(groupRows(task), [groupColumn, ...effortColumns(task)], width),
    ...(task.differences.length === 0 ? [] : [terminalTable(task.differences, differenceColumns, width)]),
    ...task.pairings,
    ...task.cautions.map((text) => `${styleText('yellow', 'note')} ${text}`),
  ]);
  const isTimed = tasks.some(({ groups }) => groups.some(({ target }) => target !== null));
  blocks.push(
    styleText(
      'dim',
      [glossary.confirmed, glossary.area, ...(isTimed ? [glossary.target] : []), ...verdictRule(tested)].join(
        '\n',
      ),
    ),
  );
  append(blocks, leftOutText(leftOut));
  const conclusion = conclude(tasks);
  if (conclusion !== undefined) blocks.push(styleText('bold', conclusion));
  return fitText(blocks.join('\n\n'), width);
}

/** Lists the runs that were left out, with the reasons; empty if there are none. */
export function leftOutText(leftOut: RunComparison['leftOut']): readonly string[] {
  if (leftOut.length === 0) return [];
  const listed = leftOut.slice(0, maxShownLeftOut).map(({ run, reason }) => `  ${run}: ${reason}`);
  const moreCount = leftOut.length - listed.length;
  const lines = [`left out ${plural(leftOut.length, 'run')}:`, ...listed];
  return [[...lines, ...(moreCount > 0 ? [`  … and ${moreCount} more`] : [])].join('\n')];
}

/** Formats the groups of each task, and (except in CSV) their differences, for a paper or a spreadsheet. */
export function formatComparison(format: keyof typeof tableFormats, comparison: RunComparison): string {
  if (format === 'csv')
    return csvTable(comparison.tasks.flatMap(groupRows), [
      csvColumn('environment', ({ task }) => task.environment.id),
      csvColumn('options', ({ task }) => JSON.stringify(task.environment.options)),
      groupColumn,
      ...confirmedColumns,
      ...effortColumns({ groups: [] }),
      csvColumn('policyloop', () => comparison.policyloop),
    ]).trimEnd();
  const table = tableFormats[format];
  return comparison.tasks
    .flatMap((task) => [
      `${format === 'latex' ? '%' : '###'} ${task.name}`,
      table(groupRows(task), [groupColumn, ...confirmedColumns]),
      ...(task.differences.length === 0 ? [] : [table(task.differences, differenceColumns)]),
    ])
    .join('\n\n');
}
