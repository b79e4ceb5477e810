/** The page of a comparison of models: improving proposals with intervals, then replies, effort and histories. */
import { styleText } from 'node:util';
import { pText, verdictChips, verdictRule, verdictText } from '../../comparison/words.js';
import { type Html, html } from '../../format/html.js';
import {
  formatCompact,
  formatCost,
  formatInterval,
  formatNumber,
  formatReturn,
  formatSigned,
  plural,
  signed,
} from '../../format/numbers.js';
import { type Column, estimate, htmlTable, number, terminalTable, text } from '../../format/table.js';
import { armClass } from '../../report/charts/arm-curves.js';
import { percent } from '../../report/charts/plot.js';
import { relativeLink } from '../../report/group-report.js';
import { runFiles } from '../../runs/reader.js';
import { fewestForVerdict } from '../../statistics/tests.js';
import { page } from '../../web/page.js';
import type { ContestantFigures, ModelDifference, ModelsResult, Share } from './models-result.js';

/** Formats whole percents: with few histories, intervals are too wide for decimals to matter. */
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

/** Adds a column per kind of history if both random and recorded histories are used. */
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
  text(
    '',
    ({ verdict }) => ({
      text: verdict === 'too-few' ? 'too few' : verdictText({ verdict, test: 'paired', reason: '' }),
      mark: `chip ${verdictChips[verdict]}`,
    }),
    { spoken: 'verdict' },
  ),
];

const predicting = ({ contestants }: ModelsResult) =>
  contestants.filter(({ predictions }) => predictions !== null);

const testedIn = ({ differences }: ModelsResult): number => differences.filter(({ p }) => p !== null).length;

/** States in a sentence which models improve more often than every baseline; undefined without baselines. */
function conclusionOf({ contestants, differences }: ModelsResult): string | undefined {
  const named = (wanted: ContestantFigures['kind']) =>
    contestants.filter(({ kind }) => kind === wanted).map(({ label }) => label);
  const [models, baselines] = [named('model'), named('baseline')];
  const found = differences.filter(({ against }) => baselines.includes(against));
  if (found.length === 0) return undefined;
  const all = baselines.length === 1 ? baselines[0]! : 'every baseline';
  if (found.every(({ verdict }) => verdict === 'too-few'))
    return `Too few histories for a verdict, which requires ${fewestForVerdict}; add some with --histories.`;
  const winners = models.filter((model) => {
    const own = found.filter(({ of }) => of === model);
    return own.length === baselines.length && own.every(({ verdict }) => verdict === 'higher');
  });
  return winners.length === 0
    ? `No evidence that a model improves more often than ${all}.`
    : `${winners.join(', ')} ${winners.length === 1 ? 'improves' : 'improve'} more often than ${all}.`;
}

const readingOf = (result: ModelsResult): readonly string[] => [
  'improvements: proposals with a higher return than the best policy of their history; a history without a valid proposal counts as no improvement. Intervals are exact (Clopper and Pearson)',
  'policies beaten: the mean share of the history’s policies that a proposal beats; a random policy beats half of a random history',
  'seconds, tokens: means per history, including corrections',
  ...verdictRule(testedIn(result)),
];

/** Example: `one proposal from each of 20 histories of CartPole-v1`. */
const askedText = ({ environment, histories }: ModelsResult): string =>
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

