/** `finetune rl` for numeric policies. */
import process from 'node:process';
import type { CommandContext } from '../../../src/base/context.js';
import { machineMemory } from '../../../src/base/machine-memory.js';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
} from '../../../src/format/numbers.js';
import type { Progress } from '../../../src/format/progress.js';
import { requireRuntime } from '../../../src/models/local/engine/find-devices.js';
import { secondsLeftOf } from '../../../src/runs/training/trainings.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { playedLineage, type Training } from '../../dataset/lineage.js';
import {
  beginProgress,
  runTraining,
  type SessionSummary,
  type Trained,
  type TrainingArguments,
  timeLeft,
} from '../../train/session.js';
import { playEpisodes, type Start } from './algorithms/episodes.js';
import type { LearnerState } from './learner.js';
import { loadNumericConfig, type NumericConfig, policyText } from './numeric-config.js';
import {
  finalSeeds,
  type NumericEvent,
  type NumericMetric,
  type NumericOutcome,
  type OpenedTraining,
  trainNumeric,
  update,
  withTraining,
} from './train-numeric.js';

/** Last line of `--json` output. */
interface NumericSummary extends SessionSummary {
  /** Number of training episodes; `steps` is the number of steps in them. */
  readonly episodes: number;
  readonly steps: number;
  /** Mean return of the best policy on episodes that neither trained nor selected it; null if interrupted. */
  readonly meanReturn: number | null;
  /** Mean return of each baseline search on the same episodes, by name. */
  readonly baselines: Readonly<Record<string, number>>;
}

export async function numeric(
  args: TrainingArguments & { readonly dryRun: boolean },
  context: CommandContext,
): Promise<number> {
  const { milliseconds, note, print } = context;
  const config = loadNumericConfig(args.config, args.overrides, context.cwd, note);
  requireRuntime();
  if (args.dryRun) {
    const found = await forecastNumeric(config, { milliseconds, memory: () => process.memoryUsage.rss() });
    print(args.json ? JSON.stringify(found) : describedForecast(found, machineMemory().free));
    return 0;
  }
  return runTraining<NumericEvent, NumericOutcome & Trained>(
    {
      ...{ command: 'rl', output: config.output, unit: 'update', about: aboutOf(config) },
      ...{ show, secondsLeft: secondsLeftOf },
      async train(hooks, metrics) {
        const outcome = await trainNumeric(config, { ...hooks, note, finish: args.finish });
        const best = metrics().findLast((metric) => metric.kind === 'evaluation' && metric.best);
        const lowest = best?.kind === 'evaluation' ? { step: best.step, loss: -best.meanReturn } : undefined;
        return { ...outcome, lowest };
      },
      dataset: ({ episodes }) => episodesOf(config, episodes),
      summary: ({ baselines, episodes, returns, steps }) =>
        ({
          ...{ episodes, steps },
          meanReturn: returns === undefined ? null : mean(returns),
          baselines: Object.fromEntries(baselines.map((one) => [one.name, mean(one.returns)])),
        }) satisfies Partial<NumericSummary>,
      more({ baselines, returns }) {
        const all = [...(returns === undefined ? [] : [{ name: 'this policy', returns }]), ...baselines];
        const scores = all.map((one) => `${one.name} ${formatNumber(mean(one.returns), 4)}`);
        return scores.length === 0 ? [] : [`returns    ${scores.join(', ')} (means over fresh episodes)`];
      },
    },
    args,
    context,
  );
}

function aboutOf(config: NumericConfig): Omit<Training, 'outcome'> {
  const { policy } = config;
  const method = policy.kind === 'mlp' ? 'scratch' : policy.trained === 'head' ? 'head' : 'full';
  return { method, model: modelOf(policy), dataset: episodesOf(config, 0), config };
}

const modelOf = (policy: NumericConfig['policy']) =>
  policy.kind === 'transformer' ? policy.path : policyText(policy);

const episodesOf = ({ environment: { id }, policy, seed }: NumericConfig, kept: number) =>
  playedLineage(id, modelOf(policy), seed, { [id]: kept });

function describedForecast(
  { episodes, memory, most, parameters, seconds, steps }: Awaited<ReturnType<typeof forecastNumeric>>,
  free: number,
): string {
  const longer = most === null || most.steps <= steps ? undefined : most;
  return [
    `parameters  ${formatCount(parameters)}`,
    `memory      about ${formatBytes(memory)}, ${formatBytes(free)} free`,
    `episodes    about ${formatCompact(episodes)} with ${formatCompact(steps)} steps in total, plus evaluations${longer ? `; at most ${formatCompact(longer.steps)} steps if episodes get longer` : ''}`,
    `time        about ${formatDuration(1000 * seconds)} (estimated from a trial update)${longer ? `, at most ${formatDuration(1000 * longer.seconds)}` : ''}, plus time for the baselines`,
  ].join('\n');
}

