/** Runs any kind of training in its output directory: lock → train, recording each event → lineage and summary. */
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { styleText } from 'node:util';
import { type CommandContext, exitCodeOf, shownPath } from '../../src/base/context.js';
import { messageOf, UserError } from '../../src/base/errors.js';
import { readJsonLines } from '../../src/base/files/json-lines.js';
import { isLocked, takeLock } from '../../src/base/files/lock.js';
import { openPage } from '../../src/base/open-page.js';
import { formatBytes, formatDuration, plural } from '../../src/base/text/numbers.js';
import { shellWord } from '../../src/base/text/one-line.js';
import { createProgress } from '../../src/base/text/progress.js';
import { configChanges } from '../../src/runs/fingerprint.js';
import { watchStopRequests } from '../../src/runs/stop-request.js';
import type { Sample } from '../../src/runs/training/samples.js';
import { bestMeasurementText, secondsLeftOf, summarizeTraining } from '../../src/runs/training/trainings.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import {
  type DatasetLineage,
  readLineage,
  type TrainingFacts,
  trainingLineage,
  writeLineage,
  writeTraining,
} from '../dataset/lineage.js';
import type { StepLoss } from '../engine/checkpoint.js';
import { type Check, createAlarmWatch } from './alarms.js';
import { type Display, showMetric } from './display.js';
import type { EventOf, Metric, TrainingEvent } from './events.js';
import type { TrainingEnding, TrainingHooks } from './loop.js';
import { createEventMeter, TrainingRecord } from './record.js';
import { fixedSettings } from './train-config.js';

export interface TrainingArguments {
  readonly config: string;
  readonly overrides: readonly string[];
  readonly quiet: boolean;
  /** If true, opens the run's page in a browser when training starts. */
  readonly open?: boolean | undefined;
  /** If true, takes no further steps; the result comes from the checkpoint. */
  readonly finish?: boolean | undefined;
  /** If true, reports what would be trained, and writes nothing to the output. */
  readonly dryRun?: boolean | undefined;
  readonly json: boolean;
}

export interface TrainingResult {
  readonly ended: TrainingEnding;
  /** Number of completed steps or updates. */
  readonly step: number;
  /**
   * The evaluation with the lowest loss or, in reinforcement learning, the highest return, as a negative loss; with
   * `result: last`, the last evaluation.
   */
  readonly lowest: StepLoss | undefined;
  /** Directory of the adapter, model or policy; undefined if training was interrupted before writing it. */
  readonly result: string | undefined;
}

interface TrainingJob<T extends TrainingResult> extends Display {
  readonly command: 'train' | 'rl';
  readonly output: string;
  readonly about: Omit<TrainingFacts, 'outcome'>;
  readonly checks: readonly Check[];
  /** Maximum minutes, and maximum tokens sampled in updates, of the whole run. */
  readonly limits?: { readonly minutes?: number | undefined; readonly tokens?: number | undefined };
  train(hooks: TrainingHooks): Promise<T>;
  /** Returns the dataset if it is known only at the end. */
  dataset?(trained: T): DatasetLineage;
  /** Additional fields of the last `--json` line for this kind of training. */
  summary(trained: T): object;
  extraLines?(trained: T): readonly string[];
  /** Returns the command that uses the result. */
  use?(result: string): string;
}

/**
 * Starts or resumes training. Returns the exit code.
 * @throws UserError if no checkpoint exists to finish from, another process writes to the output, or training fails
 */
