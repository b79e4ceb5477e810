/** Runs any kind of training in its output directory: lock, record, progress, commands, lineage and result. */

import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { styleText } from 'node:util';
import { type CommandContext, exitCodeOf, shownPath } from '../../src/base/context.js';
import { messageOf, UserError } from '../../src/base/errors.js';
import { lockRun } from '../../src/base/files/lock.js';
import { openPage } from '../../src/base/open-page.js';
import { formatDuration, plural } from '../../src/base/text/numbers.js';
import { shellWord } from '../../src/base/text/one-line.js';
import { createProgress } from '../../src/base/text/progress.js';
import { watchStopRequests } from '../../src/runs/stop-request.js';
import type { Sample } from '../../src/runs/training/samples.js';
import { finalText, type TrainingAbout, trainingOf } from '../../src/runs/training/trainings.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { type DatasetLineage, type Training, trainingState, writeLineage } from '../dataset/lineage.js';
import type { StepLoss } from '../engine/checkpoint.js';
import { type Display, showMetric } from './display.js';
import type { Metric, TrainingEvent } from './events.js';
import type { Ended } from './loop.js';
import { createMeter, TrainingRecord } from './record.js';

export interface TrainingArguments {
  readonly config: string;
  readonly overrides: readonly string[];
  readonly quiet: boolean;
  /** If true, opens the run's page in a browser when training starts. */
  readonly open?: boolean | undefined;
  /** If true, takes no further steps; the result comes from the checkpoint. */
  readonly finish?: boolean | undefined;
  readonly json: boolean;
}

export interface Trained {
  readonly ended: Ended;
  /** Number of completed steps or updates. */
  readonly step: number;
  /**
   * The evaluation with the lowest loss or, in reinforcement learning, the highest return, as a negative loss; with
   * `result: last`, the last evaluation.
   */
  readonly lowest: StepLoss | undefined;
  /** Directory of the adapter, model or policy; undefined if training was interrupted. */
  readonly result: string | undefined;
}

export interface SessionHooks {
  onEvent(event: TrainingEvent): void;
  /** Receives an evaluation's samples before the evaluation's event. */
  onSamples(step: number, samples: readonly Sample[]): void;
  /** Checked after every step; if true, the run writes a checkpoint and ends. */
  stop(): boolean;
}

interface TrainingJob<T extends Trained> extends Display {
  readonly command: 'train' | 'rl';
  readonly output: string;
  readonly about: Omit<Training, 'outcome'>;
  /** @param metrics returns the metrics of the whole run */
  train(hooks: SessionHooks, metrics: () => readonly Metric[]): Promise<T>;
  /** Returns the dataset if it is known only at the end. */
  dataset?(trained: T): DatasetLineage;
  /** Additional fields of the last `--json` line for this kind of training. */
  summary(trained: T): object;
  more?(trained: T): readonly string[];
  /** Command-line settings to use the result. */
  use?(result: string): string;
}

/** Fields that the last line of `--json` output has for every kind of training. */
export interface SessionSummary {
  readonly ended: Trained['ended'];
  /** Number of completed steps or updates. */
  readonly step: number;
  /** Directory of the adapter, model or policy; null if training was interrupted. */
  readonly result: string | null;
  readonly report: string;
  readonly output: string;
}

/**
 * Starts or resumes training. Returns the exit code.
 * @throws UserError if there is no checkpoint to finish from
 */
export async function runTraining<T extends Trained>(
  job: TrainingJob<T>,
  args: TrainingArguments,
  context: CommandContext,
): Promise<number> {
  const checkpoint = join(job.output, trainingFiles.checkpoint);
  if (args.finish && !existsSync(checkpoint))
    throw new UserError({
      field: '--finish',
      value: checkpoint,
      message: 'this training run has no checkpoint yet',
      hint: 'run it without --finish first',
    });
  mkdirSync(job.output, { recursive: true });
  const release = lockRun(join(job.output, trainingFiles.lock));
  try {
    return await lockedTraining(job, args, context);
  } finally {
    release();
  }
}

