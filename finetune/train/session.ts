/** Runs any kind of training in its output directory: lock, record, progress, commands, lineage and result. */

import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { styleText } from 'node:util';
import { type CommandContext, exitCodeOf, shownPath } from '../../src/base/context.js';
import { messageOf, UserError } from '../../src/base/errors.js';
import { openPage } from '../../src/base/open-page.js';
import { formatDuration, plural } from '../../src/format/numbers.js';
import { shellWord } from '../../src/format/one-line.js';
import { createProgress, type Progress } from '../../src/format/progress.js';
import type { Figure } from '../../src/format/progress-line.js';
import { watchStopRequests } from '../../src/runs/stop-request.js';
import type { Sample } from '../../src/runs/training/samples.js';
import { finalText, type TrainingAbout, trainingOf } from '../../src/runs/training/trainings.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { lockRun } from '../../src/storage/lock.js';
import { type DatasetLineage, type Training, trainingState, writeLineage } from '../dataset/lineage.js';
import type { StepLoss } from '../engine/checkpoint.js';
import { createMeter, type LoggedEvent, type Recording, type Timed, TrainingRecord } from './record.js';

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
  readonly ended: 'complete' | 'early' | 'interrupted';
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

export interface SessionHooks<E> {
  onEvent(event: E): void;
  /** Receives an evaluation's samples before the evaluation's event. */
  onSamples(step: number, samples: readonly Sample[]): void;
  /** Checked after every step; if true, the run writes a checkpoint and ends. */
  stop(): boolean;
}

export interface TrainingJob<E extends LoggedEvent, T extends Trained>
  extends Omit<Recording<Timed<E>>, 'about'> {
  readonly command: 'train' | 'rl';
  readonly output: string;
  readonly unit: 'step' | 'update';
  readonly about: Omit<Training, 'outcome'>;
  show(progress: Progress, metric: Timed<E>, metrics: readonly Timed<E>[]): void;
  /** @param metrics returns the metrics of the whole run */
  train(hooks: SessionHooks<E>, metrics: () => readonly Timed<E>[]): Promise<T>;
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
export async function runTraining<E extends LoggedEvent, T extends Trained>(
  job: TrainingJob<E, T>,
  args: TrainingArguments,
  context: CommandContext,
): Promise<number> {
  const checkpoint = join(job.output, trainingFiles.checkpoint);
  if (args.finish && !existsSync(checkpoint))
    throw new UserError({
      field: '--finish',
      value: checkpoint,
      message: 'this training run has no checkpoint yet',
      remedy: 'run it without --finish first',
    });
  mkdirSync(job.output, { recursive: true });
  const release = lockRun(join(job.output, trainingFiles.lock));
  try {
    return await lockedTraining(job, args, context);
  } finally {
    release();
  }
}

async function lockedTraining<E extends LoggedEvent, T extends Trained>(
  job: TrainingJob<E, T>,
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
  const record = new TrainingRecord<Timed<E>>(job.output, {
    ...{ about, secondsLeft: job.secondsLeft, scalars: job.scalars },
  });
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
  ...{ method, base: { model }, dataset, outcome: { ended: 'running', step: 0 }, ...given },
  // Convert to JSON and back, so that this equals the config in the file.
  config: JSON.parse(JSON.stringify(config)) as TrainingAbout['config'],
});

/** Outcome of a failed run for `training.json`. */
function failedOutcome(error: unknown, metrics: readonly { readonly step: number }[]) {
  const [problem] = error instanceof UserError ? error.problems : [];
  const { message, remedy } = problem ?? { message: messageOf(error) };
  const step = metrics.at(-1)?.step ?? 0;
  return { ended: 'failed', step, message, ...(remedy !== undefined && { remedy }) };
}

async function recorded<E extends LoggedEvent, T extends Trained>(
  job: TrainingJob<E, T>,
  record: TrainingRecord<Timed<E>>,
  onStart: () => void,
  args: TrainingArguments,
  context: CommandContext,
): Promise<T> {
  const { cwd, milliseconds, note, now } = context;
  const pagePath = join(job.output, trainingFiles.page);
  const progress = createProgress(args, context);
  const measured = createMeter({ now, milliseconds, memory: () => process.memoryUsage.rss() });
  const requests = watchStopRequests(job.output, context.stop);
  const add = (metric: Timed<E>) => {
    record.add(metric);
    if (metric.kind === 'start' && args.open) void openPage(pagePath, context);
    if (metric.kind === 'start' && !args.json && !args.quiet)
      note(`watch the progress in ${shownPath(pagePath, cwd)}`);
    if (args.json) progress.emit(metric);
    else job.show(progress, metric, record.metrics);
  };
  try {
    return await job.train(
      {
        onEvent(event) {
          const metric = measured(event);
          if (metric.kind === 'start') {
            onStart();
          }
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

export function beginProgress(
  progress: Progress,
  { step, totalSteps }: { readonly step: number; readonly totalSteps: number },
  label: 'step' | 'update',
): void {
  if (step > 0) progress.say(`resuming from the checkpoint after ${label} ${step}`);
  progress.begin({ label, total: totalSteps, value: step, timed: false });
}

/** Shows an alarm, even in quiet mode. */
export function showAlarm(
  progress: Progress,
  alarm: { readonly message: string; readonly remedy: string },
): void {
  progress.alert(`${styleText('yellow', 'alarm')} ${alarm.message}\n  remedy: ${alarm.remedy}`);
}

/** Remaining time for the progress line; omitted in the last half second. */
export const timeLeft = (seconds: number | undefined): readonly Figure[] =>
  seconds === undefined || seconds < 0.5
    ? []
    : [{ text: `${formatDuration(1000 * Math.round(seconds))} left` }];
