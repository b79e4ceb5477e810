/** `index.html` of a training: its settings, its course, its result. */
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { version } from '../../src/base/package.js';
import { type Content, type Html, html, preformatted } from '../../src/format/html.js';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
  plural,
} from '../../src/format/numbers.js';
import { shellWord } from '../../src/format/shell-word.js';
import { htmlTable, number, text } from '../../src/format/table.js';
import { page, type Section } from '../../src/report/page/page.js';
import { tile } from '../../src/report/views/overview.js';
import { largest, quantile } from '../../src/statistics/descriptive.js';
import { alarmList, sourceColumns } from '../dataset/dataset-page.js';
import type { DatasetLineage } from '../dataset/lineage.js';
import type { Metric, MetricOf } from './metrics.js';
import type { TrainConfig } from './train-config.js';
import { courseCharts, formatLoss, lossChart, smoothedLosses } from './training-charts.js';

export type TrainingStatus =
  /** `secondsLeft`: undefined before the first step. */
  | { readonly kind: 'running'; readonly secondsLeft: number | undefined }
  | { readonly kind: 'interrupted' }
  /** `result`: path of the adapter or model directory, as a command line is to name it. */
  | { readonly kind: 'complete' | 'early'; readonly result: string }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy?: string | undefined };

export interface TrainingReport {
  /** The command line that made it, and goes on with it. */
  readonly command: string;
  readonly config: TrainConfig;
  readonly dataset: DatasetLineage;
  /** The metrics of the whole training, in order; with a `start`. */
  readonly metrics: readonly Metric[];
  readonly status: TrainingStatus;
}

/** The whole page is one file, which loads nothing; texts from outside are escaped. */
export function renderTrainingPage(report: TrainingReport): string {
  const { config, dataset, metrics, status } = report;
  const { $schema: _, ...settings } = config;
  const steps = metrics.filter((metric) => metric.kind === 'step');
  const validations = metrics.filter((metric) => metric.kind === 'validation');
  const notices = alarms(report);
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: headline(report, steps, validations) },
    notices && { id: 'alarms', title: 'Alarms', content: notices },
    {
      id: 'use',
      title: status.kind === 'complete' || status.kind === 'early' ? 'Use it' : 'Go on',
      content: use(report, validations),
    },
    {
      id: 'loss',
      title: 'Loss',
      content: steps.length === 0 ? nothing : lossChart({ steps, validations }),
    },
    {
      id: 'course',
      title: 'Course',
      content: steps.length === 0 ? nothing : courseCharts({ steps, validations }, config.maxGradientNorm),
    },
    { id: 'data', title: 'Data', content: data(report) },
    { id: 'config', title: 'Config', content: preformatted(stringify(settings)) },
  ];
  const name = basename(config.output);
  const isRunning = status.kind === 'running';
  return page({
    following: isRunning ? followed(metrics) : undefined,
    title: `${isRunning ? `${doneText(metrics)} ` : ''}${name}: ${basename(config.model)} trained on ${basename(dataset.path)}`,
    header: header(report),
    sections: sections.filter((section) => section !== undefined),
    footer: html`<p>State as of ${formatTime(metrics.at(-1)?.time ?? '')}. Written by policyloop ${version()}.</p>`,
  });
}

/** Nothing was heard of a training for long where it took three times as long as anything before. */
export const followed = (metrics: readonly { readonly time: string; readonly seconds: number }[]) => ({
  written: metrics.at(-1)?.time ?? '',
  silence: 60 + 3 * largest(metrics.map(({ seconds }) => seconds)),
});

function doneText(metrics: readonly Metric[]): string {
  const total = metrics.findLast((metric) => metric.kind === 'start')?.totalSteps ?? 0;
  return total === 0 ? '' : `${Math.floor((100 * (metrics.at(-1)?.step ?? 0)) / total)} %`;
}

const nothing = html`<p class="empty">There was no step yet.</p>`;

