/** Parts of a training run's page: sample replies, baselines, and the dataset. */
import { shownPath } from '../../../base/context.js';
import { groupBy } from '../../../base/grouped.js';
import type { Content } from '../../../base/text/content.js';
import { html, preformatted } from '../../../base/text/html.js';
import { formatCount, formatNumber, formatReturn, plural } from '../../../base/text/numbers.js';
import { number, pageTable, text } from '../../../base/text/table.js';
import type { RecordedSample, Sample } from '../../../runs/training/samples.js';
import type { RecordedTraining, TrainingMetric, TrainingRecords } from '../../../runs/training/trainings.js';
import { mean, standardDeviation } from '../../../statistics/descriptive.js';
import { factList } from '../../study.js';
import { sampleEvenly } from '../data/shown-calls.js';

/** Maximum number of evaluations whose samples are shown; they are evenly spaced. */
const maxShown = 12;

/** Maximum number of samples per evaluation, because a malicious file may have any number. */
const maxSamples = 8;

/** Shows samples of evaluations, one section for each; only the last is expanded. */
export function samplesView(
  samples: readonly RecordedSample[],
  { steps, unit }: RecordedTraining,
): Content | undefined {
  if (samples.length === 0) return undefined;
  // Omit later samples: the training run resumed from an earlier checkpoint, and will record them again.
  const currentSamples = samples.filter(({ step }) => step <= steps.done);
  const shownGroups = sampleEvenly([...groupBy(currentSamples, ({ step }) => step)], maxShown);
  return html`<p class="note">Replies to the same held-out prompts, shortened.</p>
${shownGroups.map(([step, own], i) => html`<details open=${i === shownGroups.length - 1}><summary>${unit} ${formatCount(step)}</summary><div class="sampled">${own.slice(0, maxSamples).map(sampleView)}</div></details>`)}`;
}

function sampleView({ expected, omitted, score, turns }: Sample): Content {
  return html`<article>
${turns.map(
  ({ prompt, reply }, i) => html`<h3>${turns.length > 1 ? `Turn ${i + 1}` : 'Prompt'}</h3>
${preformatted(prompt)}
<h3>Reply</h3>
${preformatted(reply, 'answer')}`,
)}
${
  expected !== undefined &&
  html`<h3>Reply in the data${expected.trim() === turns[0]!.reply.trim() && html` <span class="muted">(identical)</span>`}</h3>
${preformatted(expected)}`
}
${omitted !== undefined && html`<p class="note">${plural(omitted, 'more turn')}</p>`}
${score !== undefined && html`<p class="note">${score === null ? 'no usable reply' : html`return <b>${formatReturn(score)}</b>`}</p>`}
</article>`;
}

/** Compares a model or policy with its baselines. Without baselines, shows the final result, except a proposer's. */
export function baselinesView({ summary, metrics }: TrainingRecords): Content | undefined {
  const evaluations = metrics.filter(
    ({ kind, bestReturn }) => kind === 'evaluation' && bestReturn !== undefined,
  );
  const baselineMetrics = metrics.filter(({ kind }) => kind === 'baseline');
  const hasReturns = evaluations.length === 0;
  const finalMetrics = metrics.filter(({ kind }) => hasReturns && kind === 'final');
  if (baselineMetrics.length + finalMetrics.length === 0) return undefined;
  const best = evaluations.findLast(({ best: isBest }) => isBest === true);
  const shownEvaluations = [...new Set([evaluations[0], best])].filter((metric) => metric !== undefined);
  const rows = [
    ...finalMetrics.map((metric) => rowOf(metric, 'this policy')),
    ...shownEvaluations.map((metric) => ({
      label: `the model after ${summary.unit} ${formatCount(metric.step)}`,
      value: metric.bestReturn,
      episodes: undefined,
      spread: undefined,
    })),
    ...baselineMetrics.map((metric) => rowOf(metric, metric.label ?? 'baseline')),
  ].filter(({ value }) => value !== undefined);
  const table = pageTable(rows, [
    text('', ({ label }) => label),
    number('training episodes', ({ episodes }) => episodes && formatCount(Math.round(episodes))),
    number(hasReturns ? 'mean return' : 'best return per run', ({ value }) => formatReturn(value)),
    number(hasReturns && 'standard deviation', ({ spread }) => spread && formatNumber(spread, 3)),
  ]);
  return html`${table}
<p class="note">${hasReturns ? `On fresh episodes, which were used for nothing else${baselineMetrics.length > 0 ? '; they are the same for all rows' : ''}.` : 'Means over the held-out runs. All searches use the same episodes and start from the same random policies.'}</p>`;
}

function rowOf({ bestReturn, episodes, returns }: TrainingMetric, label: string) {
  const finalReturns = returns !== undefined && returns.length > 0 ? returns : undefined;
  return {
    label,
    episodes,
    value: finalReturns ? mean(finalReturns) : bestReturn,
    spread: finalReturns && standardDeviation(finalReturns),
  };
}

/** Shows the dataset and its runs; undefined before training starts, and for reinforcement learning. */
export function dataView({ about, summary, metrics }: TrainingRecords): Content | undefined {
  if (about === undefined || summary.unit === 'update') return undefined;
  const { files = {}, path, recipe, sources } = about.dataset;
  const start = metrics.findLast(({ kind }) => kind === 'start');
  const splits = (['training', 'validation'] as const).flatMap((title) => {
    const split = start?.[title] as { readonly examples?: unknown; readonly tokens?: unknown } | undefined;
    const { examples, tokens } = split ?? {};
    return typeof examples === 'number' && typeof tokens === 'number' ? [{ title, examples, tokens }] : [];
  });
  return html`${factList([
    ['dataset', html`<code>${shownPath(path, summary.folder ?? summary.path)}</code>`],
    ['recipe', recipe],
    ...Object.entries(files).map(([name, hash]) => [name, html`<code>${hash.slice(0, 12)}</code>`] as const),
  ])}
${
  splits.length > 0 &&
  pageTable(splits, [
    text('', ({ title }) => title),
    number('examples', ({ examples }) => examples),
    number('tokens', ({ tokens }) => tokens),
  ])
}
${
  sources == null
    ? html`<p class="note">The dataset has no manifest, so the origin of its rows is unknown.</p>`
    : html`<details><summary>Built from ${plural(sources.length, 'run')}</summary>
${pageTable(
  sources,
  [
    text('run', ({ run }) => run),
    text('environment', ({ environment }) => environment),
    text('proposer', ({ model }) => model),
    number('seed', ({ seed }) => String(seed)),
    number('examples', ({ kept }) => kept),
    text('split', ({ split }) => split),
  ],
  { tall: true },
)}</details>`
}`;
}
