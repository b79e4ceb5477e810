/** Runs configured reinforcement learning in its output directory, with lock, record, live progress and lineage. */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { styleText } from 'node:util';
import { type CommandContext, exitCodeOf, shownPath } from '../../src/base/context.js';
import { openPage } from '../../src/base/open-page.js';
import { formatDuration, formatNumber } from '../../src/format/numbers.js';
import { shellWord } from '../../src/format/one-line.js';
import { requireRuntime } from '../../src/models/local/engine/require-runtime.js';
import { shownModel } from '../../src/models/local/settings.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { lockRun } from '../../src/storage/lock.js';
import {
  type DatasetLineage,
  type Training,
  type TrainingState,
  trainingState,
  writeLineage,
} from '../dataset/lineage.js';
import { orOutOfMemory } from '../engine/training-session.js';
import { writeResult } from '../train/method.js';
import { createMeter } from '../train/metrics.js';
import { failed, failedOutcome } from '../train/pages/frame.js';
import { steeredTraining } from '../train/steering.js';
import { modelParameters, openLearning, type PlannedLearning, planLearning } from './assemble.js';
import type { Evaluated } from './events.js';
import { describedForecast, forecast } from './forecast.js';
import {
  environmentsOf,
  type LearningConfig,
  loadLearningConfig,
  placeOf,
  usedAs,
  wordsOf,
} from './learning-config.js';
import { learnOnline, type OnlineOutcome } from './online.js';
import { createRlDisplay } from './rl-display.js';
import { rlPage } from './rl-page.js';
import { type RlMetric, RlRecord } from './rl-record.js';

interface RlArguments {
  readonly config: string;
  readonly overrides: readonly string[];
  readonly quiet: boolean;
  /** Open the run's page in a browser when training starts. */
  readonly open?: boolean | undefined;
  readonly json: boolean;
  readonly dryRun: boolean;
}

/** Last line of `--json` output. */
export interface RlSummary {
  readonly ended: 'complete' | 'early' | 'interrupted';
  /** Completed updates. */
  readonly step: number;
  /** Mean of this session's last evaluation (with sampled replies); null if there was none. */
  readonly meanReward: number | null;
  /** Mean return of the policies proposed in that evaluation; proposers only. */
  readonly policyReturn?: number;
  readonly best: Pick<Evaluated, 'step' | 'meanReward'> | null;
  /** Path of the adapter or model directory. */
  readonly result: string | null;
  readonly report: string;
  readonly output: string;
}

/** Starts training, or resumes it from an existing checkpoint. Returns the exit code. */
export async function rl(args: RlArguments, context: CommandContext): Promise<number> {
  const config = loadLearningConfig(args.config, args.overrides, context.cwd, context.note);
  requireRuntime();
  const plan = planLearning(config, context.env);
  if (args.dryRun) return dryRun(plan, args, context);
  mkdirSync(config.output, { recursive: true });
  const release = lockRun(join(config.output, trainingFiles.lock));
  try {
    return await learnInto(plan, args, context);
  } finally {
    release();
  }
}

async function dryRun(
  plan: PlannedLearning,
  { json }: RlArguments,
  { print, milliseconds }: CommandContext,
): Promise<number> {
  const found = await forecast(plan, { milliseconds, memory: () => process.memoryUsage.rss() });
  print(json ? JSON.stringify(found) : describedForecast(found, wordsOf(plan.config).played));
  return 0;
}

/** Trains while holding the output's lock. */
async function learnInto(plan: PlannedLearning, args: RlArguments, context: CommandContext): Promise<number> {
  const { cwd } = context;
  const { config } = plan;
  const file = shownPath(resolve(cwd, args.config), cwd);
  const command = ['policyloop finetune rl', ...[file, ...args.overrides].map(shellWord)].join(' ');
  const record = new RlRecord(config.output, (metrics, status) =>
    rlPage({ command, config, metrics, status }),
  );
  const state = trainingState(config.output, aboutOf(config), { command, folder: cwd });
  const outcome = await recorded(plan, record, state, args, context).catch((error: unknown) => {
    state.fail(failedOutcome(error, record.metrics));
    throw error;
  });
  const { ended, step, best, last, result } = outcome;
  const lineage = state.end(
    { ended, step, best: best && { step: best.step, loss: -best.meanReward } },
    episodesOf(config, step),
  );
  if (result !== undefined) writeLineage(result, lineage);
  await record.end(
    result === undefined
      ? { kind: 'interrupted' }
      : { kind: ended === 'early' ? 'early' : 'complete', result: shownPath(result, cwd) },
  );
  const summary: RlSummary = {
    ended,
    step,
    meanReward: last?.meanReward ?? null,
    ...(last?.policyReturn !== undefined && { policyReturn: last.policyReturn }),
    best: best ?? null,
    result: result === undefined ? null : shownPath(result, cwd),
    report: shownPath(join(config.output, trainingFiles.page), cwd),
    output: shownPath(config.output, cwd),
  };
  context.print(
    args.json ? JSON.stringify(summary) : described(summary, config, record.metrics, command, cwd),
  );
  return exitCodeOf(ended === 'interrupted' ? ended : 'completed');
}

