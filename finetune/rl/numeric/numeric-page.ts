/** `index.html` of a numeric policy's training run: result and baselines, progress, settings. */
import { type Content, type Html, html } from '../../../src/format/html.js';
import {
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  plural,
} from '../../../src/format/numbers.js';
import { htmlTable, number, text } from '../../../src/format/table.js';
import { tile } from '../../../src/report/views/overview.js';
import { mean, standardDeviation } from '../../../src/statistics/descriptive.js';
import type { Page } from '../../../src/web/page.js';
import {
  type TrainingFrame,
  type TrainingReport,
  type TrainingStatus,
  trainingPage,
} from '../../train/page-frame.js';
import { stepChart } from '../../train/training-charts.js';
import { type NumericConfig, policyText } from './numeric-config.js';
import type { NumericMetric, NumericMetricOf } from './train-numeric.js';

type NumericReport = TrainingReport<NumericConfig, NumericMetric>;

/** Builds the page. External text is escaped. */
export function numericPage(report: NumericReport): Page {
  const { command, config, metrics, status } = report;
  const steps = metrics.filter((metric) => metric.kind === 'step');
  const frame: TrainingFrame = {
    what: 'reinforcement learning',
    subject: config.algorithm.kind.toUpperCase(),
    relation: 'in',
    object: config.environment.id,
    unit: 'update',
    early: 'after all episodes',
    facts: [
      ['policy', policyText(config.policy)],
      ['seed', config.seed],
    ],
    ...{ command, config, metrics, status },
  };
  return trainingPage(frame, headline(report, steps), use(status), [
    { id: 'baselines', title: 'Baselines', content: comparison(metrics) },
    { id: 'course', title: 'Progress', content: course(steps, metrics) },
  ]);
}

function use(status: TrainingStatus): Content {
  if (status.kind !== 'complete' && status.kind !== 'early') return '';
  return html`<p>The parameters of the best evaluation and the observation moments are in <code>${status.result}</code>.</p>`;
}

function headline({ metrics }: NumericReport, steps: readonly NumericMetricOf<'step'>[]): Html {
  const best = metrics.findLast((metric) => metric.kind === 'evaluation' && metric.best);
  const last = steps.at(-1);
  const seconds = metrics.reduce((sum, metric) => sum + metric.seconds, 0);
  return html`<dl class="headline main">
${best?.kind === 'evaluation' ? tile('Best mean return', formatNumber(best.meanReturn, 4), `held out, after update ${formatCount(best.step)}`, 'confirmed') : tile('Best mean return', '–', 'no evaluation yet')}
</dl>
<dl class="headline">
${tile('Updates', formatCount(last?.step ?? 0), '')}
${tile('Episodes', formatCount(last?.episodes ?? 0), `${formatCompact(last?.steps ?? 0)} steps`)}
${tile('Time', formatDuration(1000 * seconds), '')}
</dl>`;
}

function comparison(metrics: readonly NumericMetric[]): Html {
  const played = metrics.filter((metric) => metric.kind === 'final' || metric.kind === 'baseline');
  if (played.length === 0)
    return html`<p class="empty">Available when training ends: returns on episodes that were used for nothing else.</p>`;
  const rows = played.map((metric) => ({
    label: metric.kind === 'final' ? 'this policy' : `${metric.label}, simple policies`,
    episodes: metric.episodes,
    centre: formatNumber(mean(metric.returns), 4),
    spread: formatNumber(standardDeviation(metric.returns), 3),
    count: metric.returns.length,
  }));
  return html`${htmlTable(rows, [
    text('', ({ label }) => label),
    number('training episodes', ({ episodes }) => episodes),
    text('mean return', ({ centre }) => centre),
    text('standard deviation', ({ spread }) => spread),
  ])}
<p class="note">Each over ${plural(rows[0]!.count, 'episode')} from the same starts, which were used for nothing else.</p>`;
}

function course(steps: readonly NumericMetricOf<'step'>[], metrics: readonly NumericMetric[]): Html {
  if (steps.length === 0) return html`<p class="empty">No updates yet.</p>`;
  const held = metrics.filter((metric) => metric.kind === 'evaluation');
  const clipped = steps.filter(({ clipShare }) => clipShare !== undefined);
  return html`<div class="charts">
${held.length > 0 && stepChart(held, 'Mean return, held out', ({ meanReturn }) => meanReturn)}
${stepChart(steps, 'Mean return in training', ({ reward }) => reward)}
${stepChart(steps, 'KL divergence per update (nats)', ({ kl }) => kl)}
${stepChart(steps, 'Entropy (nats)', ({ entropy }) => entropy)}
${stepChart(steps, 'Value loss', ({ valueLoss }) => valueLoss)}
${stepChart(steps, 'Gradient norm', ({ gradientNorm }) => gradientNorm)}
${clipped.length > 0 && stepChart(clipped, 'Share of clipped ratios', ({ clipShare }) => clipShare ?? Number.NaN)}
</div>`;
}
