/** The page of a training run of any kind, as a file or in the live view. */
import { basename } from 'node:path';
import { stringify } from 'yaml';
import { shownPath } from '../../base/context.js';
import { packageVersion } from '../../base/package.js';
import type { Content } from '../../base/text/content.js';
import { html, preformatted } from '../../base/text/html.js';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
} from '../../base/text/numbers.js';
import { capitalize } from '../../base/text/one-line.js';
import { type RecordedSample, readSamples } from '../../runs/training/samples.js';
import { commandToUse, notEvaluatedText } from '../../runs/training/text.js';
import {
  episodesText,
  measurementText,
  readTrainingFiles,
  secondsLeftOf,
  type TrainingRecords,
} from '../../runs/training/trainings.js';
import { largest } from '../../statistics/descriptive.js';
import { type Chart, chartFigure } from '../chart.js';
import { type Page, sectionsOf } from '../page.js';
import { pageHeader, tile, warningList, writtenByNote } from '../study.js';
import { smoothedLoss, type TrainingChartOptions, trainingCharts } from '../training-charts.js';
import { baselinesView, dataView, samplesView } from './views/training-view.js';

export interface ShownTraining extends TrainingRecords {
  readonly samples: readonly RecordedSample[];
  readonly secondsLeft?: number | undefined;
}

/** Builds the current page from the files of a training run. @throws UserError if the files are damaged */
export function readTrainingPage(path: string): Page {
  const files = readTrainingFiles(path);
  return trainingPage({ ...files, samples: readSamples(path), secondsLeft: secondsLeftOf(files.metrics) });
}

/** Builds the page. The files aren't trusted: all text is escaped, and values have been checked. */
export function trainingPage(training: ShownTraining): Page {
  const { about, summary, metrics, samples } = training;
  const { $schema: _, ...config } = { $schema: '', ...about?.config };
  const isRunning = summary.status === 'running';
  const lastTime = metrics.at(-1)?.time;
  const hasBaselines = metrics.some(({ kind }) => kind === 'baseline');
  return {
    title: `${isRunning ? `${percentText(training)} ` : ''}${basename(summary.path)}: ${titleOf(training).join(' ')}`,
    header: header(training),
    sections: sectionsOf(
      ['result', 'Result', headline(training)],
      ['alarms', 'Alarms', warningList(alarmViews(training))],
      ['use', summary.status === 'completed' ? 'Use it' : 'Resume', resultView(training)],
      ['course', 'Progress', chartsOf(training)],
      ['samples', 'Sample replies', samplesView(samples, summary)],
      ['baselines', hasBaselines ? 'Baselines' : 'Final result', baselinesView(training)],
      ['data', 'Data', dataView(training)],
      ['config', 'Config', about !== undefined && preformatted(stringify(config))],
    ),
    footer: lastTime !== undefined && writtenByNote(packageVersion(), lastTime),
  };
}

function titleOf({ summary: { model, on, path, unit } }: TrainingRecords): readonly [string, string, string] {
  if (model === null || on === null) return [basename(path), '', ''];
  return [basename(model), unit === 'update' ? 'in' : 'trained on', basename(on)];
}

function header(training: ShownTraining): Content {
  const { about, summary } = training;
  const [subject, relation, object] = titleOf(training);
  const { config } = about ?? {};
  const { seed, device } = config ?? {};
  const isControl = (config?.reward as { readonly shuffle?: unknown } | undefined)?.shuffle === true;
  return pageHeader({
    kicker: html`${summary.unit === 'update' ? 'reinforcement learning' : 'training'} <b>${basename(summary.path)}</b>`,
    title: html`${subject}${relation !== '' && html` <span class="by">${relation}</span> ${object}`}`,
    status: summary.status,
    state: stateText(training),
    facts: [
      ['method', summary.method],
      ['objective', summary.objective],
      ['seed', typeof seed === 'number' && seed],
      ['device', typeof device === 'string' && device],
      ['control', isControl && 'returns are shuffled within groups, so nothing should be learned'],
      ['started', summary.started && formatTime(summary.started)],
    ],
  });
}

function stateText(training: ShownTraining): string {
  const { summary, secondsLeft } = training;
  const { note, status, steps, unit } = summary;
  if (status === 'running') {
    const leftText = secondsLeft === undefined ? '' : `, about ${formatDuration(1000 * secondsLeft)} left`;
    return `${unit} ${formatCount(steps.done)} of ${formatCount(steps.of)}, ${percentText(training)}${leftText}`;
  }
  if (status === 'completed') return note ?? `after all ${unit}s`;
  return { crashed: 'killed', interrupted: 'by the user', failed: note ?? '' }[status];
}

const percentText = ({ summary: { steps } }: ShownTraining): string =>
  steps.of === 0 ? '' : `${Math.floor((100 * steps.done) / steps.of)} %`;