export async function runTraining<T extends TrainingResult>(
  job: TrainingJob<T>,
  args: TrainingArguments,
  context: CommandContext,
): Promise<number> {
  const { output } = job;
  const { cwd } = context;
  const checkpoint = join(output, trainingFiles.checkpoint);
  if (args.finish && !existsSync(checkpoint))
    throw new UserError({
      ...{ field: '--finish', value: checkpoint, message: 'this training run has no checkpoint yet' },
      hint: isLocked(join(output, trainingFiles.lock))
        ? 'it is still running; wait for its first checkpoint, or stop it with Ctrl-C'
        : 'run it without --finish first',
    });
  if (args.dryRun) return dryRun(job, args, context);
  const commandWords = [shownPath(resolve(cwd, args.config), cwd), ...args.overrides].map(shellWord);
  const origin = { command: [`policyloop finetune ${job.command}`, ...commandWords].join(' '), folder: cwd };
  mkdirSync(output, { recursive: true });
  const release = takeLock(join(output, trainingFiles.lock));
  try {
    const record = new TrainingRecord(output);
    // A rejected training run must not change any files, so this is called once its checkpoint has been accepted.
    const begin = () => {
      const running = { ...job.about, outcome: { ended: 'running', step: 0 } };
      record.about = { ...writeTraining(output, running, origin), ...origin };
    };
    const trained = await recordEvents(job, record, begin, args, context).catch(async (thrown: unknown) => {
      const hasBegun = record.about !== undefined;
      const error = hasBegun ? thrown : explainRejection(thrown, output, job.about.config);
      const outcome = failedOutcome(error, record.metrics.at(-1)?.step ?? 0);
      await record.end({ outcome });
      if (hasBegun) writeTraining(output, { ...job.about, outcome }, origin);
      throw error;
    });
    const { ended, lowest, result, step } = trained;
    const useCommand = result === undefined ? undefined : job.use?.(shownPath(result, cwd));
    const dataset = job.dataset?.(trained) ?? job.about.dataset;
    const outcome = { ended, step, best: lowest };
    const lineage = writeTraining(output, { ...job.about, dataset, outcome }, { ...origin, use: useCommand });
    if (result !== undefined) writeLineage(result, lineage);
    await record.end({ outcome: { ended, step }, ...(useCommand !== undefined && { use: useCommand }) });
    const interruptionNote = ended === 'interrupted' ? ['validation not finished; repeat the command'] : [];
    const shown = (path: string) => shownPath(path, cwd);
    const report = shown(join(output, trainingFiles.page));
    const summary = { ended, step, ...job.summary(trained), result: result ? shown(result) : null, report };
    context.print(
      args.json
        ? JSON.stringify({ ...summary, output: shown(output) })
        : [
            `${styleText('bold', ended)} ${figuresText(record, job)}`,
            ...(job.extraLines?.(trained) ?? []),
            ...(result === undefined
              ? [`resume     ${origin.command}`, 'end here   add --finish to write what was learned so far']
              : [...interruptionNote, `result     ${shown(result)}`]),
            ...(useCommand === undefined ? [] : [`run it     ${useCommand}`]),
            `report     ${report}`,
          ].join('\n'),
    );
    return exitCodeOf(ended === 'interrupted' ? ended : 'completed');
  } finally {
    release();
    if (readdirSync(output).length === 0) rmdirSync(output);
  }
}

/** Prepares training until its start event, and prints what would be trained. */
async function dryRun<T extends TrainingResult>(
  job: TrainingJob<T>,
  args: TrainingArguments,
  { cwd, milliseconds, now, print }: CommandContext,
): Promise<number> {
  const { about, output, unit } = job;
  const starts: EventOf<'start'>[] = [];
  const onEvent = (event: TrainingEvent) => {
    if (event.kind === 'start') starts.push(event);
    throw new Error('training would start');
  };
  const thrown: unknown = await job.train({ onEvent }).catch((error: unknown) => error);
  const [start] = starts;
  if (start === undefined) throw explainRejection(thrown, output, about.config);
  const metric = createEventMeter({ now, milliseconds, memory: () => process.memoryUsage.rss() })(start);
  const { kind: _, sessionBytes, ...counts } = start;
  // Gradients and the two averages of Adam; weights are in memory already.
  const bytes = metric.rssBytes + 12 * start.parameters + (sessionBytes ?? 0);
  const earlierMetrics = readJsonLines<Metric>(join(output, trainingFiles.metrics), { repair: false }) ?? [];
  const seconds = secondsLeftOf([...earlierMetrics.filter(({ step }) => step <= start.step), metric]);
  const shown = (path: string) => shownPath(path, cwd);
  const state = start.step < start.totalSteps ? 'resuming' : 'complete';
  const unknownText = `unknown; to measure it, train a few ${unit}s`;
  const time = seconds === undefined ? unknownText : formatDuration(1000 * seconds);
  print(
    args.json
      ? JSON.stringify({ ...counts, bytes, seconds: seconds ?? null, output: shown(output) })
      : [
          job.line(metric, [metric]) ?? plural(start.totalSteps, unit),
          `trains     ${plural(start.parameters, 'parameter')} of ${shown(about.model)} (${about.method})`,
          `memory     ${sessionBytes === undefined ? 'at least' : 'about'} ${formatBytes(bytes)}`,
          `time       ${time}`,
          `output     ${shown(output)}${start.step > 0 ? `, ${state} after ${unit} ${start.step}` : ''}`,
        ].join('\n'),
  );
  return 0;
}

function isLimitReached(
  { minutes = Infinity, tokens = Infinity }: NonNullable<TrainingJob<TrainingResult>['limits']>,
  metrics: readonly Metric[],
): boolean {
  const total = (get: (metric: Metric) => number) => metrics.reduce((sum, metric) => sum + get(metric), 0);
  const sampledTokens = total((metric) => (metric.kind === 'step' ? (metric.sampledTokens ?? 0) : 0));
  return sampledTokens >= tokens || total(({ seconds }) => seconds) >= 60 * minutes;
}

