/** The page of a comparison of models: who improves, with intervals, then replies, effort and each history. */
import { type Html, html } from '../../format/html.js';
import { formatInterval, formatReturn, plural } from '../../format/numbers.js';
import { htmlTable, number, text } from '../../format/table.js';
import { armClass } from '../../report/charts/arm-curves.js';
import { percent } from '../../report/charts/plot.js';
import { relativeLink } from '../../report/group-report.js';
import { page } from '../../report/page/page.js';
import { runFiles } from '../../runs/reader.js';
import type { ModelsResult, Share } from './models-result.js';
import {
  askedText,
  conclusionOf,
  differenceColumns,
  effortColumns,
  formatPercent,
  improvementColumns,
  nameColumn,
  predicting,
  predictionColumns,
  readingOf,
  replyColumns,
} from './models-table.js';

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

/** One row per contestant: its share with the interval, from 0 to 100%, next to the share of random search. */
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
${failed.length > 0 && html`<h5>Rejected replies by what was wrong</h5>${htmlTable(contestants, [nameColumn, ...failed])}`}`;
}

/** Each history with its best return and the proposal of every contestant. */
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