function show(progress: Progress, metric: NumericMetric, metrics: readonly NumericMetric[]): void {
  switch (metric.kind) {
    case 'start':
      beginProgress(progress, metric, 'update');
      break;
    case 'step':
      progress.update(metric.step, [
        { text: `return ${formatNumber(metric.reward, 4)}` },
        { text: `${metric.episodes} episodes` },
        ...timeLeft(secondsLeftOf(metrics)),
      ]);
      break;
    case 'evaluation':
      progress.say(
        `update ${metric.step}  mean return ${formatNumber(metric.meanReturn, 4)}${metric.best ? ', the best so far' : ''}`,
      );
      break;
    case 'baseline':
      progress.say(
        `${metric.label}: mean return ${formatNumber(mean(metric.returns), 4)} after ${metric.episodes} episodes`,
      );
      break;
    default:
  }
}

interface NumericForecast {
  /** Number of parameters of the policy and the value function. */
  readonly parameters: number;
  /** Environment steps in all updates, if episodes are as long as in the trial. */
  readonly steps: number;
  /** Episodes in all updates. */
  readonly episodes: number;
  /** Seconds for training and evaluations, without the baselines. */
  readonly seconds: number;
  /** Upper limits, if every episode is as long as the environment allows; null if it sets no limit. */
  readonly most: { readonly steps: number; readonly seconds: number } | null;
  /** Memory of the process after the trial, in bytes. */
  readonly memory: number;
}

/** Minimum number of steps in the trial, unless a batch is shorter. */
const triedSteps = 2000;

/** `milliseconds` is a monotonic clock; `memory` returns the memory of the process in bytes. */
async function forecastNumeric(
  config: NumericConfig,
  { memory, milliseconds }: { milliseconds(): number; memory(): number },
): Promise<NumericForecast> {
  return withTraining(config, {}, async (tried) => {
    const { environments, learner } = tried;
    const state = learner.initial();
    const small = { ...tried, config: { ...config, batchSteps: Math.min(config.batchSteps, triedSteps) } };
    // Don't time the first update, because it allocates memory.
    await update({ ...small, config: { ...config, batchSteps: 1 } }, state);
    const before = { steps: state.steps, episodes: state.episodes };
    const started = milliseconds();
    await update(small, state);
    const each = (milliseconds() - started) / 1000 / (state.steps - before.steps);
    const length = (state.steps - before.steps) / (state.episodes - before.episodes);
    const playing = await timeOfPlay(tried, state, milliseconds);
    const totalsFor = (steps: number) => {
      const total = stepsOf(config, steps);
      return {
        steps: total.steps,
        seconds: each * total.steps + playing * total.evaluations * config.evaluation.episodes * steps,
      };
    };
    const { maxSteps } = environments[0]!;
    return {
      parameters: state.theta.length + state.valueTheta.length,
      ...totalsFor(length),
      episodes: Math.round(totalsFor(length).steps / length),
      most: maxSteps === undefined ? null : totalsFor(maxSteps),
      memory: memory(),
    };
  });
}

/** Total steps and evaluations if every episode has `length` steps. */
function stepsOf(config: NumericConfig, length: number): { steps: number; evaluations: number } {
  const unlimited = Number.POSITIVE_INFINITY;
  const episodes = Math.min(Math.ceil(config.batchSteps / length), config.batchEpisodes ?? unlimited);
  const all = Math.min(config.updates * episodes, config.maxEpisodes ?? unlimited);
  return {
    steps: Math.round(all * length),
    evaluations: Math.ceil(all / episodes / config.evaluation.every) + 1,
  };
}

/** Seconds per environment step when playing the most probable actions, measured over one episode. */
async function timeOfPlay(
  training: OpenedTraining,
  { theta, observed }: LearnerState,
  milliseconds: () => number,
): Promise<number> {
  const started = milliseconds();
  let steps = 0;
  const start: Start = { seed: finalSeeds(training.config)[0]!, actionSeed: undefined };
  const { environments, learner } = training;
  const actor = learner.actor({ theta, observed });
  const episodes = await playEpisodes(actor, environments, (index) => (index === 0 ? start : undefined));
  for (const episode of episodes ?? []) steps += episode.rewards.length;
  return (milliseconds() - started) / 1000 / Math.max(1, steps);
}
