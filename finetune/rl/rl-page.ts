/** `index.html` of a reinforcement learning: its result, its course, its settings. */

import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { version } from '../../src/base/package.js';
import { type Html, html, preformatted } from '../../src/format/html.js';
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
import { page, type Section } from '../../src/report/page/page.js';
import { tile } from '../../src/report/views/overview.js';
import { largest } from '../../src/statistics/descriptive.js';
import { alarmList } from '../dataset/dataset-page.js';
import { stepChart } from '../train/training-charts.js';
import { followed, type TrainingStatus } from '../train/training-page.js';
import type { RlConfig } from './rl-config.js';
import type { RlMetric, RlMetricOf } from './rl-record.js';

export interface RlReport {
  /** The command line that made it, and goes on with it. */
  readonly command: string;
  readonly config: RlConfig;
  /** All metrics of the learning, in order; with a `start`. */
  readonly metrics: readonly RlMetric[];
  readonly status: TrainingStatus;
}

/** The whole page is one file, which loads nothing; texts from outside are escaped. */
export function renderRlPage(report: RlReport): string {
  const { config, metrics, status } = report;
  const { $schema: _, ...settings } = config;
  const steps = metrics.filter((metric) => metric.kind === 'step');
  const evaluations = metrics.filter((metric) => metric.kind === 'evaluation');
  const notices = alarms(report);
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: headline(report, steps, evaluations) },
    notices && { id: 'alarms', title: 'Alarms', content: notices },
    { id: 'use', title: isDone(status) ? 'Use it' : 'Go on', content: use(report) },
    { id: 'course', title: 'Course', content: course(steps, evaluations) },
    { id: 'config', title: 'Config', content: preformatted(stringify(settings)) },
  ];
  const name = basename(config.output);
  return page({
    following: status.kind === 'running' ? followed(metrics) : undefined,
    title: `${name}: ${basename(config.model)} in ${config.environment.id}`,
    header: header(report),
    sections: sections.filter((section) => section !== undefined),
    footer: html`<p>State as of ${formatTime(metrics.at(-1)?.time ?? '')}. Written by policyloop ${version()}.</p>`,
  });
}

const isDone = ({ kind }: TrainingStatus) => kind === 'complete' || kind === 'early';

function header({ config, metrics, status }: RlReport): Html {
  const state = isDone(status) ? 'completed' : status.kind;
  const last = metrics.at(-1);
  const total = metrics.findLast((metric) => metric.kind === 'start')?.totalSteps ?? 0;
  const left =
    status.kind === 'running' && status.secondsLeft !== undefined
      ? `, about ${formatDuration(1000 * status.secondsLeft)} left`
      : '';
  const text =
    status.kind === 'failed'
      ? status.message
      : `${formatCount(last?.step ?? 0)} of ${formatCount(total)} updates${left}`;
  return html`<header>
<p class="kicker">policyloop reinforcement learning <b>${basename(config.output)}</b></p>
<h1>${basename(config.model)} <span class="by">in</span> ${config.environment.id}</h1>
<p class="state"><span class="status ${state}">${state}</span> ${text}</p>
<dl class="facts">
<div><dt>objective</dt><dd>${config.objective.kind}</dd></div>
<div><dt>method</dt><dd>${config.method.kind}</dd></div>
<div><dt>seed</dt><dd>${config.seed}</dd></div>
${config.reward.shuffle && html`<div><dt>control</dt><dd>returns are shuffled within groups: nothing should be learnt</dd></div>`}
</dl>
</header>`;
}