export function modelsPage(result: ModelsResult): string {
  const { contestants, differences, environment, failures, name, status } = result;
  const conclusion = conclusionOf(result);
  const predictions = predicting(result);
  const list = (lines: readonly string[]) => html`<ul>${lines.map((line) => html`<li>${line}.</li>`)}</ul>`;
  return page({
    title: `Models: ${name}`,
    header: html`<header>
<p class="kicker">policyloop models compare <b>${name}</b></p>
<h1>Models as proposers <span class="by">in</span> ${environment}</h1>
<p class="state"><span class="status ${status === 'completed' ? 'completed' : 'interrupted'}">${status}</span> ${plural(contestants.length, 'contestant')}, ${askedText(result)}</p>
${conclusion !== undefined && html`<p class="verdict">${conclusion}</p>`}
</header>`,
    sections: [
      {
        id: 'improvements',
        title: 'Improving proposals',
        content: html`${forest(result)}
${htmlTable(contestants, [nameColumn, ...improvementColumns(result)])}`,
      },
      ...(differences.length === 0
        ? []
        : [
            {
              id: 'differences',
              title: 'Differences',
              content: html`<p class="note">Differences in the share of improving proposals, in percentage points, over the same histories.</p>
${htmlTable(differences, differenceColumns, { tall: true })}`,
            },
          ]),
      { id: 'replies', title: 'Replies', content: repliesSection(result) },
      {
        id: 'effort',
        title: 'Effort',
        content: htmlTable(contestants, [nameColumn, ...effortColumns(contestants)]),
      },
      ...(predictions.length === 0
        ? []
        : [
            {
              id: 'predictions',
              title: 'Predicted and observed returns',
              content: htmlTable(predictions, predictionColumns),
            },
          ]),
      { id: 'histories', title: 'Histories', content: historiesSection(result) },
      ...(failures.length === 0
        ? []
        : [
            {
              id: 'failures',
              title: 'Failures',
              content: html`<ul class="warnings">${failures.map(({ run, message }) => html`<li>${run}: ${message}</li>`)}</ul>`,
            },
          ]),
      { id: 'reading', title: 'How to read this', content: list(readingOf(result)) },
    ],
    footer: html`<p>Written by policyloop ${result.policyloop}.</p>`,
  });
}

/** One row per contestant: its share of improving proposals with the interval, next to the share of random search. */
function forest({ contestants }: ModelsResult): Html {
  const random = contestants.find(({ name, improved }) => name === 'baseline-random' && improved.of > 0);
  const share = ({ count, of }: Share) => percent(count / of);
  return html`<figure><ul class="forest" role="list">${contestants.map(({ improved, kind, label }) => {
    const [low, high] = improved.interval.map(percent);
    return html`<li><span class="name">${label}${kind === 'baseline' && html` <span class="muted">baseline</span>`}</span>
<svg width="100%" height="24" aria-hidden="true">${random && html`<g class="target"><line x1="${share(random.improved)}" x2="${share(random.improved)}" y1="0" y2="24"/></g>`}${improved.of > 0 && html`<g class="arm-mark ${armClass(kind === 'model' ? 1 : 0)}"><line x1="${low}" x2="${high}" y1="12" y2="12"/><circle cx="${share(improved)}" cy="12" r="4.5"/></g>`}</svg>
<span>${improved.of > 0 ? html`${formatPercent(improved.count / improved.of)} <span class="muted">${formatInterval(improved.interval, formatPercent)}</span>` : html`<span class="muted">no answer</span>`}</span></li>`;
  })}
<li class="axis" aria-hidden="true"><svg width="100%" height="20">${[0, 0.5, 1].map((tick) => html`<text x="${percent(tick)}" y="14">${formatPercent(tick)}</text>`)}</svg></li></ul>
<figcaption>Share of histories with an improving proposal, with its 95 % interval.${random && ' Dashed line: random search.'}</figcaption></figure>`;
}

function repliesSection({ contestants }: ModelsResult): Html {
  const kinds = [...new Set(contestants.flatMap(({ failures }) => Object.keys(failures)))];
  const failed = kinds.map((kind) =>
    number<ModelsResult['contestants'][number]>(kind, ({ failures }) => failures[kind] ?? 0),
  );
  return html`${htmlTable(contestants, [nameColumn, ...replyColumns])}
${failed.length > 0 && html`<h3>Rejected replies by problem</h3>${htmlTable(contestants, [nameColumn, ...failed])}`}`;
}

/** Lists the histories with their best returns and the contestants' proposals. */
function historiesSection({ contestants, histories, proposals }: ModelsResult): Html {
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
          const href = relativeLink(`${own.run}/${runFiles.report}`);
          if (own.return === null) return { text: 'rejected', href };
          const mark = own.return > own.best ? { mark: 'chip good' } : {};
          return { text: formatReturn(own.return), href, ...mark };
        }),
      ),
    ],
    { tall: true },
  );
}
