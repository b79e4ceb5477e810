/** Tables and terminal output of an evaluation. */
import { styleText } from 'node:util';
import { formatShare, plural } from '../../src/base/text/numbers.js';
import { type Column, estimate, number, terminalTable, text } from '../../src/base/text/table.js';
import { fitText } from '../../src/base/text/width.js';
import { minForVerdict, type Verdict } from '../../src/statistics/tests.js';
import type { GroupDifference } from '../../src/studies/comparison/comparability.js';
import { differenceColumnsOf } from '../../src/studies/comparison/table.js';
import { enoughRuns, verdictRule, verdictSentence } from '../../src/studies/comparison/words.js';
import {
  type ArmSummaries,
  type Evaluation,
  type ExperimentResult,
  type Familiarity,
  type GroupResult,
  testCount,
} from './evaluation.js';

type LocatedDifference = GroupDifference & { readonly where: string };

/** The differences in each experiment, then in each group if there are several experiments. */
export function differencesIn({ experiments, groups }: Evaluation): readonly LocatedDifference[] {
  const pooledGroups = experiments.length > 1 ? groups : [];
  return [
    ...experiments.map((experiment) => ({ where: experimentTitle(experiment), ...experiment })),
    ...pooledGroups.map((group) => ({ where: groupTitles[group.group], ...group })),
  ].flatMap(({ where, differences }) => differences.map((difference) => ({ where, ...difference })));
}

const groupTitles = {
  all: 'all, normalised',
  trained: 'training, normalised',
  transfer: 'transfer, normalised',
} as const;

export const experimentTitle = ({ name, familiarity }: ExperimentResult) =>
  `${name}${familiarity === 'transfer' ? ' (transfer)' : ''}`;

export const differenceColumns: readonly Column<LocatedDifference>[] = [
  text('experiment', ({ where }) => where, { grouped: true }),
  ...differenceColumnsOf('confirmed'),
];

interface ArmRow {
  readonly experiment: ExperimentResult;
  readonly arm: string;
  readonly summaries: ArmSummaries;
}

export const armRows = ({ arms }: Evaluation, experiment: ExperimentResult): readonly ArmRow[] =>
  arms.map(({ name }) => ({ experiment, arm: name, summaries: experiment.arms[name]! }));

const estimateOf = (title: string, metric: keyof ArmSummaries, format?: typeof formatShare): Column<ArmRow> =>
  estimate(
    title,
    ({ summaries: { [metric]: found } }) => found && { value: found.mean, interval: found.meanInterval },
    format && { format },
  );

export const armColumns: readonly Column<ArmRow>[] = [
  text('model', ({ arm }) => arm),
  number('runs', ({ summaries }) => summaries.confirmed?.count ?? 0),
  estimateOf('confirmed', 'confirmed'),
  estimateOf('improvement rate', 'improvementRate', formatShare),
  estimateOf('first reply valid', 'validFirst', formatShare),
  estimateOf('valid', 'valid', formatShare),
];

