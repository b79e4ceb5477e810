/** `index.html` of the training of a numeric policy: its result beside the baselines, its course, its settings. */
import { basename } from 'node:path';
import { stringify } from 'yaml';
import { version } from '../../../src/base/package.js';
import { type Html, html, preformatted } from '../../../src/format/html.js';
import {
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
  plural,
} from '../../../src/format/numbers.js';
import { htmlTable, number, text } from '../../../src/format/table.js';
import { page, type Section } from '../../../src/report/page/page.js';
import { tile } from '../../../src/report/views/overview.js';
import { mean, standardDeviation } from '../../../src/statistics/descriptive.js';
import { stepChart } from '../../train/training-charts.js';
import { followed, type TrainingStatus } from '../../train/training-page.js';
import type { NumericConfig } from './numeric-config.js';
import type { NumericMetric, NumericMetricOf } from './numeric-record.js';

export interface NumericReport {
  /** The command line that made it, and goes on with it. */
  readonly command: string;
  readonly config: NumericConfig;
  /** All metrics of the training, in order; with a `start`. */
  readonly metrics: readonly NumericMetric[];
  readonly status: TrainingStatus;
}

/** The whole page is one file, which loads nothing; texts from outside are escaped. */
export function renderNumericPage(report: NumericReport): string {
  const { command, config, metrics, status } = report;
  const { $schema: _, ...settings } = config;
  const steps = metrics.filter((metric) => metric.kind === 'step');
  const isOver = status.kind === 'complete' || status.kind === 'early';
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: headline(report, steps) },
    { id: 'baselines', title: 'Beside it', content: comparison(metrics) },
    isOver
      ? undefined
      : {
          id: 'use',
          title: 'Go on',
          content: html`<p>The same command continues from the last checkpoint:</p>${preformatted(command)}`,
        },
    { id: 'course', title: 'Course', content: course(steps, metrics) },
    { id: 'config', title: 'Config', content: preformatted(stringify(settings)) },
  ];
  return page({
    following: status.kind === 'running' ? followed(metrics) : undefined,
    title: `${basename(config.output)}: ${config.algorithm.kind} in ${config.environment.id}`,
    header: header(report, steps),
    sections: sections.filter((section) => section !== undefined),
    footer: html`<p>State as of ${formatTime(metrics.at(-1)?.time ?? '')}. Written by policyloop ${version()}.</p>`,
  });
}

function header({ config, metrics, status }: NumericReport, steps: readonly NumericMetricOf<'step'>[]): Html {
  const state = status.kind === 'complete' || status.kind === 'early' ? 'completed' : status.kind;
  const total = metrics.findLast((metric) => metric.kind === 'start')?.totalSteps ?? 0;
  const left =
    status.kind === 'running' && status.secondsLeft !== undefined
      ? `, about ${formatDuration(1000 * status.secondsLeft)} left`
      : '';
  const said =
    status.kind === 'failed'
      ? status.message
      : `${formatCount(steps.at(-1)?.step ?? 0)} of ${formatCount(total)} updates${left}`;
  return html`<header>
<p class="kicker">policyloop reinforcement learning <b>${basename(config.output)}</b></p>
<h1>${config.algorithm.kind.toUpperCase()} <span class="by">in</span> ${config.environment.id}</h1>
<p class="state"><span class="status ${state}">${state}</span> ${said}</p>
<dl class="facts">
<div><dt>policy</dt><dd>${config.policy.kind}</dd></div>
<div><dt>seed</dt><dd>${config.seed}</dd></div>
</dl>
</header>`;
}

function headline({ metrics }: NumericReport, steps: readonly NumericMetricOf<'step'>[]): Html {
  const best = metrics.findLast((metric) => metric.kind === 'evaluation' && metric.best);
  const last = steps.at(-1);
  const seconds = metrics.reduce((sum, metric) => sum + metric.seconds, 0);
  return html`<dl class="headline main">
${best?.kind === 'evaluation' ? tile('Best mean return', formatNumber(best.meanReturn, 4), `held out, after update ${formatCount(best.step)}`, 'confirmed') : tile('Best mean return', '–', 'nothing was evaluated yet')}
</dl>
<dl class="headline">
${tile('Updates', formatCount(last?.step ?? 0), '')}
${tile('Episodes', formatCount(last?.episodes ?? 0), `${formatCompact(last?.steps ?? 0)} steps`)}
${tile('Time', formatDuration(1000 * seconds), '')}
</dl>`;
}

/** The policy and the searches, all on the same starts, which nothing else saw. */
function comparison(metrics: readonly NumericMetric[]): Html {
  const played = metrics.filter((metric) => metric.kind === 'final' || metric.kind === 'baseline');
  if (played.length === 0)
    return html`<p class="empty">At the end the policy and the searches play episodes that nothing else saw.</p>`;
  const rows = played.map((metric) => ({
    label: metric.kind === 'final' ? 'this policy' : `${metric.label}, simple policies`,
    episodes: metric.episodes,
    centre: formatNumber(mean(metric.returns), 4),
    spread: formatNumber(standardDeviation(metric.returns), 3),
    count: metric.returns.length,
  }));
  return html`${htmlTable(rows, [
    text('', ({ label }) => label),
    number('episodes to learn from', ({ episodes }) => episodes),
    text('mean return', ({ centre }) => centre),
    text('standard deviation', ({ spread }) => spread),
  ])}
<p class="note">Each over ${plural(rows[0]!.count, 'episode')} on the same starts, which nothing else saw.</p>`;
}

function course(steps: readonly NumericMetricOf<'step'>[], metrics: readonly NumericMetric[]): Html {
  if (steps.length === 0) return html`<p class="empty">There was no update yet.</p>`;
  const held = metrics.filter((metric) => metric.kind === 'evaluation');
  const clipped = steps.filter(({ clipShare }) => clipShare !== undefined);
  return html`<div class="charts">
${held.length > 0 && stepChart(held, 'Mean return, held out', ({ meanReturn }) => meanReturn)}
${stepChart(steps, 'Mean return of the episodes', ({ reward }) => reward)}
${stepChart(steps, 'KL of the step (nats)', ({ kl }) => kl)}
${stepChart(steps, 'Entropy (nats)', ({ entropy }) => entropy)}
${stepChart(steps, 'Loss of the value function', ({ valueLoss }) => valueLoss)}
${stepChart(steps, 'Norm of the gradient', ({ gradientNorm }) => gradientNorm)}
${clipped.length > 0 && stepChart(clipped, 'Share of clipped ratios', ({ clipShare }) => clipShare ?? Number.NaN)}
</div>`;
}
