/** Tables and terminal output of an evaluation. */
import { styleText } from 'node:util';
import {
  formatReturn,
  formatShare,
  formatSigned,
  type NumberFormat,
  plural,
} from '../../src/base/text/numbers.js';
import { type Column, estimate, number, terminalTable, text } from '../../src/base/text/table.js';
import { fitted } from '../../src/base/text/width.js';
import type { PairedComparison } from '../../src/statistics/paired.js';
import type { Verdict } from '../../src/statistics/tests.js';
import {
  manyRuns,
  pText,
  verdictCell,
  verdictRule,
  verdictSentence,
} from '../../src/studies/comparison/words.js';
import {
  type ArmComparison,
  type ArmSummaries,
  type Evaluation,
  type ExperimentResult,
  type Familiarity,
  type GroupResult,
  testedIn,
} from './evaluation.js';

interface ComparedIn {
  readonly where: string;
  readonly comparison: ArmComparison;
}

/** The comparisons in each experiment, then in each group if there are several experiments. */
export function comparedIn({ experiments, groups }: Evaluation): readonly ComparedIn[] {
  const pooled = experiments.length > 1 ? groups : [];
  return [
    ...experiments.map((experiment) => ({ where: experimentTitle(experiment), ...experiment })),
    ...pooled.map((group) => ({ where: groupTitles[group.group], ...group })),
  ].flatMap(({ where, comparisons }) => comparisons.map((comparison) => ({ where, comparison })));
}

const groupTitles = {
  all: 'all, normalised',
  trained: 'training, normalised',
  transfer: 'transfer, normalised',
} as const;

export const experimentTitle = ({ name, familiarity }: ExperimentResult) =>
  `${name}${familiarity === 'transfer' ? ' (transfer)' : ''}`;

const confirmedOf = ({ comparison }: ComparedIn) => comparison.metrics.confirmed;

function confirmedEstimate(
  title: string,
  value: 'difference' | 'iqmDifference' | 'winRate',
  interval: 'interval' | 'iqmInterval' | 'winInterval',
  format: NumberFormat,
): Column<ComparedIn> {
  const cell = (found: PairedComparison | null) =>
    found && { value: found[value], interval: found[interval] };
  return estimate(title, (row) => cell(confirmedOf(row)), { format });
}

export const differenceColumns: readonly Column<ComparedIn>[] = [
  text('in', ({ where }) => where, { grouped: true }),
  text('difference', ({ comparison: { of, against } }) => `${of} − ${against}`),
  number('pairs', (row) => confirmedOf(row)?.pairs ?? 0),
  confirmedEstimate('return', 'difference', 'interval', formatSigned),
  confirmedEstimate('IQM', 'iqmDifference', 'iqmInterval', formatSigned),
  confirmedEstimate('wins', 'winRate', 'winInterval', formatShare),
  number('p (Holm)', (row) => confirmedOf(row)?.adjusted, { format: pText }),
  text('verdict', (row) => {
    const found = confirmedOf(row);
    return found && verdictCell({ verdict: found.verdict, test: 'paired' });
  }),
];

interface ArmIn {
  readonly experiment: ExperimentResult;
  readonly arm: string;
  readonly summaries: ArmSummaries;
}

const shareColumn = (title: string, metric: 'improvementRate' | 'validFirst' | 'valid'): Column<ArmIn> =>
  number(title, ({ summaries }) => summaries[metric]?.mean, { format: formatShare });

const armColumns: readonly Column<ArmIn>[] = [
  text('experiment', ({ experiment }) => experimentTitle(experiment), { grouped: true }),
  text('model', ({ arm }) => arm),
  number('runs', ({ summaries }) => summaries.confirmed?.count ?? 0),
  estimate(
    'confirmed',
    ({ summaries: { confirmed } }) =>
      confirmed && { value: confirmed.mean, interval: confirmed.meanInterval },
  ),
  number('IQM', ({ summaries }) => summaries.confirmed?.iqm, { format: formatReturn }),
  shareColumn('improving', 'improvementRate'),
  shareColumn('valid at first', 'validFirst'),
  shareColumn('valid', 'valid'),
];