export function evaluationTables(evaluation: Evaluation, width?: number): string {
  const { experiments, failures, trainedOn } = evaluation;
  const blocks: string[] = [];
  if (experiments.length > 0) {
    const rows = experiments.flatMap((experiment) => armRows(evaluation, experiment));
    const titleOf = ({ experiment }: (typeof rows)[number]) => experimentTitle(experiment);
    const columns = [text('experiment', titleOf, { grouped: true }), ...armColumns];
    blocks.push(terminalTable(rows, columns, width));
    blocks.push(terminalTable(differencesIn(evaluation), differenceColumns, width));
    const pooledNote =
      'normalised: 0 is the lowest and 1 the highest confirmed return in each experiment; each seed counts once; verdicts are corrected for multiple comparisons within the normalised rows';
    const notes = [...(experiments.length > 1 ? [pooledNote] : []), ...verdictRule(testCount(experiments))];
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
  return fitText(blocks.join('\n\n'), width);
}

interface Conclusion {
  readonly scope: string;
  readonly verdict: Verdict | 'nothing';
  readonly text: string;
}

/** The main conclusion and, with several experiments, one each for trained and for new environments. */
export function conclusions({ experiments, groups }: Evaluation): readonly Conclusion[] {
  const [experiment] = experiments;
  const overall = groups.find(({ group }) => group === 'all');
  if (experiment === undefined || overall === undefined) {
    return [{ scope: 'all', verdict: 'nothing', text: 'No runs yet.' }];
  }
  if (experiments.length === 1) {
    const scope = `${experiment.environment}${familiarityTexts[experiment.familiarity]}`;
    return [conclude(scope, mainDifference(experiment), 'confirmed return')];
  }
  const parts = groups.filter(({ group }) => group !== 'all');
  return [overall, ...parts].map((group) =>
    conclude(scopeTexts[group.group](group), mainDifference(group), 'normalised confirmed return'),
  );
}

export const familiarityTexts: Readonly<Record<Familiarity, string>> = {
  trained: ', a training environment',
  transfer: ', a new environment',
  unknown: '',
};

const scopeTexts: Readonly<Record<GroupResult['group'], (group: GroupResult) => string>> = {
  all: ({ experiments }) => `all ${plural(experiments.length, 'experiment')}`,
  trained: ({ experiments }) => `training environments (${plural(experiments.length, 'experiment')})`,
  transfer: ({ experiments }) => `transfer to new environments (${plural(experiments.length, 'experiment')})`,
};

/** Reasons to be careful with the comparison, arm by arm. */
export function cautions({ arms, runs }: Evaluation): readonly string[] {
  return arms.flatMap(({ name }) => {
    const finished = runs.flatMap(({ arm, figures }) =>
      arm === name && figures?.isOver === true ? [figures] : [],
    );
    const cutShort = finished.filter(({ stoppedEarly }) => stoppedEarly);
    const unconfirmed = finished.filter(({ confirmed }) => confirmed === null);
    const proposalCount = finished.reduce((sum, figures) => sum + figures.proposals, 0);
    const unansweredCount = proposalCount - finished.reduce((sum, figures) => sum + figures.answered, 0);
    const of = `of its ${plural(finished.length, 'run')}`;
    const reasons = [...new Set(cutShort.map(({ reason }) => reason))].join('; ');
    const warnings: readonly [number, string][] = [
      [cutShort.length, `${of} ended before the last iteration (${reasons}), so budgets differ`],
      [unconfirmed.length, `${of} failed; a failed run gets the lowest confirmed return of its experiment`],
      [unansweredCount, `of its ${proposalCount} proposals got no reply because calls failed`],
    ];
    return warnings.flatMap(([count, problem]) => (count === 0 ? [] : [`${name}: ${count} ${problem}`]));
  });
}

export const mainDifference = ({ differences }: Pick<GroupResult, 'differences'>) =>
  differences.find(({ of, against }) => of === 'tuned' && against === 'base');

function conclude(scope: string, found: GroupDifference | undefined, quantity: string): Conclusion {
  const { difference = null, reason, verdict = 'not-comparable' } = found ?? {};
  if (reason !== undefined) return { scope, verdict: 'nothing', text: `There is no verdict: ${reason}.` };
  const nothingText = 'Nothing to compare yet: no pair of runs has confirmed returns.';
  if (found === undefined || difference === null || verdict === 'not-comparable')
    return { scope, verdict: 'nothing', text: nothingText };
  const repeats = found.counts[0]! < minForVerdict ? enoughRuns : 2 * enoughRuns;
  const advice = verdict === 'too-few' ? ` Add runs with --repeats ${repeats}.` : '';
  return { scope, verdict, text: `${verdictSentence({ ...found, difference, verdict }, quantity)}${advice}` };
}
