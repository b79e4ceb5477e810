/** The page of a comparison of models: how often they improve, and their replies, effort and histories. */
import { styleText } from 'node:util';
import { pText, verdictCell, verdictRule } from '../../comparison/words.js';
import { type Html, html } from '../../format/html.js';
import {
  formatCompact,
  formatCost,
  formatNumber,
  formatReturn,
  formatSigned,
  plural,
  signed,
} from '../../format/numbers.js';
import { type Column, estimate, htmlTable, number, terminalTable, text } from '../../format/table.js';
import { fewestForVerdict } from '../../statistics/tests.js';
import { intervalRows } from '../../web/interval-rows.js';
import { type Page, sectionsOf } from '../../web/page.js';
import {
  failureList,
  howToRead,
  pageHeader,
  readingList,
  type Shown,
  verdictBox,
  writtenBy,
} from '../../web/study.js';
import type { ContestantFigures, ModelDifference, ModelsResult, Share } from './models-result.js';

/** Formats a share in whole percent: with few histories, intervals are too wide for decimals to matter. */
const formatPercent = (share: number): string => `${Math.round(100 * share)} %`;

type Columns = readonly Column<ContestantFigures>[];

const ofText = (count: number, of: number) => (of === 0 ? '' : `${count} of ${of}`);
const shareText = ({ count, of }: Share) => ofText(count, of);

const nameColumn: Column<ContestantFigures> = text('model', ({ kind, label }) => ({
  text: label,
  detail: kind === 'baseline' ? 'baseline' : undefined,
}));

const replyColumns: Columns = [
  number('valid at once', ({ histories, valid }) => ofText(valid.first, histories)),
  number('corrected', ({ histories, valid }) => (histories === 0 ? '' : String(valid.corrected))),
  number('repeats', ({ repeats, replies }) => (replies === 0 ? '' : `${repeats} of ${replies}`)),
];

/** Columns for improvements, with one per kind of history if both kinds are used. */
const improvementColumns = ({ histories }: Pick<ModelsResult, 'histories'>): Columns => {
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

function effortColumns(contestants: readonly ContestantFigures[]): Columns {
  const isReported = contestants.some(({ promptTokens }) => (promptTokens ?? 0) > 0);
  const isPriced = contestants.some(({ cost }) => cost !== null);
  return [
    number('seconds', ({ seconds }) => seconds, { format: secondsText }),
    number(isReported && 'tokens in', ({ promptTokens }) => promptTokens, { format: formatCompact }),
    number(isReported && 'tokens out', ({ completionTokens }) => completionTokens, { format: formatCompact }),
    number(isPriced && 'cost', ({ cost }) => cost, { format: formatCost }),
    number(isPriced && 'cost per improvement', (row) => row.costPerImprovement, { format: formatCost }),
  ];
}

const predictionColumns: Columns = [
  nameColumn,
  number('predictions', ({ predictions }) => predictions?.count),
  number('bias', ({ predictions }) => predictions?.bias, { format: formatSigned }),
  number('mean error', ({ predictions }) => predictions?.error, { format: formatReturn }),
  number('correlation', ({ predictions }) => predictions?.correlation, {
    format: (value) => formatNumber(value, 2),
  }),
];

/** Formats differences between shares in percentage points. */
const formatPoints = (value: number): string => signed(formatNumber)(Math.round(100 * value));

const differenceColumns: readonly Column<ModelDifference>[] = [
  text('model', ({ of }) => of, { grouped: true }),
  text('against', ({ against }) => against),
  estimate('points', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatPoints,
  }),
  number('histories', ({ pairs }) => pairs),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text('verdict', ({ verdict }) => verdictCell({ verdict })),
];

const predicting = ({ contestants }: ModelsResult) =>
  contestants.filter(({ predictions }) => predictions !== null);

const testedIn = ({ differences }: ModelsResult): number => differences.filter(({ p }) => p !== null).length;

/** Says which models improve more often than every baseline; undefined if none was compared with a baseline. */
function conclusionOf({ contestants, differences }: ModelsResult): string | undefined {
  const named = (wanted: ContestantFigures['kind']) =>
    contestants.filter(({ kind }) => kind === wanted).map(({ label }) => label);
  const [models, baselines] = [named('model'), named('baseline')];
  const found = differences.filter(({ against }) => baselines.includes(against));
  if (found.length === 0) return undefined;
  const all = baselines.length === 1 ? baselines[0]! : 'every baseline';
  if (found.every(({ verdict }) => verdict === 'too-few'))
    return `Too few histories for a verdict, which needs at least ${fewestForVerdict}: add some with --histories.`;
  const winners = models.filter((model) => {
    const own = found.filter(({ of }) => of === model);
    return own.length === baselines.length && own.every(({ verdict }) => verdict === 'higher');
  });
  return winners.length === 0
    ? `No evidence that a model improves more often than ${all}.`
    : `${new Intl.ListFormat('en-GB').format(winners)} ${winners.length === 1 ? 'improves' : 'improve'} more often than ${all}.`;
}

