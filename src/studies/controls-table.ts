/** The table of controls: on a terminal, as Markdown, as CSV. */

import { csvText } from '../format/csv.js';
import { formatReturn } from '../format/numbers.js';
import { formatTable } from '../format/table.js';
import { findControl } from '../search/controls.js';
import type { Interval } from '../statistics/bootstrap.js';
import type { Budget, ControlRow, ControlsResult } from './controls-result.js';

const columns = [
  'task',
  'environment',
  'parameters',
  'control',
  'runs',
  'mean',
  '95 % interval',
  'IQM',
  '95 % interval',
  'evaluations',
] as const;

export function terminalTable(result: ControlsResult): string {
  const rows = result.rows.map((row, i) => {
    const repeated = result.rows[i - 1]?.experiment === row.experiment;
    const task = repeated ? ['', ''] : [row.experiment, row.environment ?? '–'];
    return [...task, parametersOf(row), row.control, ...figures(row)];
  });
  return `${formatTable(columns, rows)}\n\n${budgetText(result)}`;
}

/** A table as documents have it, with what it is of below. */
export function markdownTable(result: ControlsResult): string {
  const line = (texts: readonly string[]) => `| ${texts.join(' | ')} |`;
  const rule = columns.map((column) => (texts.has(column) ? '---' : '--:'));
  const rows = result.rows.map((row) =>
    line([
      `\`${row.experiment}\``,
      row.environment === null ? '–' : `\`${row.environment}\``,
      parametersOf(row),
      findControl(row.control)?.label ?? row.control,
      ...figures(row).map((text) => text.replaceAll('-', '−')),
    ]),
  );
  return [line(columns), line(rule), ...rows, '', budgetText(result), ''].join('\n');
}

const texts: ReadonlySet<string> = new Set(['task', 'environment', 'control']);

/** Numbers as they are, an empty cell for what there is not. */
export function csvTable({ rows, budget, seeds, date, policyloop }: ControlsResult): string {
  const header = [
    'task',
    'environment',
    'parameters',
    'control',
    'runs',
    'mean',
    'mean_low',
    'mean_high',
    'iqm',
    'iqm_low',
    'iqm_high',
    'evaluations',
    'iterations',
    'candidates',
    'episodes',
    'seeds',
    'date',
    'policyloop',
  ];
  const lines = rows.map(({ experiment, environment, parameters, control, runs, confirmed, evaluations }) => [
    experiment,
    environment,
    parameters,
    control,
    runs,
    confirmed?.mean,
    ...(confirmed?.meanInterval ?? [null, null]),
    confirmed?.iqm,
    ...(confirmed?.iqmInterval ?? [null, null]),
    evaluations,
    budget.iterations,
    budget.candidates,
    budget.episodes,
    seeds.join(' '),
    date,
    policyloop,
  ]);
  return csvText([header, ...lines]);
}

const parametersOf = ({ parameters }: ControlRow) => (parameters === null ? '–' : String(parameters));

function figures({ confirmed, evaluations, runs }: ControlRow): readonly string[] {
  return [
    String(runs),
    confirmed === null ? '–' : formatReturn(confirmed.mean),
    interval(confirmed?.meanInterval ?? null),
    confirmed === null ? '–' : formatReturn(confirmed.iqm),
    interval(confirmed?.iqmInterval ?? null),
    evaluations === null ? '–' : String(Math.round(evaluations)),
  ];
}

const interval = (ends: Interval | null) =>
  ends === null ? '–' : `${formatReturn(ends[0])} … ${formatReturn(ends[1])}`;

function budgetText({ budget, seeds, date, policyloop, status }: ControlsResult): string {
  const missing = status === 'completed' ? '' : ' Not all runs are complete.';
  return `Confirmed returns, on seeds that chose nothing, over ${seeds.length} ${seeds.length === 1 ? 'repeat' : 'repeats'}. Budget: ${budgetWords(budget)}. Seeds: ${seeds.join(', ')}. policyloop ${policyloop}, ${date.slice(0, 10)}.${missing}`;
}

const budgetWords = ({ iterations, candidates, episodes }: Budget) =>
  `${iterations} iterations${candidates > 1 ? ` × ${candidates} candidates` : ''} after the warm-up, ${episodes} ${episodes === 1 ? 'episode' : 'episodes'} an evaluation`;
