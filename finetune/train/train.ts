/** Runs a configured training in its output directory, with lock, record, live progress and lineage. */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { styleText } from 'node:util';
import { type CommandContext, exitCodeOf, shownPath } from '../../src/base/context.js';
import { openPage } from '../../src/base/open-page.js';
import { formatBytes, formatDuration } from '../../src/format/numbers.js';
import { shellWord } from '../../src/format/one-line.js';
import { requireRuntime } from '../../src/models/local/engine/require-runtime.js';
import { shownModel } from '../../src/models/local/settings.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { lockRun } from '../../src/storage/lock.js';
import {
  type DatasetLineage,
  datasetLineage,
  type TrainingState,
  trainingState,
  writeLineage,
} from '../dataset/lineage.js';
import { readComparisons, readConversations } from '../dataset/read-dataset.js';
import type { StepLoss } from '../engine/checkpoint.js';
import { type MemoryEstimate, machineMemory } from './memory-estimate.js';
import { methodOf, servedAs } from './method.js';
import { createMeter, type Metric } from './metrics.js';
import { failed, failedOutcome, type TrainingStatus } from './pages/frame.js';
import { createTrainingDisplay } from './progress.js';
import { type FineTuned, type FineTuning, fineTune } from './sft.js';
import { steeredTraining } from './steering.js';
import { loadTrainConfig, type TrainConfig } from './train-config.js';
import { formatLoss } from './training-charts.js';
import { TrainingRecord } from './training-record.js';

interface TrainArguments {
  readonly config: string;
  readonly overrides: readonly string[];
  readonly finish: boolean;
  readonly quiet: boolean;
  /** Open the run's page in a browser when training starts. */
  readonly open?: boolean | undefined;
  readonly json: boolean;
}

/** Last line of `--json` output. */
export interface TrainingSummary {
  readonly ended: FineTuned['ended'];
  readonly step: number;
  readonly best: StepLoss | null;
  /** Path of the adapter or model directory. */
  readonly result: string | null;
  readonly report: string;
  readonly output: string;
}

/** Starts training, or resumes it from an existing checkpoint. Returns the exit code. */
export async function train(args: TrainArguments, context: CommandContext): Promise<number> {
  const config = loadTrainConfig(args.config, args.overrides, context.cwd, context.note);
  requireRuntime();
  const read = config.objective.kind === 'dpo' ? readComparisons : readConversations;
  const data = {
    training: read(config.dataset, 'train'),
    validation: read(config.dataset, 'validation'),
    dataset: datasetLineage(config.dataset),
  };
  mkdirSync(config.output, { recursive: true });
  const release = lockRun(join(config.output, trainingFiles.lock));
  try {
    return await trainOn(data, config, args, context);
  } finally {
    release();
  }
}

interface TrainingData extends Pick<FineTuning, 'training' | 'validation'> {
  readonly dataset: DatasetLineage;
}

/** Trains while holding the output's lock. */
async function trainOn(
  data: TrainingData,
  config: TrainConfig,
  args: TrainArguments,
  context: CommandContext,
): Promise<number> {
  const { cwd } = context;
  const { dataset } = data;
  const file = shownPath(resolve(cwd, args.config), cwd);
  const command = ['policyloop finetune train', ...[file, ...args.overrides].map(shellWord)].join(' ');
  const record = new TrainingRecord({ command, config, dataset });
  const { method, model, output } = config;
  const about = { method: method.kind, model, dataset, config };
  const state = trainingState(output, about, { command, folder: cwd });
  const outcome = await recorded(data, config, record, state, args, context).catch((error: unknown) => {
    state.fail(failedOutcome(error, record.metrics));
    throw error;
  });
  const { ended, step, best, result } = outcome;
  const lineage = state.end({ ended, step, best });
  if (result !== undefined) writeLineage(result, lineage);
  await record.end(statusOf(outcome, cwd));
  const summary: TrainingSummary = {
    ended,
    step,
    best: best ?? null,
    result: result === undefined ? null : shownPath(result, cwd),
    report: shownPath(join(config.output, trainingFiles.page), cwd),
    output: shownPath(config.output, cwd),
  };
  context.print(
    args.json ? JSON.stringify(summary) : described(summary, config, record.metrics, { command, cwd }),
  );
  return exitCodeOf(ended === 'interrupted' ? ended : 'completed');
}

