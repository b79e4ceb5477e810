/** An evaluation as a person reads it on a terminal. */
import { styleText } from 'node:util';
import { formatReturn } from '../../src/format/numbers.js';
import { formatTable } from '../../src/format/table.js';
import type { PairedComparison, Summary } from '../../src/statistics/paired.js';
import { cautions, conclusions, signed, verdictWords } from './conclusion.js';
import type { ArmSummaries, Evaluation, ExperimentResult, GroupResult } from './evaluate.js';

export function evaluationTables(evaluation: Evaluation): string {
  const { arms, experiments, failures, groups, trainedOn } = evaluation;
  const blocks: string[] = [];
  if (experiments.length > 0) {
    blocks.push(
      formatTable(
        [
          'experiment',
          'model',
          'runs',
          'confirmed',
          '95 % interval',
          'IQM',
          'improving',
          'valid at first',
          'valid',
        ],
        experiments.flatMap((experiment) =>
          arms.map(({ name }, i) => [
            i === 0 ? title(experiment) : '',
            name,
            ...armCells(experiment.arms[name]!),
          ]),
        ),
      ),
      formatTable(
        ['tuned −', 'in', 'pairs', 'return', '95 % interval', 'IQM', '95 % interval', 'wins', ''],
        [
          ...experiments.flatMap((experiment) => comparisonRows(title(experiment), experiment.comparisons)),
          ...(experiments.length > 1
            ? groups.flatMap(({ group, comparisons }) => comparisonRows(groupTitles[group], comparisons))
            : []),
        ],
      ),
    );
    if (experiments.length > 1) {
      blocks.push(
        styleText(
          'dim',
          'all, trained on, transfer: returns normalised, 0 the lowest and 1 the highest confirmed return of any run of an experiment; a seed counts once',
        ),
      );
    }
  }
  for (const { arm, run, message } of failures) {
    blocks.push(`${styleText('red', 'failed')} ${arm} (${run}): ${message}`);
  }
  for (const text of cautions(evaluation)) blocks.push(`${styleText('yellow', 'note')} ${text}`);
  if (trainedOn.kind === 'unknown') blocks.push(`transfer can't be told apart: ${trainedOn.reason}`);
  for (const [i, { scope, text }] of conclusions(evaluation).entries()) {
    blocks.push(`${i === 0 ? styleText('bold', text) : text}\n${styleText('dim', `  (${scope})`)}`);
  }
  return blocks.join('\n\n');
}

const groupTitles: Readonly<Record<GroupResult['group'], string>> = {
  all: 'all',
  trained: 'trained on',
  transfer: 'transfer',
};

const title = ({ name, familiarity }: ExperimentResult) =>
  `${name}${familiarity === 'transfer' ? ' (transfer)' : ''}`;

function armCells({ confirmed, improvementRate, validFirst, valid }: ArmSummaries): string[] {
  return [
    String(confirmed?.count ?? 0),
    returnOf(confirmed, 'mean'),
    interval(confirmed?.meanInterval ?? null, formatReturn),
    returnOf(confirmed, 'iqm'),
    share(improvementRate),
    share(validFirst),
    share(valid),
  ];
}

function comparisonRows(where: string, comparisons: GroupResult['comparisons']): string[][] {
  return comparisons.map(({ against, metrics: { confirmed } }) => [
    against,
    where,
    String(confirmed?.pairs ?? 0),
    confirmed === null ? '–' : signed(confirmed.difference),
    interval(confirmed?.interval ?? null, signed),
    confirmed === null ? '–' : signed(confirmed.iqmDifference),
    interval(confirmed?.iqmInterval ?? null, signed),
    confirmed === null ? '–' : winsOf(confirmed),
    confirmed === null ? '–' : verdictWords[confirmed.verdict],
  ]);
}

const winsOf = ({ winRate }: PairedComparison) => `${Math.round(100 * winRate)} %`;

const returnOf = (summary: Summary | null, which: 'mean' | 'iqm') =>
  summary === null ? '–' : formatReturn(summary[which]);

const interval = (ends: readonly [number, number] | null, format: (value: number) => string) =>
  ends === null ? '–' : `${format(ends[0])} … ${format(ends[1])}`;

const share = (summary: Summary | null) => (summary === null ? '–' : `${(100 * summary.mean).toFixed(1)} %`);
