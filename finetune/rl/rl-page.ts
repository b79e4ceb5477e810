/** `index.html` of a reinforcement learning run: result, progress, settings. */
import { basename } from 'node:path';
import { type Content, type Html, html, preformatted } from '../../src/format/html.js';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  plural,
} from '../../src/format/numbers.js';
import { htmlTable, text } from '../../src/format/table.js';
import { tile } from '../../src/report/views/overview.js';
import { largest } from '../../src/statistics/descriptive.js';
import type { Page } from '../../src/web/page.js';
import { methodText } from '../train/method.js';
import { type TrainingFrame, type TrainingReport, trainingPage } from '../train/page-frame.js';
import { stepChart } from '../train/training-charts.js';
import type { RlMetric, RlMetricOf } from './events.js';
import { isProposer, type LearningConfig, placeOf, usedAs, wordsOf } from './rl-config.js';

type RlReport = TrainingReport<LearningConfig, RlMetric>;

/** Builds the page. External text is escaped. */
export function rlPage(report: RlReport): Page {
  const { command, config, metrics, status } = report;
  const steps = metrics.filter((metric) => metric.kind === 'step');
  const evaluations = metrics.filter((metric) => metric.kind === 'evaluation');
  const frame: TrainingFrame = {
    what: 'reinforcement learning',
    subject: basename(config.model),
    relation: 'in',
    object: placeOf(config),
    unit: 'update',
    early: 'at a limit',
    facts: [
      ['objective', config.objective.kind],
      ['method', methodText(config.method)],
      ['seed', config.seed],
      ...(config.reward.shuffle
        ? [['control', 'returns are shuffled within groups, so nothing should be learned'] as const]
        : []),
    ],
    ...{ command, config, metrics, status },
  };
  const rivals = comparison(report, evaluations);
  return trainingPage(frame, headline(report, steps, evaluations), use(report), [
    ...(rivals === undefined ? [] : [{ id: 'baselines', title: 'Baselines', content: rivals }]),
    { id: 'course', title: 'Progress', content: course(config, steps, evaluations) },
  ]);
}

function headline(
  { config, metrics }: RlReport,
  steps: readonly RlMetricOf<'step'>[],
  evaluations: readonly RlMetricOf<'evaluation'>[],
): Html {
  const { counted, measured } = wordsOf(config);
  const title = `Best ${measured}`;
  const best = evaluations.findLast((evaluation) => evaluation.best);
  const first = evaluations[0];
  const total = (of: readonly RlMetric[]) => of.reduce((sum, { seconds }) => sum + seconds, 0);
  const sampling = steps.reduce((sum, step) => sum + step.samplingSeconds, 0);
  const sampled = steps.reduce((sum, step) => sum + step.sampledTokens, 0);
  return html`<dl class="headline main">
${best && first ? tile(title, formatNumber(best.meanReward, 4), html`of ${plural(best.episodes, counted)} after update ${formatCount(best.step)}; <b>${formatNumber(first.meanReward, 4)}</b> after update ${formatCount(first.step)}`, 'confirmed') : tile(title, '–', 'no evaluation yet')}
</dl>
<dl class="headline">
${tile('Updates', formatCount(steps.at(-1)?.step ?? 0), `of ${formatCount(steps.at(-1)?.totalSteps ?? 0)}`)}
${tile('Sampled', formatCompact(sampled), 'tokens')}
${tile('Time', formatDuration(1000 * total(metrics)), `${formatDuration(1000 * sampling)} of it spent sampling`)}
${metrics.length > 0 && tile('Memory', formatBytes(largest(metrics.map(({ rssBytes }) => rssBytes))), 'peak')}
</dl>`;
}

const capitalised = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

const chart: typeof stepChart = (steps, title, value, options = {}) =>
  stepChart(steps, title, value, { xTitle: 'Update', ...options });

/** Compares the model with the baselines on the held-out runs, each with the same number of episodes. */
function comparison(
  { metrics }: RlReport,
  evaluations: readonly RlMetricOf<'evaluation'>[],
): Html | undefined {
  const searches = metrics.filter((metric) => metric.kind === 'baseline');
  const [first, best] = [evaluations[0], evaluations.findLast((evaluation) => evaluation.best)];
  const episodes = searches[0]?.episodes;
  if (episodes === undefined || first?.bestReturn === undefined || best?.bestReturn === undefined)
    return undefined;
  const rows = [
    { label: `the model after update ${formatCount(best.step)}`, bestReturn: best.bestReturn },
    { label: `the model after update ${formatCount(first.step)}`, bestReturn: first.bestReturn },
    ...searches,
  ];
  return html`${htmlTable(rows, [
    text('', ({ label }) => label),
    text('best return per run', ({ bestReturn }) => formatNumber(bestReturn, 4)),
  ])}
<p class="note">Means over ${plural(first.episodes, 'held-out run')} with ${formatCount(Math.round(episodes))} episodes each on average. All searches use the same episodes and start from the same random policies.</p>`;
}

function course(
  config: LearningConfig,
  steps: readonly RlMetricOf<'step'>[],
  evaluations: readonly RlMetricOf<'evaluation'>[],
): Html {
  if (steps.length === 0) return html`<p class="empty">No updates yet.</p>`;
  const { measured, sampled, spread, valid } = wordsOf(config);
  const proposed = evaluations.filter(({ policyReturn }) => policyReturn !== undefined);
  const withValues = steps.filter(({ explainedVariance }) => explainedVariance !== undefined);
  const withKl = steps.filter(({ kl }) => kl !== undefined);
  return html`<div class="charts">
${chart(evaluations, `${capitalised(measured)}, held out`, ({ meanReward }) => meanReward)}
${proposed.length > 0 && chart(proposed, 'Mean return of the proposed policies, held out', ({ policyReturn }) => policyReturn ?? Number.NaN)}
${chart(steps, sampled, ({ reward }) => reward)}
${chart(steps, spread, (step) => step.spread)}
${chart(steps, 'Groups without variance', ({ flat }) => flat, { kind: 'share', most: 1 })}
${chart(steps, 'Entropy (nats per token)', ({ entropy }) => entropy)}
${withKl.length > 0 && chart(withKl, 'KL from the reference (nats per token)', ({ kl }) => kl ?? Number.NaN)}
${withValues.length > 0 && chart(withValues, 'Explained variance of returns', ({ explainedVariance }) => explainedVariance ?? Number.NaN, { kind: 'share', most: 1 })}
${chart(steps, 'KL between sampler and trainer', ({ mismatch }) => mismatch)}
${chart(steps, 'Clipped ratios', ({ clipShare }) => clipShare, { kind: 'share', most: 1 })}
${chart(steps, valid, (step) => step.valid, { kind: 'share', most: 1 })}
${chart(steps, 'Tokens per reply', ({ replyTokens }) => replyTokens)}
${chart(steps, 'Turns per episode', ({ turns }) => turns)}
${chart(steps, 'Gradient norm', ({ gradientNorm }) => gradientNorm)}
${chart(steps, 'Tokens per second', ({ tokensPerSecond }) => tokensPerSecond ?? Number.NaN, { kind: 'compact' })}
</div>`;
}

function use({ config, status }: RlReport): Content {
  if (status.kind !== 'complete' && status.kind !== 'early') return '';
  return html`<p>The result contains the weights of the best evaluation. On the command line:</p>
${preformatted(`policyloop ${isProposer(config) ? 'run' : 'play'} CONFIG ${usedAs(config, config.model, status.result)}`)}`;
}
