/** The table of controls: on a terminal, as Markdown, as CSV. */
import { styleText } from 'node:util';
import { differenceTable } from '../comparison/table.js';
import { verdictRule } from '../comparison/words.js';
import { formatCount, formatReturn, plural } from '../format/numbers.js';
import { type Column, csvTable, markdownTable, terminalTable } from '../format/table.js';
import { findControl } from '../search/controls.js';
import type { Budget, ControlRow, ControlsResult } from './controls-result.js';

export const controlsOnTerminal = (result: ControlsResult): string =>
  [terminalTable(columns(result), result.rows), ...differences(result), budgetText(result)].join('\n\n');

/** Nothing of so few repeats that none has a verdict. */
function differences({ differences }: ControlsResult): readonly string[] {
  const tested = differences.filter(({ p }) => p !== null).length;
  if (tested === 0) return [];
  const rows = differences.map((difference) => {
    const of = `${difference.experiment}: ${difference.of}`;
    return { ...difference, of, test: 'paired', counts: [difference.pairs] } as const;
  });
  return [differenceTable(rows), styleText('dim', verdictRule(tested).join('\n'))];
}

/** With what it is of below. */
export const controlsMarkdown = (result: ControlsResult): string =>
  `${markdownTable(columns(result), result.rows)}\n\n${budgetText(result)}\n`;

export const controlsCsv = (result: ControlsResult): string => csvTable(columns(result), result.rows);

function columns({ budget, seeds, date, policyloop }: ControlsResult): readonly Column<ControlRow>[] {
  const code = (text: string | null) => text && { text, code: true };
  return [
    { title: 'task', name: 'task', grouped: true, cell: ({ experiment }) => code(experiment) },
    {
      title: 'environment',
      name: 'environment',
      grouped: true,
      cell: ({ environment }) => code(environment),
    },
    { title: 'parameters', name: 'parameters', kind: 'number', cell: ({ parameters }) => parameters },
    { title: 'control', cell: ({ control }) => findControl(control)?.label ?? control },
    { name: 'control', cell: ({ control }) => control },
    { title: 'runs', name: 'runs', kind: 'number', cell: ({ runs }) => runs },
    {
      title: 'mean',
      name: 'mean',
      kind: 'estimate',
      format: formatReturn,
      cell: ({ confirmed }) => confirmed && { value: confirmed.mean, interval: confirmed.meanInterval },
    },
    {
      title: 'IQM',
      name: 'iqm',
      kind: 'estimate',
      format: formatReturn,
      cell: ({ confirmed }) => confirmed && { value: confirmed.iqm, interval: confirmed.iqmInterval },
    },
    {
      title: 'evaluations',
      name: 'evaluations',
      kind: 'number',
      format: formatCount,
      cell: ({ evaluations }) => evaluations,
    },
    { name: 'iterations', cell: () => budget.iterations },
    { name: 'candidates', cell: () => budget.candidates },
    { name: 'episodes', cell: () => budget.episodes },
    { name: 'seeds', cell: () => seeds.join(' ') },
    { name: 'date', cell: () => date },
    { name: 'policyloop', cell: () => policyloop },
  ];
}

function budgetText({ budget, seeds, date, policyloop, status }: ControlsResult): string {
  const missing = status === 'completed' ? '' : ' Not all runs are complete.';
  return `Confirmed returns, on seeds that chose nothing, over ${plural(seeds.length, 'repeat')}. Budget: ${budgetWords(budget)}. Seeds: ${seeds.join(', ')}. policyloop ${policyloop}, ${date.slice(0, 10)}.${missing}`;
}

const budgetWords = ({ iterations, candidates, episodes }: Budget) =>
  `${iterations} iterations${candidates > 1 ? ` × ${candidates} candidates` : ''} after the warm-up, ${plural(episodes, 'episode')} an evaluation`;
