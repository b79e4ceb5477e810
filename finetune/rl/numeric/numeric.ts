/** Trains a configured numeric policy in its output directory, with lock, record, live progress and result. */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { styleText } from 'node:util';
import { type CommandContext, exitCodeOf, shownPath } from '../../../src/base/context.js';
import { openPage } from '../../../src/base/open-page.js';
import {
  formatBytes,
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
} from '../../../src/format/numbers.js';
import { shellWord } from '../../../src/format/one-line.js';
import { createProgress, type Progress } from '../../../src/format/progress.js';
import { requireRuntime } from '../../../src/models/local/engine/require-runtime.js';
import { trainingFiles } from '../../../src/runs/training-files.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { lockRun } from '../../../src/storage/lock.js';
import { type Training, type TrainingState, trainingState, writeLineage } from '../../dataset/lineage.js';
import { machineMemory } from '../../train/memory-estimate.js';
import { createMeter } from '../../train/metrics.js';
import { failed, failedOutcome } from '../../train/pages/frame.js';
import { steeredTraining } from '../../train/steering.js';
import { forecastNumeric } from './forecast-numeric.js';
import { loadNumericConfig, type NumericConfig, policyText } from './numeric-config.js';
import { numericPage } from './numeric-page.js';
import { type NumericMetric, NumericRecord } from './numeric-record.js';
import { type NumericOutcome, trainNumeric } from './train-numeric.js';

interface NumericArguments {
  readonly config: string;
  readonly overrides: readonly string[];
  readonly quiet: boolean;
  /** Open the run's page in a browser when training starts. */
  readonly open?: boolean | undefined;
  readonly json: boolean;
  readonly dryRun: boolean;
}

/** Last line of `--json` output. */
export interface NumericSummary {
  readonly ended: 'complete' | 'interrupted';
  /** Completed updates. */
  readonly step: number;
  /** Episodes trained on, and their total steps. */
  readonly episodes: number;
  readonly steps: number;
  /** Mean return of the best policy on held-out episodes that were used for nothing else; null if interrupted. */
  readonly meanReturn: number | null;
  /** The same mean for each baseline search, by name. */
  readonly baselines: Readonly<Record<string, number>>;
  /** Directory of the policy. */
  readonly result: string | null;
  readonly report: string;
  readonly output: string;
}

/** Starts training, or resumes it from an existing checkpoint. Returns the exit code. */
export async function numeric(args: NumericArguments, context: CommandContext): Promise<number> {
  const config = loadNumericConfig(args.config, args.overrides, context.cwd, context.note);
  requireRuntime();
  if (args.dryRun) {
    const found = await forecastNumeric(config, {
      milliseconds: context.milliseconds,
      memory: () => process.memoryUsage.rss(),
    });
    context.print(args.json ? JSON.stringify(found) : describedForecast(found, machineMemory().free));
    return 0;
  }
  mkdirSync(config.output, { recursive: true });
  const release = lockRun(join(config.output, trainingFiles.lock));
  try {
    return await trainInto(config, args, context);
  } finally {
    release();
  }
}

/** Trains while holding the output's lock. */
async function trainInto(
  config: NumericConfig,
  args: NumericArguments,
  context: CommandContext,
): Promise<number> {
  const { cwd } = context;
  const file = shownPath(resolve(cwd, args.config), cwd);
  const command = ['policyloop finetune rl', ...[file, ...args.overrides].map(shellWord)].join(' ');
  const record = new NumericRecord(config.output, (metrics, status) =>
    numericPage({ command, config, metrics, status }),
  );
  const state = trainingState(config.output, aboutOf(config, 0), { command, folder: cwd });
  const outcome = await recorded(config, record, state, args, context).catch((error: unknown) => {
    state.fail(failedOutcome(error, record.metrics));
    throw error;
  });
  const { ended, step, episodes, steps, returns, baselines } = outcome;
  const lineage = state.end({ ended, step, best: bestOf(record.metrics) }, aboutOf(config, episodes).dataset);
  if (outcome.result !== undefined) writeLineage(outcome.result, lineage);
  const result = outcome.result === undefined ? null : shownPath(outcome.result, cwd);
  await record.end(result === null ? { kind: 'interrupted' } : { kind: 'complete', result });
  const summary: NumericSummary = {
    ...{ ended, step, episodes, steps },
    meanReturn: returns === undefined ? null : mean(returns),
    baselines: Object.fromEntries(baselines.map((one) => [one.name, mean(one.returns)])),
    result,
    report: shownPath(join(config.output, trainingFiles.page), cwd),
    output: shownPath(config.output, cwd),
  };
  context.print(args.json ? JSON.stringify(summary) : described(summary, record.metrics, command));
  return exitCodeOf(ended === 'interrupted' ? ended : 'completed');
}