export function evaluationTables(evaluation: Evaluation, width?: number): string {
  const { arms, experiments, failures, trainedOn } = evaluation;
  const blocks: string[] = [];
  if (experiments.length > 0) {
    blocks.push(
      terminalTable(
        experiments.flatMap((experiment) =>
          arms.map(({ name }) => ({ experiment, arm: name, summaries: experiment.arms[name]! })),
        ),
        armColumns,
        width,
      ),
      terminalTable(comparedIn(evaluation), differenceColumns, width),
    );
    const pooled =
      'normalised: 0 is the lowest and 1 the highest confirmed return in each experiment; each seed counts once; verdicts are corrected for multiple comparisons within the normalised rows';
    const notes = [...(experiments.length > 1 ? [pooled] : []), ...verdictRule(testedIn(experiments))];
    if (notes.length > 0) blocks.push(styleText('dim', notes.join('\n')));
  }
  for (const { arm, run, message } of failures) {
    blocks.push(`${styleText('red', 'failed')} ${arm} (${run}): ${message}`);
  }
  for (const text of cautions(evaluation)) blocks.push(`${styleText('yellow', 'note')} ${text}`);
  if (trainedOn.kind === 'unknown') blocks.push(`training environments unknown: ${trainedOn.reason}`);
  for (const [i, { scope, text }] of conclusions(evaluation).entries()) {
    blocks.push(`${i === 0 ? styleText('bold', text) : text}\n${styleText('dim', `  (${scope})`)}`);
  }
  return fitted(blocks.join('\n\n'), width);
}

export interface Conclusion {
  readonly scope: string;
  readonly verdict: Verdict | 'nothing';
  readonly text: string;
}

/** The main conclusion and, with several experiments, one each for trained and for new environments. */
export function conclusions({ experiments, groups }: Evaluation): readonly Conclusion[] {
  const [only] = experiments;
  const all = groups.find(({ group }) => group === 'all');
  if (only === undefined || all === undefined) {
    return [{ scope: 'all', verdict: 'nothing', text: 'No runs yet.' }];
  }
  if (experiments.length === 1) {
    const scope = `${only.environment}${familiarityText[only.familiarity]}`;
    return [conclude(scope, onReturns(only.comparisons), 'confirmed return')];
  }
  const parts = groups.filter(({ group }) => group !== 'all');
  return [all, ...parts].map((group) =>
    conclude(scopes[group.group](group), onReturns(group.comparisons), 'normalised confirmed return'),
  );
}

const familiarityText: Readonly<Record<Familiarity, string>> = {
  trained: ', a training environment',
  transfer: ', a new environment',
  unknown: '',
};

const scopes: Readonly<Record<GroupResult['group'], (group: GroupResult) => string>> = {
  all: ({ experiments }) => `all ${plural(experiments.length, 'experiment')}`,
  trained: ({ experiments }) => `training environments (${plural(experiments.length, 'experiment')})`,
  transfer: ({ experiments }) => `transfer to new environments (${plural(experiments.length, 'experiment')})`,
};

/** Reasons to be careful with the comparison, by model. */
export function cautions({ arms, runs }: Evaluation): readonly string[] {
  return arms.flatMap(({ name }) => {
    const complete = runs.flatMap(({ arm, figures }) =>
      arm === name && figures?.isOver === true ? [figures] : [],
    );
    const early = complete.filter(({ stoppedEarly }) => stoppedEarly);
    const without = complete.filter(({ confirmed }) => confirmed === null);
    const proposals = complete.reduce((sum, figures) => sum + figures.proposals, 0);
    const lost = proposals - complete.reduce((sum, figures) => sum + figures.answered, 0);
    const of = `of its ${plural(complete.length, 'run')}`;
    const reasons = [...new Set(early.map(({ reason }) => reason))].join('; ');
    const counted: readonly [number, string][] = [
      [early.length, `${of} ended before the last iteration (${reasons}), so budgets differ`],
      [without.length, `${of} found no policy to confirm; pairs with such runs are excluded`],
      [lost, `of its ${proposals} proposals got no answer because calls failed`],
    ];
    return counted.flatMap(([count, what]) => (count === 0 ? [] : [`${name}: ${count} ${what}`]));
  });
}

/** The comparison of confirmed returns between the tuned model and the base. */
export const onReturns = (comparisons: GroupResult['comparisons']) =>
  comparisons.find(({ of, against }) => of === 'tuned' && against === 'base')?.metrics.confirmed ?? null;

function conclude(scope: string, comparison: PairedComparison | null, quantity: string): Conclusion {
  if (comparison === null) {
    return {
      scope,
      verdict: 'nothing',
      text: 'Nothing to compare yet: no pair of runs has confirmed returns.',
    };
  }
  const { pairs, verdict } = comparison;
  const tested = { ...comparison, of: 'tuned', against: 'base', test: 'paired', counts: [pairs] } as const;
  const more = verdict === 'too-few' ? ` Add runs with --repeats ${manyRuns}.` : '';
  return { scope, verdict, text: `${verdictSentence(tested, quantity)}${more}` };
}
