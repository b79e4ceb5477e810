/** `index.html` of a dataset: what it is made of, what is wrong with it, and samples to read. */

import { formatCompact, formatCount, formatNumber, formatReturn, plural } from '../../src/format/numbers.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import { type Content, type Html, html, preformatted } from '../../src/report/page/html.js';
import { page, type Section } from '../../src/report/page/page.js';
import type { Dataset, Split } from './dataset.js';
import type { Example, Lineage } from './example.js';
import type { DatasetManifest } from './manifest.js';
import type { Distribution } from './token-statistics.js';

/** Samples shown of each split, at even distances. */
const samplesShown = 20;

/** The whole page in one file, which loads nothing; everything from the runs is escaped. */
export function renderDatasetPage(dataset: Dataset, manifest: DatasetManifest): string {
  const { recipe, sources } = dataset;
  const sections: (Section | undefined)[] = [
    manifest.alarms.length > 0
      ? { id: 'alarms', title: 'Alarms', content: alarmList(manifest.alarms) }
      : undefined,
    { id: 'size', title: 'Size', content: sizes(dataset) },
    { id: 'sources', title: 'Sources', content: sourceTable(manifest) },
    ...(['train', 'validation'] as const).map((split) => ({
      id: split,
      title: split === 'train' ? 'Training samples' : 'Validation samples',
      content: samples(dataset, split),
    })),
  ];
  return page({
    title: `Dataset: ${recipe}, ${plural(dataset.train.length, 'example')}`,
    header: html`<header>
<p class="kicker">policyloop dataset</p>
<h1>${recipe} <span class="by">from</span> ${plural(sources.length, 'run')}</h1>
<dl class="facts">
<div><dt>format</dt><dd>${manifest.format}</dd></div>
<div><dt>seed</dt><dd>${dataset.seed}</dd></div>
<div><dt>copies of a run</dt><dd>${dataset.augment}</dd></div>
<div><dt>tokens counted by</dt><dd>${dataset.tokens}</dd></div>
</dl>
</header>`,
    sections: sections.filter((section) => section !== undefined),
    footer: html`<p>Written by policyloop ${manifest.policyloop}.</p>`,
  });
}

/** What is wrong, and what to do about it. */
export function alarmList(
  alarms: readonly { readonly message: string; readonly remedy?: string | undefined }[],
): Html {
  return html`<ul class="warnings">${alarms.map(
    ({
      message,
      remedy,
    }) => html`<li>${message}${remedy !== undefined && html`<br><span class="muted">${remedy}</span>`}</li>
`,
  )}</ul>`;
}

function sizes({ statistics, duplicates }: Dataset): Html {
  const splits = ['train', 'validation'] as const;
  const row = (title: string, cell: (split: Split) => Content) =>
    html`<tr><th scope="row">${title}</th>${splits.map((split) => html`<td class="number">${cell(split)}</td>`)}</tr>
`;
  const spread = (title: string, of: (split: Split) => Distribution | undefined) =>
    row(title, (split) => spreadText(of(split)));
  return html`<div class="scroll"><table>
<thead><tr><th></th><th class="number">training</th><th class="number">validation</th></tr></thead>
<tbody>
${row('examples', (split) => formatCount(statistics[split].examples))}
${row('different prompts', (split) => formatCount(statistics[split].prompts))}
${spread('tokens of a prompt', (split) => statistics[split].promptTokens)}
${spread('tokens of a completion', (split) => statistics[split].completionTokens)}
${spread('evaluations behind a prompt', (split) => statistics[split].history)}
${spread('weight', (split) => statistics[split].weight)}
</tbody></table></div>
<p class="note">Median, with the smallest and the largest value and the mean. ${plural(duplicates, 'duplicate')} left out.</p>`;
}

function spreadText(values: Distribution | undefined): Content {
  if (values === undefined) return '–';
  const { median, least, most, mean } = values;
  return html`${formatNumber(median)} <span class="muted">(${formatNumber(least)} … ${formatNumber(most)}; ${formatNumber(mean)})</span>`;
}

function sourceTable({ sources }: DatasetManifest): Html {
  return html`<div class="scroll tall"><table>
<thead><tr><th>run</th><th>environment</th><th>proposed by</th><th class="number">seed</th><th class="number">evaluations</th><th class="number">examples</th><th>split</th></tr></thead>
<tbody>${sources.map(
    (
      source,
    ) => html`<tr><th scope="row">${source.run}</th><td>${source.environment}</td><td>${source.model}</td><td class="number">${source.seed}</td><td class="number">${formatCount(source.evaluations)}</td><td class="number">${formatCount(source.kept)}</td><td>${source.split}</td></tr>
`,
  )}</tbody></table></div>`;
}

function samples(dataset: Dataset, split: Split): Html {
  const examples = dataset[split];
  if (examples.length === 0) return html`<p class="empty">There are none.</p>`;
  const shown = evenly(examples, samplesShown);
  return html`<p class="note">${formatCount(shown.length)} of ${formatCount(examples.length)}, at even distances.</p>
${shown.map((example) => sample(dataset, example))}`;
}

function sample({ lengths }: Dataset, example: Example): Html {
  const { lineage, prompt, weight } = example;
  const { prompt: promptTokens, completion } = lengths.get(example)!;
  return html`<article>
<p class="evaluated"><b>${lineage.run}</b>, iteration ${lineage.promptIteration}: ${formatReturn(lineage.score)} ${comparison(lineage)}</p>
${answers(example)}
<details><summary>Prompt, ${plural(prompt.length, 'message')}, ${formatCompact(promptTokens)} tokens</summary>${prompt.map(message)}</details>
<dl class="facts">
<div><dt>weight</dt><dd>${formatNumber(weight)}</dd></div>
<div><dt>completion tokens</dt><dd>${formatCompact(completion)}</dd></div>
<div><dt>evaluations behind the prompt</dt><dd>${formatCount(lineage.history)}</dd></div>
<div><dt>answer from</dt><dd>iteration ${lineage.iteration}, candidate ${lineage.candidate + 1}</dd></div>
<div><dt>prompt</dt><dd><code>${lineage.prompt.slice(0, 12)}</code></dd></div>
</dl>
</article>
`;
}

function comparison({ incumbent, rejected }: Lineage): Content {
  if (rejected !== undefined) return `against ${formatReturn(rejected.score)}`;
  return incumbent === undefined ? 'with nothing before' : `after ${formatReturn(incumbent)}`;
}

function answers(example: Example): Content {
  if (example.kind === 'imitation') return preformatted(example.completion);
  return [
    html`<h5>chosen</h5>`,
    preformatted(example.chosen),
    html`<h5>rejected</h5>`,
    preformatted(example.rejected),
  ];
}

function message({ role, content }: ChatMessage): Html {
  return html`<h5>${role}</h5>${preformatted(content)}`;
}

function evenly<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))]!);
}