/** If the error rejects a checkpoint, adds the settings that differ from those of the checkpoint. */
function explainRejection(error: unknown, output: string, config: object): unknown {
  const isRejection =
    error instanceof UserError && error.problems[0]?.file === join(output, trainingFiles.checkpoint);
  const earlierConfig = isRejection ? readLineage(output)?.config : undefined;
  if (!isRejection || earlierConfig === undefined) return error;
  const currentConfig = JSON.parse(JSON.stringify(fixedSettings(config))) as object;
  const changes = configChanges(fixedSettings(earlierConfig), currentConfig);
  if (changes.length === 0) return error;
  const text = changes.map(
    ({ key, was, now: is }) => `${key} was ${JSON.stringify(was)} and is ${JSON.stringify(is)}`,
  );
  return new UserError(
    error.problems.map((problem) => ({ ...problem, message: `${problem.message}: ${text.join('; ')}` })),
  );
}

/** Outcome of a failed run for `training.json`. */
function failedOutcome(error: unknown, step: number) {
  const [problem] = error instanceof UserError ? error.problems : [];
  const { message, hint } = problem ?? { message: messageOf(error) };
  return { ended: 'failed', step, message, ...(hint !== undefined && { hint }) };
}

function figuresText({ metrics, output, recordedMetrics }: TrainingRecord, { unit }: Display): string {
  const time = formatDuration(1000 * metrics.reduce((sum, { seconds }) => sum + seconds, 0));
  const best = bestMeasurementText(summarizeTraining(output, undefined, recordedMetrics, false).summary);
  const step = metrics.at(-1)?.step ?? 0;
  return `after ${plural(step, unit)} and ${time}${best === null ? '' : `, best ${best}`}`;
}

/** Trains; records and shows each event and the alarms it raises. */
async function recordEvents<T extends TrainingResult>(
  job: TrainingJob<T>,
  record: TrainingRecord,
  onStart: () => void,
  args: TrainingArguments,
  context: CommandContext,
): Promise<T> {
  const { cwd, milliseconds, note, now } = context;
  const pagePath = join(job.output, trainingFiles.page);
  const progress = createProgress(args, context);
  const meter = createEventMeter({ now, milliseconds, memory: () => process.memoryUsage.rss() });
  const stopRequests = watchStopRequests(job.output, context.stop);
  const findAlarms = createAlarmWatch(job.checks);
  let [activity, startMs] = ['', milliseconds()];
  // The preparation, or a single pass, can take minutes.
  const timer = setInterval(() => {
    if (activity !== '') progress.pause(`${activity}, ${formatDuration(milliseconds() - startMs)} so far`, 0);
  }, 30_000);
  const onEvent = (event: TrainingEvent) => {
    const metric = meter(event);
    if (metric.kind === 'start') onStart();
    record.add(metric);
    if (metric.kind === 'start') {
      record.metrics.forEach(findAlarms);
      if (args.open) void openPage(pagePath, context);
      if (!args.json && !args.quiet) note(`watch the progress in ${shownPath(pagePath, cwd)}`);
    }
    if (args.json) progress.emit(metric);
    else showMetric(progress, metric, record.metrics, job);
    activity = metric.kind === 'start' ? 'preparing the training' : '';
    if (activity !== '') progress.pause(activity, 60_000);
    if (metric.kind !== 'start')
      for (const alarm of findAlarms(metric)) onEvent({ kind: 'alarm', step: metric.step, ...alarm });
  };
  const onRead: TrainingHooks['onRead'] = (read, total, purpose) => {
    if (read === 0) startMs = milliseconds();
    const leftMs = (milliseconds() - startMs) * (total / read - 1);
    const label = purpose ?? `${job.unit} ${record.metrics.at(-1)!.step + 1}`;
    const time = purpose && leftMs >= 500 && read > 0 ? `, ${formatDuration(leftMs)} left` : '';
    activity = `${label}: ${read} of ${plural(total, 'example')}`;
    progress.pause(`${activity}${time}`, 0);
  };
  const onResult = (result: string) => {
    const outcome = { ended: 'running', step: record.metrics.at(-1)!.step };
    writeLineage(result, trainingLineage({ ...job.about, outcome }));
    progress.say(
      `wrote ${shownPath(result, cwd)} before the last validation (press Ctrl-C to skip the validation)`,
    );
  };
  const onSamples = (step: number, samples: readonly Sample[]) => record.addSamples(step, samples);
  try {
    return await job.train({
      onEvent,
      onSamples,
      onBaselines: () => progress.say('running the baselines, which takes a while'),
      onRead,
      onResult,
      stop: () => stopRequests.stop.finish.aborted,
      abort: stopRequests.stop.abort,
      isSpent: () => args.finish === true || isLimitReached(job.limits ?? {}, record.metrics),
    });
  } finally {
    clearInterval(timer);
    stopRequests.close();
    progress.close();
  }
}