/** Shows the best result, then the training loss and the amount of training. */
function headline({ summary, metrics }: ShownTraining): Content {
  const { best, episodes, first, seconds, steps, tokens, unit } = summary;
  const losses = metrics.flatMap(({ kind, loss, reward }) =>
    kind === 'step' && loss !== undefined && reward === undefined ? [loss] : [],
  );
  const validationSeconds = metrics.reduce(
    (sum, metric) =>
      sum + (metric.kind === 'validation' || metric.kind === 'evaluation' ? metric.seconds : 0),
    0,
  );
  const maxRss = largest(metrics.flatMap(({ rssBytes }) => (typeof rssBytes === 'number' ? rssBytes : [])));
  const margin = best?.margin ? ` ± ${formatNumber(best.margin, 2)}` : '';
  return html`<dl class="headline main">
${
  best === null
    ? tile('Best result', '–', notEvaluatedText(summary.status))
    : tile(
        `Best ${best.name}`,
        html`${measurementText(best)}${margin !== '' && html`<span class="muted">${margin}</span>`}`,
        html`at ${unit} ${formatCount(best.step)}${episodesText(best)}${first !== null && first.step !== best.step && html`; <b>${measurementText(first)}</b> at ${unit} ${formatCount(first.step)}`}`,
        'confirmed',
      )
}
${losses.length > 0 && tile('Training loss', smoothedLoss(losses).toFixed(4), html`mean over the latest steps; <b>${losses[0]!.toFixed(4)}</b> at step 1`)}
</dl>
<dl class="headline">
${tile(unit === 'step' ? 'Steps' : 'Updates', formatCount(steps.done), `of ${formatCount(steps.of)}`)}
${episodes !== null && tile('Episodes', formatCompact(episodes), 'played in training')}
${tokens !== null && tile('Tokens', formatCompact(tokens), episodes === null ? 'read in training' : 'sampled')}
${tile('Time', formatDuration(1000 * seconds), validationSeconds > 0 && `${formatDuration(1000 * validationSeconds)} of it in ${unit === 'step' ? 'validations' : 'evaluations'}`)}
${maxRss > 0 && Number.isFinite(maxRss) && tile('Memory', formatBytes(maxRss), 'peak')}
</dl>`;
}

function labelsFor({ about, summary, metrics }: ShownTraining): TrainingChartOptions {
  const limit = about?.config.maxGradientNorm;
  const isProposer = about?.config.tasks !== undefined;
  const quantity = metrics.findLast(({ kind }) => kind === 'start')?.measured ?? 'mean return';
  return {
    unit: summary.unit,
    quantity: `held-out ${quantity}`,
    rewardTitle: isProposer ? 'Reward of proposals in training' : 'Return in training',
    ...(typeof limit === 'number' && { maxGradientNorm: limit }),
  };
}

function chartsOf(training: ShownTraining): Content {
  const labels = labelsFor(training);
  const charts = trainingCharts(training.metrics, labels);
  if (charts.length === 0) return html`<p class="empty">No ${labels.unit}s yet.</p>`;
  const isLarge = ({ height = 320 }: Chart) => height > 200;
  const chartFigures = (own: readonly Chart[]) => own.map((chart) => chartFigure(chart));
  return html`<div class="training-charts">${chartFigures(charts.filter(isLarge))}<div class="charts">${chartFigures(charts.filter((chart) => !isLarge(chart)))}</div></div>`;
}

/** Lists the failure, a changed dataset, and each distinct alarm once, even if several sessions raised it. */
function alarmViews({ about, summary }: ShownTraining): readonly Content[] {
  const shownAlarms = [
    ...summary.alarms.map(({ hint, message, step }) => ({
      ...{ message, hint },
      when: step === 0 ? '' : `${capitalize(summary.unit)} ${formatCount(step)}: `,
    })),
    summary.status === 'failed' &&
      summary.note !== null && { message: summary.note, hint: about?.outcome?.hint ?? null, when: '' },
    about?.dataset.changed === true && {
      message: "the dataset's rows have changed since its manifest was written",
      hint: 'rebuild the dataset, unless the change was intended',
      when: '',
    },
  ].filter((alarm) => alarm !== false);
  const distinctAlarms = new Map(shownAlarms.map((alarm) => [alarm.message, alarm]));
  return [...distinctAlarms.values()].map(
    ({ hint, message, when }) =>
      html`${when}${message}${hint !== null && html`<br /><span class="muted">${hint}</span>`}`,
  );
}

function resultView({ about, summary }: ShownTraining): Content {
  const { best, command, folder, path, result, status, unit } = summary;
  const cwd = folder ?? path;
  if (status !== 'completed') {
    const failureNote = ' once the cause is fixed; different settings need a new output directory';
    return command === null
      ? html`<p>To resume from the last checkpoint, repeat the command that started the training run.</p>`
      : html`<p>This command resumes from the last checkpoint${status === 'failed' && failureNote}:</p>
${preformatted(command)}`;
  }
  const useCommand = commandToUse(summary, cwd);
  const weights =
    best === null || about?.config.result === 'last'
      ? `the weights after the last ${unit}`
      : `the weights at ${unit} ${formatCount(best.step)}, which had the best ${best.name}`;
  return html`<p>The result${result !== null && html` (<code>${shownPath(result, cwd)}</code>)`} contains ${weights}.${useCommand !== null && ' On the command line:'}</p>
${useCommand !== null && preformatted(useCommand)}`;
}
