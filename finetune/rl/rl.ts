import type { CommandContext } from '../../src/base/context.js';
import { formatBytes, formatCompact, formatNumber, plural } from '../../src/format/numbers.js';
import type { Progress } from '../../src/format/progress.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { shownModel } from '../../src/models/local/settings.js';
import { secondsLeftOf } from '../../src/runs/training/trainings.js';
import type { Scalars } from '../../src/storage/tensorboard.js';
import { type DatasetLineage, playedLineage } from '../dataset/lineage.js';
import { orOutOfMemory } from '../engine/training-session.js';
import { trainedOf, writeResult } from '../train/method.js';
import {
  beginProgress,
  runTraining,
  type SessionHooks,
  type SessionSummary,
  showAlarm,
  type Trained,
  type TrainingArguments,
  timeLeft,
} from '../train/session.js';
import { modelParameters, openLearning, type PlannedLearning, planLearning } from './assemble.js';
import type { Evaluated, RlEvent, RlMetric } from './events.js';
import { learnOnline, type OnlineOutcome } from './online.js';
import {
  environmentsOf,
  type LearningConfig,
  loadLearningConfig,
  placeOf,
  usedAs,
  wordsOf,
} from './rl-config.js';

/** Last line of `--json` output. */
interface RlSummary extends SessionSummary {
  /** Mean of this session's last evaluation (with sampled replies); null if there was none. */
  readonly meanReward: number | null;
  /** Mean return of the policies proposed in that evaluation; proposers only. */
  readonly policyReturn?: number;
  readonly best: Pick<Evaluated, 'step' | 'meanReward'> | null;
}

/** Starts or resumes training. Returns the exit code. */
export async function rl(args: TrainingArguments, context: CommandContext): Promise<number> {
  const config = loadLearningConfig(args.config, args.overrides, context.cwd, context.note);
  requireRuntime();
  const plan = planLearning(config, context.env);
  const { milliseconds } = context;
  const words = wordsOf(config);
  return runTraining<RlEvent, OnlineOutcome & Trained>(
    {
      ...{ command: 'rl', output: config.output, unit: 'update', scalars, secondsLeft: secondsLeftOf },
      about: { ...trainedOf(config.method), model: config.model, config, dataset: episodesOf(config, 0) },
      show: (progress, metric, metrics) => show(progress, metric, metrics, words),
      train: (hooks, metrics) => learn(plan, args.finish === true, hooks, metrics, milliseconds),
      dataset: ({ step }) => episodesOf(config, step),
      summary: ({ best, last }) =>
        ({
          meanReward: last?.meanReward ?? null,
          ...(last?.policyReturn !== undefined && { policyReturn: last.policyReturn }),
          best: best ?? null,
        }) satisfies Partial<RlSummary>,
      more: ({ ended, step }) =>
        config.result === 'last' && ended !== 'interrupted'
          ? [`weights    those of the last update, ${step} (result=last)`]
          : [],
      use: (result) => usedAs(config, shownModel(config.model, context.cwd), result),
    },
    args,
    context,
  );
}

async function learn(
  plan: PlannedLearning,
  finish: boolean,
  hooks: SessionHooks<RlEvent>,
  metrics: () => readonly RlMetric[],
  milliseconds: () => number,
): Promise<OnlineOutcome & Trained> {
  const { config, decoder, method } = plan;
  const learning = await openLearning(plan);
  try {
    const outcome = await orOutOfMemory('learning', () =>
      learnOnline(learning, {
        ...hooks,
        measured: wordsOf(config).measured,
        milliseconds,
        earlier: () => metrics().filter((metric) => metric.kind === 'step'),
        isSpent: () => finish || isSpent(config, metrics()),
      }),
    );
    const { chosen, ended } = outcome;
    const lowest = chosen && { step: chosen.step, loss: -chosen.meanReward };
    if (ended === 'interrupted') return { ...outcome, lowest, result: undefined };
    const parameters = modelParameters(decoder, learning.trainable, outcome.parameters);
    const { model, output } = config;
    return { ...outcome, lowest, result: await writeResult({ model, method, output }, parameters) };
  } finally {
    await learning.close();
  }
}

function isSpent({ limits }: LearningConfig, metrics: readonly RlMetric[]): boolean {
  const total = (of: (metric: RlMetric) => number) => metrics.reduce((sum, metric) => sum + of(metric), 0);
  const tokens = total((metric) => (metric.kind === 'step' ? metric.sampledTokens : 0));
  return (
    (limits.tokens !== undefined && tokens >= limits.tokens) ||
    (limits.minutes !== undefined && total(({ seconds }) => seconds) >= 60 * limits.minutes)
  );
}

function episodesOf(config: LearningConfig, step: number): DatasetLineage {
  const { groups, groupSize, model, seed } = config;
  const kept = [...environmentsOf(config)].map(
    ([environment, share]) => [environment, Math.round(step * groups * groupSize * share)] as const,
  );
  return playedLineage(placeOf(config), model, seed, Object.fromEntries(kept));
}

function scalars(metric: RlMetric): Scalars {
  if (metric.kind === 'evaluation')
    return { 'return/held out': metric.meanReward, 'return/of policies': metric.policyReturn };
  if (metric.kind !== 'step') return {};
  return {
    'return/sampled': metric.reward,
    'return/spread in groups': metric.spread,
    'return/groups without variance': metric.flat,
    'policy/entropy': metric.entropy,
    'policy/kl to the reference': metric.kl,
    'policy/clip share': metric.clipShare,
    'policy/mismatch': metric.mismatch,
    'policy/explained variance': metric.explainedVariance,
    'replies/tokens': metric.replyTokens,
    'replies/valid': metric.valid,
    'loss/train': metric.loss,
    learning_rate: metric.learningRate,
    gradient_norm: metric.gradientNorm,
    tokens_per_second: metric.tokensPerSecond,
  };
}

function show(
  progress: Progress,
  metric: RlMetric,
  metrics: readonly RlMetric[],
  { counted, measured, relative }: ReturnType<typeof wordsOf>,
): void {
  switch (metric.kind) {
    case 'start':
      progress.say(`${metric.totalSteps} updates of ${metric.episodes} episodes`);
      beginProgress(progress, metric, 'update');
      break;
    case 'step': {
      const { policyReturn, reward, rssBytes, step, tokensPerSecond } = metric;
      // The mean of ranks never changes, and gains depend on earlier policies; the policies' own return shows progress.
      progress.update(step, [
        { text: `return ${formatNumber(relative && policyReturn !== undefined ? policyReturn : reward, 3)}` },
        ...(tokensPerSecond === undefined ? [] : [`${formatCompact(tokensPerSecond)} tok/s`]),
        formatBytes(rssBytes),
        ...timeLeft(secondsLeftOf(metrics)),
      ]);
      break;
    }
    case 'evaluation':
      progress.say(
        `update ${metric.step}  ${measured} ${formatNumber(metric.meanReward, 4)} ± ${formatNumber(metric.margin, 2)} over ${plural(metric.episodes, counted)}${metric.policyReturn === undefined ? '' : `, mean return of the proposed policies ${formatNumber(metric.policyReturn, 4)}`}${metric.best ? ', the best so far' : ''}`,
      );
      break;
    case 'baseline':
      progress.say(`${metric.label}: mean best return per run ${formatNumber(metric.bestReturn, 4)}`);
      break;
    case 'alarm':
      showAlarm(progress, metric);
      break;
    default:
  }
}