function header({ config, dataset, metrics, status }: TrainingReport): Html {
  const first = metrics[0];
  return html`<header>
<p class="kicker">policyloop training <b>${basename(config.output)}</b></p>
<h1>${basename(config.model)} <span class="by">trained on</span> ${basename(dataset.path)}</h1>
<p class="state"><span class="status ${statusName(status)}">${statusName(status)}</span> ${statusText(status, config, metrics)}</p>
<dl class="facts">
<div><dt>method</dt><dd>${methodText(config)}</dd></div>
<div><dt>seed</dt><dd>${config.seed}</dd></div>
<div><dt>device</dt><dd>${config.device}</dd></div>
${first && html`<div><dt>started</dt><dd>${formatTime(first.time)}</dd></div>`}
</dl>
</header>`;
}

/** The status of a run that went alike, so that the pages agree. */
function statusName({ kind }: TrainingStatus): string {
  return kind === 'complete' || kind === 'early' ? 'completed' : kind;
}

function statusText(status: TrainingStatus, { patience }: TrainConfig, metrics: readonly Metric[]): string {
  switch (status.kind) {
    case 'running':
      return runningText(status.secondsLeft, metrics);
    case 'interrupted':
      return 'by the user; the same command goes on from the checkpoint';
    case 'complete':
      return 'after all steps';
    case 'early':
      return `early, after ${plural(patience ?? 0, 'validation')} without a lower loss`;
    case 'failed':
      return status.message;
  }
}

function runningText(secondsLeft: number | undefined, metrics: readonly Metric[]): string {
  const last = metrics.at(-1);
  const total = metrics.findLast((metric) => metric.kind === 'start')?.totalSteps ?? 0;
  const left = secondsLeft === undefined ? '' : `, about ${formatDuration(1000 * secondsLeft)} left`;
  return `step ${formatCount(last?.step ?? 0)} of ${formatCount(total)}, ${doneText(metrics)}${left}`;
}

function methodText({ method }: TrainConfig): string {
  switch (method.kind) {
    case 'lora':
      return `LoRA of rank ${method.rank} on ${method.modules.join(', ')}`;
    case 'full':
      return 'all weights';
    case 'scratch':
      return 'all weights, from random ones';
  }
}

/** The figures that a training is judged by, the validation loss first. */
function headline(
  { config, metrics }: TrainingReport,
  steps: readonly MetricOf<'step'>[],
  validations: readonly MetricOf<'validation'>[],
): Html {
  const smoothed = smoothedLosses(steps);
  const done = steps.at(-1)?.step ?? 0;
  const total = metrics.findLast((metric) => metric.kind === 'start')?.totalSteps ?? done;
  const speeds = steps.flatMap(({ tokensPerSecond }) => tokensPerSecond ?? []).toSorted((a, b) => a - b);
  const seconds = (of: readonly Metric[]) => of.reduce((sum, metric) => sum + metric.seconds, 0);
  const epochs = total === 0 ? 0 : (config.epochs * done) / total;
  return html`<dl class="headline main">
${validationTile(validations)}
${steps.length > 0 && tile('Training loss', formatLoss(smoothed.at(-1)!), html`smoothed, at the end; <b>${formatLoss(steps[0]!.loss)}</b> in the first step`)}
</dl>
<dl class="headline">
${tile('Steps', formatCount(done), `of ${formatCount(total)}`)}
${tile('Epochs', formatNumber(epochs, 3), `of ${formatCount(config.epochs)}`)}
${tile('Tokens', formatCompact(steps.reduce((sum, { tokens }) => sum + tokens, 0)), 'read in the steps')}
${speeds.length > 0 && tile('Speed', formatCompact(quantile(speeds, 0.5)), 'tokens a second, median of the steps')}
${tile('Time', formatDuration(1000 * seconds(metrics)), validations.length === 0 ? 'without validations' : `${formatDuration(1000 * seconds(validations))} of it in validations`)}
${metrics.length > 0 && tile('Memory', formatBytes(largest(metrics.map(({ rssBytes }) => rssBytes))), 'the most that was seen')}
</dl>`;
}

