/** The tables of a comparison of models, for the terminal and the page. */
import { styleText } from 'node:util';
import { pText, verdictChips, verdictRule, verdictText } from '../../comparison/words.js';
import {
  formatCompact,
  formatCost,
  formatNumber,
  formatReturn,
  formatSigned,
  plural,
  signed,
} from '../../format/numbers.js';
import { type Column, estimate, number, terminalTable, text } from '../../format/table.js';
import { fewestForVerdict } from '../../statistics/tests.js';
import type { ContestantFigures, ModelDifference, ModelsResult, Share } from './models-result.js';

/** Whole percents: intervals from a few histories are too wide for decimals to matter. */
export const formatPercent = (share: number): string => `${Math.round(100 * share)} %`;

type Columns = readonly Column<ContestantFigures>[];

const ofText = (count: number, of: number) => (of === 0 ? '' : `${count} of ${of}`);
const shareText = ({ count, of }: Share) => ofText(count, of);

export const nameColumn: Column<ContestantFigures> = text('model', ({ kind, label }) => ({
  text: label,
  detail: kind === 'baseline' ? 'baseline' : undefined,
}));

export const replyColumns: Columns = [
  number('valid at once', ({ histories, valid }) => ofText(valid.first, histories)),
  number('corrected', ({ histories, valid }) => (histories === 0 ? '' : String(valid.corrected))),
  number('repeats', ({ repeats, replies }) => (replies === 0 ? '' : `${repeats} of ${replies}`)),
];

/** One column per kind of history if there are both recorded and random ones. */
export const improvementColumns = ({ histories }: Pick<ModelsResult, 'histories'>): Columns => {
  const isMixed = new Set(histories.map(({ kind }) => kind)).size > 1;
  return [
    number('improvements', ({ improved }) => shareText(improved)),
    estimate(
      'share',
      ({ improved: { count, interval, of } }) => (of === 0 ? null : { value: count / of, interval }),
      { format: formatPercent },
    ),
    number(isMixed && 'random', ({ improvedBy }) => shareText(improvedBy.random)),
    number(isMixed && 'recorded', ({ improvedBy }) => shareText(improvedBy.recorded)),
    estimate('policies beaten', ({ beats }) => beats && { value: beats.mean, interval: beats.interval }, {
      format: formatPercent,
    }),
  ];
};

const secondsText = (seconds: number) => (seconds < 0.01 ? '< 0.01' : formatNumber(seconds, 2));

export function effortColumns(contestants: readonly ContestantFigures[]): Columns {
  const isTold = contestants.some(({ promptTokens }) => (promptTokens ?? 0) > 0);
  const isPriced = contestants.some(({ cost }) => cost !== null);
  return [
    number('seconds', ({ seconds }) => seconds, { format: secondsText }),
    number(isTold && 'tokens in', ({ promptTokens }) => promptTokens, { format: formatCompact }),
    number(isTold && 'tokens out', ({ completionTokens }) => completionTokens, { format: formatCompact }),
    number(isPriced && 'cost', ({ cost }) => cost, { format: formatCost }),
    number(isPriced && 'cost per improvement', (row) => row.costPerImprovement, { format: formatCost }),
  ];
}

export const predictionColumns: Columns = [
  nameColumn,
  number('predictions', ({ predictions }) => predictions?.count),
  number('bias', ({ predictions }) => predictions?.bias, { format: formatSigned }),
  number('mean error', ({ predictions }) => predictions?.error, { format: formatReturn }),
  number('correlation', ({ predictions }) => predictions?.correlation, {
    format: (value) => formatNumber(value, 2),
  }),
];

/** Differences of shares, in percentage points. */
const formatPoints = (value: number): string => signed(formatNumber)(Math.round(100 * value));

export const differenceColumns: readonly Column<ModelDifference>[] = [
  text('model', ({ of }) => of, { grouped: true }),
  text('against', ({ against }) => against),
  estimate('points', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatPoints,
  }),
  number('histories', ({ pairs }) => pairs),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text('', ({ verdict }) => ({
    text: verdict === 'too-few' ? 'too few' : verdictText({ verdict, test: 'paired', reason: '' }),
    mark: `chip ${verdictChips[verdict]}`,
  })),
];

export const predicting = ({ contestants }: ModelsResult) =>
  contestants.filter(({ predictions }) => predictions !== null);

const testedIn = ({ differences }: ModelsResult): number => differences.filter(({ p }) => p !== null).length;

/** A sentence that says which models improve more often than every baseline; undefined without baselines. */
export function conclusionOf({ contestants, differences }: ModelsResult): string | undefined {
  const named = (wanted: ContestantFigures['kind']) =>
    contestants.filter(({ kind }) => kind === wanted).map(({ label }) => label);
  const [models, baselines] = [named('model'), named('baseline')];
  const found = differences.filter(({ against }) => baselines.includes(against));
  if (found.length === 0) return undefined;
  const all = baselines.length === 1 ? baselines[0]! : 'every baseline';
  if (found.every(({ verdict }) => verdict === 'too-few'))
    return `Too few histories for a verdict, which takes ${fewestForVerdict}: --histories adds some.`;
  const winners = models.filter((model) => {
    const own = found.filter(({ of }) => of === model);
    return own.length === baselines.length && own.every(({ verdict }) => verdict === 'higher');
  });
  return winners.length === 0
    ? `No evidence that a model improves more often than ${all}.`
    : `${winners.join(', ')} ${winners.length === 1 ? 'improves' : 'improve'} more often than ${all}.`;
}

export const readingOf = (result: ModelsResult): readonly string[] => [
  'improvements: proposals that return more than the best policy of their history; a history without a valid proposal counts as no improvement. Intervals are exact (Clopper and Pearson)',
  'policies beaten: the mean share of the history’s policies that a proposal beats; a random policy beats half of a random history',
  'seconds, tokens: means of a history, corrections included',
  ...verdictRule(testedIn(result)),
];

/** Example: `one proposal from each of 20 histories of CartPole-v1`. */
export const askedText = ({ environment, histories }: ModelsResult): string =>
  `one proposal from ${histories.length === 1 ? 'one history' : `each of ${histories.length} histories`} of ${environment}`;

/** @param width see `CommandContext` */
export function modelsOnTerminal(result: ModelsResult, width?: number): string {
  const { contestants, differences, histories } = result;
  const columns = [nameColumn, ...replyColumns, ...improvementColumns(result), ...effortColumns(contestants)];
  const predictions = predicting(result);
  const conclusion = conclusionOf(result);
  return [
    `${result.name}: ${askedText(result)}`,
    terminalTable(contestants, columns, width),
    ...(predictions.length === 0 ? [] : [terminalTable(predictions, predictionColumns, width)]),
    ...(differences.length === 0
      ? []
      : [
          styleText('bold', 'Share of improving proposals: differences'),
          terminalTable(differences, differenceColumns, width),
        ]),
    styleText('dim', readingOf(result).join('\n')),
    ...(conclusion === undefined ? [] : [conclusion]),
    ...(result.status === 'completed'
      ? []
      : [`${plural(result.proposals.length, 'answer')} of ${contestants.length * histories.length} so far.`]),
  ].join('\n\n');
}
