/** An evaluation as a person reads it on a terminal. */
import { styleText } from 'node:util';
import { ends, pText, signed, verdictRule, verdictText } from '../../src/comparison/words.js';
import { formatReturn } from '../../src/format/numbers.js';
import { formatTable } from '../../src/format/table.js';
import type { PairedComparison, Summary } from '../../src/statistics/paired.js';
import { cautions, conclusions } from './conclusion.js';
import {
  type ArmSummaries,
  type Evaluation,
  type ExperimentResult,
  type GroupResult,
  testedIn,
} from './evaluate.js';

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
        [
          'difference',
          'in',
          'pairs',
          'return',
          '95 % interval',
          'IQM',
          '95 % interval',
          'wins',
          'p (Holm)',
          '',
        ],
        [
          ...experiments.flatMap((experiment) => comparisonRows(title(experiment), experiment.comparisons)),
          ...(experiments.length > 1
            ? groups.flatMap(({ group, comparisons }) => comparisonRows(groupTitles[group], comparisons))
            : []),
        ],
      ),
    );
    const pooled =
      'all, trained on, transfer: returns normalised, 0 the lowest and 1 the highest confirmed return of any run of an experiment; a seed counts once; their verdicts are corrected among themselves';
    const notes = [...(experiments.length > 1 ? [pooled] : []), ...verdictRule(testedIn(experiments))];
    if (notes.length > 0) blocks.push(styleText('dim', notes.join('\n')));
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
    ends(confirmed?.meanInterval ?? null),
    returnOf(confirmed, 'iqm'),
    share(improvementRate),
    share(validFirst),
    share(valid),
  ];
}

function comparisonRows(where: string, comparisons: GroupResult['comparisons']): string[][] {
  return comparisons.map(({ of, against, metrics: { confirmed } }) => [
    `${of} − ${against}`,
    where,
    String(confirmed?.pairs ?? 0),
    confirmed === null ? '–' : signed(confirmed.difference),
    ends(confirmed?.interval ?? null, signed),
    confirmed === null ? '–' : signed(confirmed.iqmDifference),
    ends(confirmed?.iqmInterval ?? null, signed),
    confirmed === null ? '–' : winsOf(confirmed),
    pText(confirmed?.adjusted ?? null),
    confirmed === null ? '–' : verdictText({ verdict: confirmed.verdict, test: 'paired' }),
  ]);
}

const winsOf = ({ winRate }: PairedComparison) => `${Math.round(100 * winRate)} %`;

const returnOf = (summary: Summary | null, which: 'mean' | 'iqm') =>
  summary === null ? '–' : formatReturn(summary[which]);

const share = (summary: Summary | null) => (summary === null ? '–' : `${(100 * summary.mean).toFixed(1)} %`);