/** @param episodes number of episodes trained on */
function aboutOf(config: NumericConfig, episodes: number): Omit<Training, 'outcome'> {
  const { environment, policy, seed } = config;
  const model = policy.kind === 'transformer' ? policy.path : policyText(policy);
  const source = {
    run: 'played while learning',
    environment: environment.id,
    model,
    seed,
    hash: '',
  } as const;
  return {
    method: policy.kind === 'mlp' ? 'scratch' : policy.trained === 'head' ? 'head' : 'full',
    model,
    dataset: {
      path: environment.id,
      recipe: 'rl',
      sources: [{ ...source, split: 'train', kept: episodes }],
      files: {},
      changed: false,
    },
    config,
  };
}

function bestOf(metrics: readonly NumericMetric[]): Training['outcome']['best'] {
  const best = metrics.findLast((metric) => metric.kind === 'evaluation' && metric.best);
  return best?.kind === 'evaluation' ? { step: best.step, loss: -best.meanReturn } : undefined;
}

/** Trains, updating the record and the display; failures are recorded, too. */
async function recorded(
  config: NumericConfig,
  record: NumericRecord,
  state: TrainingState,
  args: NumericArguments,
  context: CommandContext,
): Promise<NumericOutcome> {
  const { milliseconds, now, note } = context;
  const progress = createProgress(args, context);
  const measured = createMeter({ now, milliseconds, memory: () => process.memoryUsage.rss() });
  const steered = steeredTraining(config.output, context, (event) => {
    // The time of a pause doesn't count as training time.
    const metric = { ...measured(event), ...(event.action === 'resume' && { seconds: 0 }) };
    record.add(metric);
    if (args.json) progress.emit(metric);
  });
  try {
    return await trainNumeric(config, {
      note,
      onEvent(event) {
        const metric: NumericMetric = measured(event);
        if (metric.kind === 'start') {
          state.begin();
          steered.begin(() => record.metrics.at(-1)?.step ?? 0);
        }
        record.add(metric);
        if (metric.kind === 'start' && args.open)
          void openPage(join(config.output, trainingFiles.page), context);
        if (args.json) progress.emit(metric);
        else show(progress, metric, record.secondsLeft);
      },
      stop: steered.stop,
      rest: steered.rest,
    });
  } catch (error) {
    await record.end(failed(error));
    throw error;
  } finally {
    steered.close();
    progress.close();
  }
}

function describedForecast(
  { episodes, memory, most, parameters, seconds, steps }: Awaited<ReturnType<typeof forecastNumeric>>,
  free: number,
): string {
  return [
    `parameters  ${formatCount(parameters)}`,
    `memory      about ${formatBytes(memory)}, ${formatBytes(free)} free`,
    `episodes    about ${formatCompact(episodes)} of ${formatCompact(steps)} steps together, and evaluations${most === null || most.steps <= steps ? '' : `; ${formatCompact(most.steps)} steps at the most, should it learn to go on`}`,
    `time        about ${formatDuration(1000 * seconds)} at the speed of an update that was tried${most === null || most.steps <= steps ? '' : `, ${formatDuration(1000 * most.seconds)} at the most`}, and the baselines`,
  ].join('\n');
}

function show(progress: Progress, metric: NumericMetric, secondsLeft: number | undefined): void {
  switch (metric.kind) {
    case 'start':
      if (metric.step > 0) progress.say(`goes on from the checkpoint of update ${metric.step}`);
      progress.begin({ label: 'update', total: metric.totalSteps, value: metric.step, timed: false });
      break;
    case 'step':
      progress.update(metric.step, [
        { text: `return ${formatNumber(metric.reward, 4)}` },
        { text: `${metric.episodes} episodes` },
        ...(secondsLeft === undefined || secondsLeft < 0.5
          ? []
          : [{ text: `${formatDuration(1000 * Math.round(secondsLeft))} left` }]),
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

function described(
  { baselines, ended, episodes, meanReturn, report, result, step }: NumericSummary,
  metrics: readonly NumericMetric[],
  command: string,
): string {
  const time = formatDuration(1000 * metrics.reduce((sum, { seconds }) => sum + seconds, 0));
  const beside = Object.entries(baselines).map(([name, score]) => `${name} ${formatNumber(score, 4)}`);
  return [
    `${styleText('bold', ended)} after ${step} updates, ${episodes} episodes and ${time}${meanReturn === null ? '' : `, mean return ${formatNumber(meanReturn, 4)}`}`,
    ...(beside.length === 0 ? [] : [`beside it  ${beside.join(', ')}`]),
    result === null ? `go on      ${command}` : `result     ${result}`,
    `report     ${report}`,
  ].join('\n');
}