function validationTile(validations: readonly MetricOf<'validation'>[]): Html {
  const first = validations[0];
  const best = validations.findLast((validation) => validation.best);
  if (first === undefined || best === undefined) {
    return tile(
      'Lowest validation loss',
      '–',
      'without it, nothing here tells how well new prompts are answered',
    );
  }
  const before =
    best === first
      ? html`at step ${formatCount(best.step)}, the first of ${plural(validations.length, 'validation')}`
      : html`at step ${formatCount(best.step)}; <b>${formatLoss(first.loss)}</b> at the first validation, step ${formatCount(first.step)}`;
  return tile('Lowest validation loss', formatLoss(best.loss), before, 'confirmed');
}

function alarms({ status, dataset, metrics }: TrainingReport): Html | undefined {
  const found: { readonly message: string; readonly remedy?: string | undefined }[] = [
    ...(status.kind === 'failed' ? [status] : []),
    // Each session raises the alarms of data and template again.
    ...new Map(
      metrics.flatMap((metric) => (metric.kind === 'alarm' ? [[metric.message, metric] as const] : [])),
    ).values(),
  ];
  if (dataset.changed)
    found.push({
      message: 'the rows of the dataset are not those that its manifest describes',
      remedy: 'make the dataset anew, unless it was changed on purpose',
    });
  return found.length === 0 ? undefined : alarmList(found);
}

const goOnTexts = {
  running:
    'The training goes on, or was cut off without notice; then the same command continues from the last checkpoint:',
  interrupted: 'The same command continues from the last checkpoint:',
  failed:
    'Once its cause is mended, the same command continues from the last checkpoint; with other settings, give another output:',
};

function use(
  { command, config, status }: TrainingReport,
  validations: readonly MetricOf<'validation'>[],
): Content {
  if (status.kind !== 'complete' && status.kind !== 'early') {
    return html`<p>${goOnTexts[status.kind]}</p>
${preformatted(command)}`;
  }
  const best = validations.findLast((validation) => validation.best);
  const lora = config.method.kind === 'lora';
  const settings = {
    model: {
      provider: 'local',
      path: lora ? config.model : join(config.output, basename(status.result)),
      ...(lora && { adapter: join(config.output, basename(status.result)) }),
    },
  };
  const overrides = lora
    ? [`model.path=${config.model}`, `model.adapter=${status.result}`]
    : [`model.path=${status.result}`];
  return html`<p>${best === undefined ? 'The result holds the values after the last step' : `The result holds the values of step ${formatCount(best.step)}, which had the lowest validation loss`}. In the config of an experiment:</p>
${preformatted(stringify(settings).trimEnd())}
<p>Or on the command line:</p>
${preformatted(['policyloop run CONFIG model.provider=local', ...overrides.map(shellWord)].join(' '))}`;
}

function data({ dataset, metrics }: TrainingReport): Html {
  const start = metrics.findLast((metric) => metric.kind === 'start');
  return html`<dl class="facts">
<div><dt>dataset</dt><dd><code>${dataset.path}</code></dd></div>
${dataset.recipe !== null && html`<div><dt>recipe</dt><dd>${dataset.recipe}</dd></div>`}
${Object.entries(dataset.files).map(([name, hash]) => html`<div><dt>${name}</dt><dd><code>${hash.slice(0, 12)}</code></dd></div>`)}
</dl>
${start && splitTable(start)}
${dataset.sources === null ? html`<p class="note">The dataset has no manifest: where its rows come from is not known.</p>` : sources(dataset.sources)}`;
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
<p class="note">What is read: examples without weight or answer are not.</p>`;
}

function sources(list: NonNullable<DatasetLineage['sources']>): Html {
  return html`<details><summary>Made of ${plural(list.length, 'run')}</summary>
${htmlTable(list, sourceColumns, { tall: true })}</details>`;
}