async function lockedTraining<T extends Trained>(
  job: TrainingJob<T>,
  args: TrainingArguments,
  context: CommandContext,
): Promise<number> {
  const { cwd } = context;
  const file = shownPath(resolve(cwd, args.config), cwd);
  const command = [`policyloop finetune ${job.command}`, ...[file, ...args.overrides].map(shellWord)].join(
    ' ',
  );
  const given = { command, folder: cwd };
  const about = aboutAtStart(job.about, given);
  const record = new TrainingRecord(job.output, { about, secondsLeft: job.secondsLeft });
  const state = trainingState(job.output, job.about, given);
  const outcome = await recorded(job, record, () => state.begin(), args, context).catch(
    async (error: unknown) => {
      const outcome = failedOutcome(error, record.metrics);
      await record.end({ outcome });
      state.fail(outcome);
      throw error;
    },
  );
  const { ended, step, lowest } = outcome;
  const result = outcome.result === undefined ? null : shownPath(outcome.result, cwd);
  const use = result === null ? undefined : job.use?.(result);
  const lineage = state.end({ ended, step, best: lowest }, job.dataset?.(outcome), use);
  if (outcome.result !== undefined) writeLineage(outcome.result, lineage);
  await record.end({ outcome: { ended, step }, ...(use !== undefined && { use }) });
  const report = shownPath(join(job.output, trainingFiles.page), cwd);
  const summary = {
    ended,
    step,
    ...job.summary(outcome),
    result,
    report,
    output: shownPath(job.output, cwd),
  };
  const time = formatDuration(1000 * record.metrics.reduce((sum, { seconds }) => sum + seconds, 0));
  const final = finalText(trainingOf(job.output, undefined, record.read, false).facts);
  const figures = [`after ${plural(step, job.unit)} and ${time}`, ...(final === null ? [] : [final])].join(
    ', best ',
  );
  const lines = [
    `${styleText('bold', ended)} ${figures}`,
    ...(job.more?.(outcome) ?? []),
    ...(result === null
      ? [`resume     ${command}`, 'end here   add --finish to write what was learned so far']
      : [`result     ${result}`]),
    ...(use === undefined ? [] : [`run it     ${use}`]),
    `report     ${report}`,
  ];
  context.print(args.json ? JSON.stringify(summary satisfies SessionSummary) : lines.join('\n'));
  return exitCodeOf(ended === 'interrupted' ? ended : 'completed');
}

const aboutAtStart = (
  { config, dataset, method, model }: Omit<Training, 'outcome'>,
  given: { readonly command: string; readonly folder: string },
): TrainingAbout => ({
  method,
  base: { model },
  dataset,
  outcome: { ended: 'running', step: 0 },
  ...given,
  // Convert to JSON and back, so that this equals the config in the file.
  config: JSON.parse(JSON.stringify(config)) as TrainingAbout['config'],
});

/** Outcome of a failed run for `training.json`. */
function failedOutcome(error: unknown, metrics: readonly { readonly step: number }[]) {
  const [problem] = error instanceof UserError ? error.problems : [];
  const { message, hint } = problem ?? { message: messageOf(error) };
  const step = metrics.at(-1)?.step ?? 0;
  return { ended: 'failed', step, message, ...(hint !== undefined && { hint }) };
}

async function recorded<T extends Trained>(
  job: TrainingJob<T>,
  record: TrainingRecord,
  onStart: () => void,
  args: TrainingArguments,
  context: CommandContext,
): Promise<T> {
  const { cwd, milliseconds, note, now } = context;
  const pagePath = join(job.output, trainingFiles.page);
  const progress = createProgress(args, context);
  const measured = createMeter({ now, milliseconds, memory: () => process.memoryUsage.rss() });
  const requests = watchStopRequests(job.output, context.stop);
  const add = (metric: Metric) => {
    record.add(metric);
    if (metric.kind === 'start' && args.open) void openPage(pagePath, context);
    if (metric.kind === 'start' && !args.json && !args.quiet)
      note(`watch the progress in ${shownPath(pagePath, cwd)}`);
    if (args.json) progress.emit(metric);
    else showMetric(progress, metric, record.metrics, job);
  };
  try {
    return await job.train(
      {
        onEvent(event) {
          const metric = measured(event);
          if (metric.kind === 'start') onStart();
          add(metric);
        },
        onSamples: (step, samples) => record.addSamples(step, samples),
        stop: () => requests.stop.finish.aborted,
      },
      () => record.metrics,
    );
  } finally {
    requests.close();
    progress.close();
  }
}