/** Trains, updating the record and the display; failures are recorded, too. */
async function recorded(
  { training, validation }: TrainingData,
  config: TrainConfig,
  record: TrainingRecord,
  state: TrainingState,
  args: TrainArguments,
  context: CommandContext,
): Promise<FineTuned> {
  const { device, ignoreKeys: ignoredKeys, model, output, template, threads } = config;
  const method = methodOf(config.method);
  const settings = settingsOf(config);
  const display = createTrainingDisplay(args, config, context, () => record.metrics);
  const { now, milliseconds } = context;
  const measured = createMeter({ now, milliseconds, memory: () => process.memoryUsage.rss() });
  const steered = steeredTraining(output, context, (event) => {
    // The time of a pause doesn't count as training time.
    const metric = { ...measured(event), ...(event.action === 'resume' && { seconds: 0 }) };
    record.add(metric);
    display.show(metric);
  });
  try {
    return await fineTune(
      { model, method, training, validation, settings, template, output, ignoredKeys, device, threads },
      {
        onEvent(event) {
          const metric = measured(event);
          if (metric.kind === 'start') {
            state.begin();
            steered.begin(() => record.metrics.at(-1)?.step ?? 0);
          }
          record.add(metric);
          if (metric.kind === 'start' && args.open) void openPage(join(output, trainingFiles.page), context);
          if (metric.kind === 'start' && !args.json && !args.quiet)
            context.note(`follow it in ${shownPath(join(output, trainingFiles.page), context.cwd)}`);
          display.show(metric);
        },
        onMemory: (estimate) => showMemory(estimate, args, context),
        stop: steered.stop,
        rest: steered.rest,
        finish: args.finish,
      },
    );
  } catch (error) {
    await record.end(failed(error));
    throw error;
  } finally {
    steered.close();
    display.close();
  }
}

/**
 * Shows the memory estimate, as a warning if less is free. It doesn't refuse, because other programs may end
 * and the system may reclaim memory.
 */
function showMemory(
  estimate: MemoryEstimate,
  { json, quiet }: TrainArguments,
  context: CommandContext,
): void {
  const { free, total } = machineMemory();
  const text = `memory: about ${formatBytes(estimate.total)} at the peak, ${formatBytes(free)} of ${formatBytes(total)} free`;
  if (estimate.total > free) context.note(`warning: ${text}; it may run out: ${estimate.remedy}`);
  else if (!json && !quiet) context.note(text);
}

function statusOf({ ended, result }: FineTuned, cwd: string): TrainingStatus {
  return ended === 'interrupted' || result === undefined
    ? { kind: 'interrupted' }
    : { kind: ended, result: shownPath(result, cwd) };
}

function described(
  { ended, step, best, result, report }: TrainingSummary,
  config: TrainConfig,
  metrics: readonly Metric[],
  { command, cwd }: { readonly command: string; readonly cwd: string },
): string {
  const time = formatDuration(1000 * metrics.reduce((sum, { seconds }) => sum + seconds, 0));
  const loss = best === null ? '' : `, lowest validation loss ${formatLoss(best.loss)} at step ${best.step}`;
  const model = shownModel(config.model, cwd);
  const next =
    result === null
      ? [`go on      ${command}`]
      : [`result     ${result}`, `run it     model.provider=local ${servedAs(config.method, model, result)}`];
  return [
    `${styleText('bold', ended)} after ${step} steps and ${time}${loss}`,
    ...next,
    `report     ${report}`,
  ].join('\n');
}

function settingsOf(config: TrainConfig) {
  const { seed, epochs, learningRate, schedule, warmupSteps, learningRateFloor, maxGradientNorm } = config;
  const { objective, optimizer, weightDecay, betas } = config;
  const { batchExamples, batchTokens, packing, evaluateEvery, patience, checkpointEvery } = config;
  return {
    seed,
    epochs,
    learningRate,
    schedule,
    warmupSteps,
    learningRateFloor,
    adamw: { betas, epsilon: 1e-8, weightDecay },
    muon: optimizer.kind === 'muon' ? { momentum: optimizer.momentum, weightDecay } : undefined,
    maxGradientNorm,
    ...(objective.kind === 'dpo'
      ? { dpo: { beta: objective.beta }, batchExamples: 2 * batchExamples, packing: 'pairs' as const }
      : { batchExamples, packing, observationWeight: config.observationWeight }),
    batchTokens,
    evaluateEvery,
    patience,
    checkpointEvery,
  };
}