type Learnt = OnlineOutcome & {
  /** Directory of the adapter or model; undefined if training was interrupted. */
  readonly result: string | undefined;
};

/** Trains, updating the record and the display; failures are recorded, too. */
async function recorded(
  plan: PlannedLearning,
  record: RlRecord,
  state: TrainingState,
  args: RlArguments,
  context: CommandContext,
): Promise<Learnt> {
  const { config } = plan;
  const { now, milliseconds } = context;
  const display = createRlDisplay(args, wordsOf(config), context);
  const measured = createMeter({ now, milliseconds, memory: () => process.memoryUsage.rss() });
  const steered = steeredTraining(config.output, context, (event) => {
    // The time of a pause doesn't count as training time.
    const metric = { ...measured(event), ...(event.action === 'resume' && { seconds: 0 }) };
    record.add(metric);
    display.show(metric, record.secondsLeft);
  });
  try {
    const learning = await openLearning(plan);
    try {
      const outcome = await orOutOfMemory('learning', () =>
        learnOnline(learning, {
          onEvent(event) {
            const metric: RlMetric = measured(event);
            if (metric.kind === 'start') {
              state.begin();
              steered.begin(() => record.metrics.at(-1)?.step ?? 0);
            }
            record.add(metric);
            if (metric.kind === 'start' && args.open)
              void openPage(join(config.output, trainingFiles.page), context);
            if (metric.kind === 'start' && !args.json && !args.quiet)
              context.note(`follow it in ${shownPath(join(config.output, trainingFiles.page), context.cwd)}`);
            display.show(metric, record.secondsLeft);
          },
          milliseconds,
          earlier: () => record.metrics.filter((metric) => metric.kind === 'step'),
          stop: steered.stop,
          rest: steered.rest,
          isSpent: () => isSpent(config, record.metrics),
        }),
      );
      if (outcome.ended === 'interrupted') return { ...outcome, result: undefined };
      const parameters = modelParameters(plan.decoder, learning.trainable, outcome.parameters);
      const { model, output } = config;
      return { ...outcome, result: await writeResult({ model, method: plan.method, output }, parameters) };
    } finally {
      await learning.close();
    }
  } catch (error) {
    await record.end(failed(error));
    throw error;
  } finally {
    steered.close();
    display.close();
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

const aboutOf = (config: LearningConfig): Omit<Training, 'outcome'> => ({
  ...{ method: config.method.kind, model: config.model, config },
  dataset: episodesOf(config, 0),
});

/** Describes the episodes played so far as the run's dataset, for the lineage. */
function episodesOf(config: LearningConfig, step: number): DatasetLineage {
  const { groups, groupSize, model, seed } = config;
  const source = { run: 'played while learning', model, seed, hash: '', split: 'train' } as const;
  const played = step * groups * groupSize;
  return {
    path: placeOf(config),
    recipe: 'rl',
    sources: [...environmentsOf(config)].map(([environment, share]) => ({
      ...{ ...source, environment },
      kept: Math.round(played * share),
    })),
    files: {},
    changed: false,
  };
}

function described(
  { ended, step, best, meanReward, result, report }: RlSummary,
  config: LearningConfig,
  metrics: readonly RlMetric[],
  command: string,
  cwd: string,
): string {
  const time = formatDuration(1000 * metrics.reduce((sum, { seconds }) => sum + seconds, 0));
  const figures = [
    ...(meanReward === null ? [] : [`${wordsOf(config).measured} ${formatNumber(meanReward, 4)}`]),
    ...(!best ? [] : [`best ${formatNumber(best.meanReward, 4)} at update ${best.step}`]),
  ];
  return [
    `${styleText('bold', ended)} after ${[`${step} updates and ${time}`, ...figures].join(', ')}`,
    ...(result === null
      ? [`go on      ${command}`]
      : [`result     ${result}`, `run it     ${usedAs(config, shownModel(config.model, cwd), result)}`]),
    `report     ${report}`,
  ].join('\n');
}
