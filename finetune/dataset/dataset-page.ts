/** Renders a dataset's `index.html`: alarms, sizes, sources and sample examples. */

import { spread } from '../../src/base/spread.js';
import { type Content, type Html, html, preformatted } from '../../src/base/text/html.js';
import {
  formatCompact,
  formatCount,
  formatInterval,
  formatNumber,
  formatReturn,
  plural,
} from '../../src/base/text/numbers.js';
import { type Cell, type Column, htmlTable, number, text } from '../../src/base/text/table.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import { page, sectionsOf } from '../../src/web/page.js';
import { factList, pageHeader, warningList, writtenBy } from '../../src/web/study.js';
import type { Dataset, DatasetManifest, Source, Split } from './dataset.js';
import type { Example, Lineage } from './example.js';
import type { Distribution } from './token-statistics.js';

/** Maximum number of samples shown per split, evenly spaced. */
const samplesShown = 20;

/** Escapes all text from the runs. */
export function renderDatasetPage(dataset: Dataset, manifest: DatasetManifest): string {
  const { recipe, sources } = dataset;
  const alarms = manifest.alarms.map(
    ({ message, hint }) =>
      html`${message}${hint !== undefined && html`<br><span class="muted">${hint}</span>`}`,
  );
  return page({
    title: `Dataset: ${recipe}, ${plural(dataset.train.length, 'training example')}`,
    header: pageHeader({
      kicker: 'dataset',
      title: html`${recipe} <span class="by">from</span> ${plural(sources.length, 'run')}`,
      facts: [
        ['format', manifest.format],
        ['seed', dataset.seed],
        ['token counts', dataset.tokens],
      ],
    }),
    sections: sectionsOf(
      ['alarms', 'Alarms', warningList(alarms)],
      ['size', 'Size', sizes(dataset)],
      ['sources', 'Sources', sourceTable(manifest)],
      ['train', 'Training examples', samples(dataset, 'train')],
      ['validation', 'Validation examples', samples(dataset, 'validation')],
    ),
    footer: writtenBy(manifest.policyloop),
  });
}

function sizes({ recipe, statistics, duplicates }: Dataset): Html {
  type Figures = Dataset['statistics'][Split];
  const rows: readonly { readonly title: string; readonly of: (figures: Figures) => Cell }[] = [
    { title: 'examples', of: ({ examples }) => examples },
    { title: 'distinct prompts', of: ({ prompts }) => prompts },
    { title: 'prompt tokens', of: ({ promptTokens }) => rangeOf(promptTokens) },
    { title: 'completion tokens', of: ({ completionTokens }) => rangeOf(completionTokens) },
    {
      title: `${recipe === 'demonstrations' ? 'turns' : 'evaluations'} before a prompt`,
      of: ({ history }) => rangeOf(history),
    },
    { title: 'weight', of: ({ weight }) => rangeOf(weight) },
  ];
  const table = htmlTable(rows, [
    text('', ({ title }) => title),
    number('training', ({ of }) => of(statistics.train)),
    number('validation', ({ of }) => of(statistics.validation)),
  ]);
  return html`${table}
<p class="note">Median, with the range and the mean. ${plural(duplicates, 'duplicate')} removed.</p>`;
}

function rangeOf(values: Distribution | undefined): Cell {
  if (values === undefined) return undefined;
  const { median, least, most, mean } = values;
  return {
    text: formatNumber(median),
    detail: `${formatInterval([least, most], formatNumber)}; ${formatNumber(mean)}`,
  };
}

const sourceColumns: readonly Column<
  Pick<Source, 'run' | 'environment' | 'model' | 'seed' | 'kept' | 'split'>
>[] = [
  text('run', ({ run }) => run),
  text('environment', ({ environment }) => environment),
  text('proposer', ({ model }) => model),
  number('seed', ({ seed }) => String(seed)),
  number('examples', ({ kept }) => kept),
  text('split', ({ split }) => split),
];

function sourceTable({ sources }: DatasetManifest): Html {
  const evaluations: Column<Source> = number('evaluations', (source) => source.evaluations);
  return htmlTable(sources, [...sourceColumns, evaluations], { tall: true });
}

function samples(dataset: Dataset, split: Split): Html {
  const examples = dataset[split];
  if (examples.length === 0) return html`<p class="empty">None.</p>`;
  const shown = spread(examples, samplesShown);
  return html`<p class="note">${formatCount(shown.length)} of ${plural(examples.length, 'example')}${shown.length < examples.length && ', evenly spaced'}.</p>
${shown.map((example) => sample(dataset, example))}`;
}

const placeOf = ({ candidate, promptIteration, recipe }: Lineage) =>
  recipe === 'demonstrations'
    ? `game ${candidate + 1}, turn ${promptIteration}`
    : `iteration ${promptIteration}`;

function sample({ lengths }: Dataset, example: Example): Html {
  const { lineage, prompt, weight } = example;
  const { prompt: promptTokens, completion } = lengths.get(example)!;
  const isGame = lineage.recipe === 'demonstrations';
  return html`<article>
<p class="evaluated"><b>${lineage.run}</b>, ${placeOf(lineage)}: ${formatReturn(lineage.score)} ${comparison(lineage)}</p>
${answers(example)}
<details><summary>Prompt, ${plural(prompt.length, 'message')}, ${formatCompact(promptTokens)} tokens</summary>${prompt.map(message)}</details>
${factList([
  ['weight', formatNumber(weight)],
  ['completion tokens', formatCompact(completion)],
  [`${isGame ? 'turns' : 'evaluations'} before the prompt`, formatCount(lineage.history)],
  ['answer from', !isGame && `iteration ${lineage.iteration}, candidate ${lineage.candidate + 1}`],
  ['prompt hash', html`<code>${lineage.prompt.slice(0, 12)}</code>`],
])}
</article>
`;
}

function comparison({ incumbent, recipe, rejected }: Lineage): Content {
  if (recipe === 'demonstrations') return undefined;
  if (rejected !== undefined) return `against ${formatReturn(rejected.score)}`;
  return incumbent === undefined ? '(no earlier evaluation)' : `(best before: ${formatReturn(incumbent)})`;
}

function answers(example: Example): Content {
  if (example.kind === 'imitation') return preformatted(example.completion);
  return [
    html`<h3>chosen</h3>`,
    preformatted(example.chosen),
    html`<h3>rejected</h3>`,
    preformatted(example.rejected),
  ];
}

function message({ role, content }: ChatMessage): Html {
  return html`<h3>${role}</h3>${preformatted(content)}`;
}
