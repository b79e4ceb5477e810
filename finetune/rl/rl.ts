import type { CommandContext } from '../../src/base/context.js';
import { formatBytes, formatNumber, plural } from '../../src/base/text/numbers.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { shownModel } from '../../src/models/local/settings.js';
import { secondsLeftOf } from '../../src/runs/training/trainings.js';
import { type DatasetLineage, playedLineage } from '../dataset/lineage.js';
import { orOutOfMemory } from '../engine/training-session.js';
import { speedText } from '../train/display.js';
import { type Evaluated, isPolicyStep, type Metric, type MetricOf } from '../train/events.js';
import { trainedOf, writeResult } from '../train/method.js';
import {
  runTraining,
  type SessionHooks,
  type SessionSummary,
  type Trained,
  type TrainingArguments,
} from '../train/session.js';
import { modelParameters, openLearning, type PlannedLearning, planLearning } from './assemble.js';
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
  return runTraining<OnlineOutcome & Trained>(
    {
      command: 'rl',
      output: config.output,
      unit: 'update',
      secondsLeft: secondsLeftOf,
      about: { ...trainedOf(config.method), model: config.model, config, dataset: episodesOf(config, 0) },
      figures: (step) => figuresOf(step, words),
      line: (metric) => lineOf(metric, words),
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
  hooks: SessionHooks,
  metrics: () => readonly Metric[],
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
        earlier: () => metrics().flatMap((metric) => (isPolicyStep(metric) ? [metric] : [])),
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

function isSpent({ limits }: LearningConfig, metrics: readonly Metric[]): boolean {
  const total = (of: (metric: Metric) => number) => metrics.reduce((sum, metric) => sum + of(metric), 0);
  const tokens = total((metric) => (metric.kind === 'step' ? (metric.sampledTokens ?? 0) : 0));
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

type Words = ReturnType<typeof wordsOf>;

function figuresOf(metric: MetricOf<'step'>, { relative }: Words) {
  const { policyReturn, reward = Number.NaN, tokensPerSecond } = metric;
  return [
    // The mean of ranks never changes, and gains depend on earlier policies; the policies' own return shows progress.
    { text: `return ${formatNumber(relative && policyReturn !== undefined ? policyReturn : reward, 3)}` },
    ...speedText(tokensPerSecond),
    formatBytes(metric.rssBytes),
  ];
}

function lineOf(metric: Metric, { counted, measured }: Words): string | undefined {
  switch (metric.kind) {
    case 'start':
      return `${metric.totalSteps} updates of ${metric.episodes} episodes`;
    case 'evaluation':
      return `update ${metric.step}  ${measured} ${formatNumber(metric.meanReward, 4)} ± ${formatNumber(metric.margin ?? 0, 2)} over ${plural(metric.episodes, counted)}${metric.policyReturn === undefined ? '' : `, mean return of the proposed policies ${formatNumber(metric.policyReturn, 4)}`}${metric.best ? ', the best so far' : ''}`;
    case 'baseline':
      return `${metric.label}: mean best return per run ${formatNumber(metric.bestReturn ?? Number.NaN, 4)}`;
    default:
      return undefined;
  }
}