function headline(
  { metrics }: RlReport,
  steps: readonly RlMetricOf<'step'>[],
  evaluations: readonly RlMetricOf<'evaluation'>[],
): Html {
  const best = evaluations.findLast((evaluation) => evaluation.best);
  const first = evaluations[0];
  const total = (of: readonly RlMetric[]) => of.reduce((sum, { seconds }) => sum + seconds, 0);
  const sampling = steps.reduce((sum, step) => sum + step.samplingSeconds, 0);
  const sampled = steps.reduce((sum, step) => sum + step.sampledTokens, 0);
  return html`<dl class="headline main">
${best && first ? tile('Best mean return', formatNumber(best.meanReward, 4), html`of ${plural(best.episodes, 'held-out episode')} after update ${formatCount(best.step)}; <b>${formatNumber(first.meanReward, 4)}</b> after update ${formatCount(first.step)}`, 'confirmed') : tile('Best mean return', '–', 'nothing was evaluated yet')}
</dl>
<dl class="headline">
${tile('Updates', formatCount(steps.at(-1)?.step ?? 0), `of ${formatCount(steps.at(-1)?.totalSteps ?? 0)}`)}
${tile('Sampled', formatCompact(sampled), 'tokens')}
${tile('Time', formatDuration(1000 * total(metrics)), `${formatDuration(1000 * sampling)} of it in episodes to learn from`)}
${metrics.length > 0 && tile('Memory', formatBytes(largest(metrics.map(({ rssBytes }) => rssBytes))), 'the most that was seen')}
</dl>`;
}

/** A chart over updates. */
const chart: typeof stepChart = (steps, title, value, options = {}) =>
  stepChart(steps, title, value, { xTitle: 'Update', ...options });

const share = (value: number) => `${formatNumber(100 * value, 3)} %`;

function course(
  steps: readonly RlMetricOf<'step'>[],
  evaluations: readonly RlMetricOf<'evaluation'>[],
): Html {
  if (steps.length === 0) return html`<p class="empty">There was no update yet.</p>`;
  const held = evaluations.map((evaluation) => ({ ...evaluation, step: Math.max(1, evaluation.step) }));
  const withKl = steps.filter(({ kl }) => kl !== undefined);
  return html`<div class="charts">
${chart(held, 'Mean return, held out', ({ meanReward }) => meanReward)}
${chart(steps, 'Mean return of the episodes', ({ reward }) => reward)}
${chart(steps, 'Spread of the returns in groups', ({ spread }) => spread)}
${chart(steps, 'Groups without variance', ({ flat }) => flat, { format: share, most: 1 })}
${chart(steps, 'Entropy (nats a token)', ({ entropy }) => entropy)}
${withKl.length > 0 && chart(withKl, 'KL to the reference (nats a token)', ({ kl }) => kl ?? Number.NaN)}
${chart(steps, 'KL of sampler and trainer', ({ mismatch }) => mismatch)}
${chart(steps, 'Clipped ratios', ({ clipShare }) => clipShare, { format: share, most: 1 })}
${chart(steps, 'Replies that name an action', ({ valid }) => valid, { format: share, most: 1 })}
${chart(steps, 'Tokens of a reply', ({ replyTokens }) => replyTokens)}
${chart(steps, 'Turns of an episode', ({ turns }) => turns)}
${chart(steps, 'Norm of the gradient', ({ gradientNorm }) => gradientNorm)}
${chart(steps, 'Tokens a second', ({ tokensPerSecond }) => tokensPerSecond ?? Number.NaN, { format: formatCompact })}
</div>`;
}

function alarms({ metrics, status }: RlReport): Html | undefined {
  const found = [
    ...(status.kind === 'failed' ? [status] : []),
    ...metrics.flatMap((metric) =>
      metric.kind === 'alarm'
        ? [{ message: `Update ${formatCount(metric.step)}: ${metric.message}`, remedy: metric.remedy }]
        : [],
    ),
  ];
  return found.length === 0 ? undefined : alarmList(found);
}

function use({ command, config, status }: RlReport): Html {
  if (status.kind !== 'complete' && status.kind !== 'early')
    return html`<p>The same command continues from the last checkpoint:</p>
${preformatted(command)}`;
  const result = join(config.output, basename(status.result));
  const overrides =
    config.method.kind === 'lora'
      ? [`model.path=${config.model}`, `model.adapter=${result}`]
      : [`model.path=${result}`];
  return html`<p>The result holds the weights of the best evaluation. On the command line:</p>
${preformatted(['policyloop run CONFIG model.provider=local', ...overrides.map(shellWord)].join(' '))}`;
}