const readingOf = (result: ModelsResult): readonly string[] => [
  'improvements: proposals with a higher return than the best policy of their history; a history without a valid proposal counts as no improvement. Intervals are exact (Clopper and Pearson)',
  'policies beaten: the mean share of the history’s policies that a proposal beats; a random policy beats half of a random history on average',
  `seconds, tokens: means per history, including corrections${result.contestants.some(({ cost }) => cost !== null) ? '; cost: total over all histories' : ''}`,
  ...verdictRule(testedIn(result)),
];

/** Example: `one proposal from each of 20 histories of CartPole-v1`. */
const askedText = ({ environment, histories }: ModelsResult): string =>
  `one proposal from ${histories.length === 1 ? 'one history' : `each of ${histories.length} histories`} of ${environment}`;

/** @param width see `CommandContext.columns` */
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
          styleText('bold', 'Differences in the share of improving proposals'),
          terminalTable(differences, differenceColumns, width),
        ]),
    styleText('dim', readingOf(result).join('\n')),
    ...(conclusion === undefined ? [] : [conclusion]),
    ...(result.status === 'completed'
      ? []
      : [`${result.proposals.length} of ${plural(contestants.length * histories.length, 'answer')} so far.`]),
  ].join('\n\n');
}

export function modelsPage(result: ModelsResult, shown: Shown): Page {
  const { contestants, differences, environment, failures, name, policyloop, status } = result;
  const conclusion = conclusionOf(result);
  const predictions = predicting(result);
  const problems = [...new Set(contestants.flatMap((one) => Object.keys(one.failures)))];
  const rejected = problems.map(
    (kind): Column<ContestantFigures> => number(`rejected: ${kind}`, (row) => row.failures[kind] ?? 0),
  );
  const columns = [
    ...[nameColumn, ...improvementColumns(result), ...replyColumns],
    ...[...rejected, ...effortColumns(contestants)],
  ];
  return {
    title: `Models: ${name}`,
    header: pageHeader({
      kicker: html`models compare <b>${name}</b>`,
      title: html`Models as proposers <span class="by">in</span> ${environment}`,
      status: shown.status ?? status,
      state: `${plural(contestants.length, 'contestant')}, ${askedText(result)}`,
    }),
    sections: sectionsOf(
      ['result', 'Result', html`${conclusion !== undefined && verdictBox(conclusion)}${shares(result)}`],
      ['contestants', 'Proposals and effort', htmlTable(contestants, columns)],
      [
        'differences',
        'Differences',
        differences.length > 0 &&
          html`<p class="note">Differences in the share of improving proposals, in percentage points, over the same histories.</p>
${htmlTable(differences, differenceColumns, { tall: true })}`,
      ],
      [
        'predictions',
        'Predicted and observed returns',
        predictions.length > 0 && htmlTable(predictions, predictionColumns),
      ],
      ['histories', 'Histories', historiesTable(result, shown)],
      ['failures', 'Failures', failureList(failures)],
      ['reading', howToRead, readingList(readingOf(result))],
    ),
    footer: writtenBy(policyloop),
    keys: ['model'],
  };
}

/** Each contestant's share of improving proposals, with a line at the share of random search. */
function shares({ contestants }: ModelsResult): Html {
  const random = contestants.find(({ name, improved }) => name === 'baseline-random' && improved.of > 0);
  const share = ({ count, of }: Share) => (of === 0 ? null : count / of);
  return intervalRows(
    contestants.map(({ improved, kind, label }) => ({
      name: html`${label}${kind === 'baseline' && html` <span class="muted">baseline</span>`}`,
      value: share(improved),
      interval: improved.of === 0 ? null : improved.interval,
      detail: shareText(improved),
      isMuted: kind === 'baseline',
    })),
    {
      title: 'Share of histories with an improving proposal, with 95 % interval',
      caption: random && 'Dashed line: random search.',
      format: formatPercent,
      formatTick: formatPercent,
      line: random && (share(random.improved) ?? undefined),
      range: [0, 1],
    },
  );
}

/** Lists the histories with their best returns and the contestants' proposals. */
function historiesTable({ contestants, histories, proposals }: ModelsResult, { linkOf }: Shown): Html {
  const found = new Map(proposals.map((one) => [`${one.contestant}/${one.history}`, one]));
  const best = (history: string) => proposals.find((one) => one.history === history)?.best;
  return htmlTable(
    histories,
    [
      text('history', ({ name }) => name),
      number('best of the history', ({ name }) => best(name), { format: formatReturn }),
      ...contestants.map(({ label, name: contestant }) =>
        number<ModelsResult['histories'][number]>(label, ({ name }) => {
          const own = found.get(`${contestant}/${name}`);
          if (own === undefined) return null;
          const href = linkOf(own.run);
          if (own.return === null) return { text: 'rejected', href };
          const mark = own.return > own.best ? { mark: 'chip good' } : {};
          return { text: formatReturn(own.return), href, ...mark };
        }),
      ),
    ],
    { tall: true },
  );
}
