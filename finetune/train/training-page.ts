/** `index.html` of a training run: settings, progress and result. */
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { type Content, type Html, html, preformatted } from '../../src/format/html.js';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  plural,
} from '../../src/format/numbers.js';
import { htmlTable, number, text } from '../../src/format/table.js';
import { tile } from '../../src/report/views/overview.js';
import { largest, quantile } from '../../src/statistics/descriptive.js';
import type { Page } from '../../src/web/page.js';
import { sourceColumns } from '../dataset/dataset-page.js';
import type { DatasetLineage } from '../dataset/lineage.js';
import { methodText, servedAs } from './method.js';
import { trainingLoss } from './pace.js';
import { type TrainingFrame, type TrainingReport, trainingPage } from './page-frame.js';
import type { TrainConfig } from './train-config.js';
import type { Metric, MetricOf } from './trainer.js';
import { courseCharts, formatLoss, lossChart } from './training-charts.js';

interface SupervisedReport extends TrainingReport<TrainConfig, Metric> {
  readonly dataset: DatasetLineage;
}

/** Builds the page of a supervised training run. External text is escaped. */
export function supervisedPage(report: SupervisedReport): Page {
  const { command, config, dataset, metrics, status } = report;
  const steps = metrics.filter((metric) => metric.kind === 'step');
  const validations = metrics.filter((metric) => metric.kind === 'validation');
  const frame: TrainingFrame = {
    what: 'training',
    subject: basename(config.model),
    relation: 'trained on',
    object: basename(dataset.path),
    unit: 'step',
    early: `after ${plural(config.patience ?? 0, 'validation')} without a lower loss`,
    facts: [
      ['method', methodText(config.method)],
      ['seed', config.seed],
      ['device', config.device],
    ],
    ...{ command, config, metrics, status },
    notices: dataset.changed ? [changedData] : [],
  };
  return trainingPage(frame, headline(report, steps, validations), use(report, validations), [
    { id: 'loss', title: 'Loss', content: steps.length === 0 ? nothing : lossChart({ steps, validations }) },
    {
      id: 'course',
      title: 'Progress',
      content: steps.length === 0 ? nothing : courseCharts({ steps, validations }, config.maxGradientNorm),
    },
    { id: 'data', title: 'Data', content: data(report) },
  ]);
}

const changedData = {
  message: "the dataset's rows have changed since its manifest was written",
  remedy: 'rebuild the dataset, unless the change was intended',
};

const nothing = html`<p class="empty">No steps yet.</p>`;

function headline(
  { config, metrics }: SupervisedReport,
  steps: readonly MetricOf<'step'>[],
  validations: readonly MetricOf<'validation'>[],
): Html {
  const losses = steps.map(({ loss }) => loss);
  const done = steps.at(-1)?.step ?? 0;
  const total = metrics.findLast((metric) => metric.kind === 'start')?.totalSteps ?? done;
  const speeds = steps.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? []).toSorted((a, b) => a - b);
  const seconds = (of: readonly Metric[]) => of.reduce((sum, metric) => sum + metric.seconds, 0);
  const epochs = total === 0 ? 0 : (config.epochs * done) / total;
  return html`<dl class="headline main">
${validationTile(validations)}
${steps.length > 0 && tile('Training loss', formatLoss(trainingLoss(losses)), html`mean over the latest steps; <b>${formatLoss(steps[0]!.loss)}</b> in the first step`)}
</dl>
<dl class="headline">
${tile('Steps', formatCount(done), `of ${formatCount(total)}`)}
${tile('Epochs', formatNumber(epochs, 3), `of ${formatCount(config.epochs)}`)}
${tile('Tokens', formatCompact(steps.reduce((sum, { tokens }) => sum + tokens, 0)), 'read in training')}
${speeds.length > 0 && tile('Speed', formatCompact(quantile(speeds, 0.5)), 'tokens per second (median)')}
${tile('Time', formatDuration(1000 * seconds(metrics)), validations.length === 0 ? 'without validations' : `${formatDuration(1000 * seconds(validations))} of it in validations`)}
${metrics.length > 0 && tile('Memory', formatBytes(largest(metrics.map(({ rssBytes }) => rssBytes))), 'peak')}
</dl>`;
}

function validationTile(validations: readonly MetricOf<'validation'>[]): Html {
  const first = validations[0];
  const best = validations.findLast((validation) => validation.best);
  if (first === undefined || best === undefined) {
    return tile('Lowest validation loss', '–', 'without validation, performance on new prompts is unknown');
  }
  const before =
    best === first
      ? html`at step ${formatCount(best.step)}, the ${validations.length === 1 ? 'only validation' : `first of ${formatCount(validations.length)} validations`}`
      : html`at step ${formatCount(best.step)}; <b>${formatLoss(first.loss)}</b> at the first validation, step ${formatCount(first.step)}`;
  return tile('Lowest validation loss', formatLoss(best.loss), before, 'confirmed');
}

function use(
  { config, dataset, status }: SupervisedReport,
  validations: readonly MetricOf<'validation'>[],
): Content {
  if (status.kind !== 'complete' && status.kind !== 'early') return '';
  const best = validations.findLast((validation) => validation.best);
  const lora = config.method.kind === 'lora';
  const isImitation = dataset.recipe === 'demonstrations';
  const quantization = config.method.kind === 'lora' ? config.method.quantization : 'none';
  const settings = {
    model: {
      provider: 'local',
      path: lora ? config.model : join(config.output, basename(status.result)),
      ...(lora && { adapter: join(config.output, basename(status.result)) }),
      ...(quantization !== 'none' && { quantization }),
    },
  };
  return html`<p>${best === undefined ? 'The result contains the weights after the last step' : `The result contains the weights of step ${formatCount(best.step)}, which had the lowest validation loss`}. In the config of ${isImitation ? 'a play' : 'an experiment'}:</p>
${preformatted(stringify(settings).trimEnd())}
<p>Or on the command line:</p>
${preformatted(`policyloop ${isImitation ? 'play' : 'run'} CONFIG model.provider=local ${servedAs(config.method, config.model, status.result)}`)}`;
}

function data({ dataset, metrics }: SupervisedReport): Html {
  const start = metrics.findLast((metric) => metric.kind === 'start');
  return html`<dl class="facts">
<div><dt>dataset</dt><dd><code>${dataset.path}</code></dd></div>
${dataset.recipe !== null && html`<div><dt>recipe</dt><dd>${dataset.recipe}</dd></div>`}
${Object.entries(dataset.files).map(([name, hash]) => html`<div><dt>${name}</dt><dd><code>${hash.slice(0, 12)}</code></dd></div>`)}
</dl>
${start && splitTable(start)}
${dataset.sources === null ? html`<p class="note">The dataset has no manifest, so the origin of its rows is unknown.</p>` : sources(dataset.sources)}`;
}

function splitTable({ training, validation }: MetricOf<'start'>): Html {
  const table = htmlTable(
    [
      { title: 'training', ...training },
      { title: 'validation', ...validation },
    ],
    [
      text('', ({ title }) => title),
      number('examples', ({ examples }) => examples),
      number('tokens', ({ tokens }) => tokens),
    ],
  );
  return html`${table}
<p class="note">Excludes examples without a weight or an answer.</p>`;
}

function sources(list: NonNullable<DatasetLineage['sources']>): Html {
  return html`<details><summary>Built from ${plural(list.length, 'run')}</summary>
${htmlTable(list, sourceColumns, { tall: true })}</details>`;
}
