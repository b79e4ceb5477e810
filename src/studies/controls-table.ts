/** The table of baselines for the terminal, as Markdown and as CSV. */
import { styleText } from 'node:util';
import { differenceColumns } from '../comparison/table.js';
import { verdictRule } from '../comparison/words.js';
import { formatCount, plural } from '../format/numbers.js';
import {
  type Column,
  csvTable,
  estimate,
  forMachines,
  markdownTable,
  number,
  terminalTable,
  text,
} from '../format/table.js';
import { findBaseline } from '../search/baselines.js';
import type { BaselineRow, BaselinesResult, Budget } from './baselines-result.js';

/** @param width see `CommandContext` */
export const baselinesOnTerminal = (result: BaselinesResult, width?: number): string =>
  [
    terminalTable(result.rows, columns(result), width),
    ...differences(result, width),
    budgetText(result),
  ].join('\n\n');

/** The tested differences; empty if there are too few repeats for any verdict. */
function differences({ differences }: BaselinesResult, width: number | undefined): readonly string[] {
  const tested = differences.filter(({ p }) => p !== null).length;
  if (tested === 0) return [];
  const rows = differences.map((difference) => {
    const of = `${difference.experiment}: ${difference.of}`;
    return { ...difference, of, test: 'paired', counts: [difference.pairs] } as const;
  });
  return [terminalTable(rows, differenceColumns, width), styleText('dim', verdictRule(tested).join('\n'))];
}

/** The table, followed by its budget and seeds. */
export const baselinesMarkdown = (result: BaselinesResult): string =>
  `${markdownTable(result.rows, columns(result))}\n\n${budgetText(result)}\n`;

export const baselinesCsv = (result: BaselinesResult): string => csvTable(result.rows, columns(result));

function columns({ budget, seeds, date, policyloop }: BaselinesResult): readonly Column<BaselineRow>[] {
  const code = (text: string | null) => text && { text, code: true };
  return [
    text('task', ({ experiment }) => code(experiment), { name: 'task', grouped: true }),
    text('environment', ({ environment }) => code(environment), { name: 'environment', grouped: true }),
    number('parameters', ({ parameters }) => parameters, { name: 'parameters' }),
    text('control', ({ control }) => findBaseline(control)?.label ?? control),
    forMachines('control', ({ control }) => control),
    number('runs', ({ runs }) => runs, { name: 'runs' }),
    estimate(
      'mean',
      ({ confirmed }) => confirmed && { value: confirmed.mean, interval: confirmed.meanInterval },
      { name: 'mean' },
    ),
    estimate(
      'IQM',
      ({ confirmed }) => confirmed && { value: confirmed.iqm, interval: confirmed.iqmInterval },
      { name: 'iqm' },
    ),
    number('evaluations', ({ evaluations }) => evaluations, { name: 'evaluations', format: formatCount }),
    forMachines('iterations', () => budget.iterations),
    forMachines('candidates', () => budget.candidates),
    forMachines('episodes', () => budget.episodes),
    forMachines('seeds', () => seeds.join(' ')),
    forMachines('date', () => date),
    forMachines('policyloop', () => policyloop),
  ];
}

function budgetText({ budget, seeds, date, policyloop, status }: BaselinesResult): string {
  const missing = status === 'completed' ? '' : ' Not all runs are complete.';
  return `Confirmed returns, on seeds that chose nothing, over ${plural(seeds.length, 'repeat')}. Budget: ${budgetWords(budget)}. Seeds: ${seeds.join(', ')}. policyloop ${policyloop}, ${date.slice(0, 10)}.${missing}`;
}

const budgetWords = ({ iterations, candidates, episodes }: Budget) =>
  `${iterations} iterations${candidates > 1 ? ` × ${candidates} candidates` : ''} after the warm-up, ${plural(episodes, 'episode')} an evaluation`;
