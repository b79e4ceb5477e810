/** `finetune train`: supervised training. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CommandContext } from '../../src/base/context.js';
import { formatCompact, plural } from '../../src/base/text/numbers.js';
import { shellWord } from '../../src/base/text/one-line.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { shownModelPath } from '../../src/models/local/settings.js';
import { runFiles } from '../../src/runs/reader.js';
import { measurementText } from '../../src/runs/training/trainings.js';
import { smoothedLoss } from '../../src/web/training-charts.js';
import { type DatasetLineage, datasetLineage } from '../dataset/lineage.js';
import { readConversations, readPairConversations } from '../dataset/read-dataset.js';
import type { StepLoss } from '../engine/checkpoint.js';
import { supervisedChecks } from './alarms.js';
import type { Metric, MetricOf } from './events.js';
import { methodFacts, servingArguments } from './method.js';
import { runTraining, type TrainingArguments } from './session.js';
import { fineTune } from './supervised.js';
import { loadTrainConfig } from './train-config.js';

const formatLoss = (value: number) => measurementText({ kind: 'loss', value });

/** Starts training, or resumes it from an existing checkpoint. Returns the exit code. */
export async function train(args: TrainingArguments, context: CommandContext): Promise<number> {
  const config = loadTrainConfig(args.config, args.overrides, context.cwd, context.note);
  requireRuntime();
  const isDpo = config.objective.kind === 'dpo';
  const load = isDpo ? readPairConversations : readConversations;
  const data = { training: load(config.dataset, 'train'), validation: load(config.dataset, 'validation') };
  const { model, output } = config;
  const dataset = datasetLineage(config.dataset);
  return runTraining(
    {
      command: 'train',
      output,
      unit: 'step',
      about: { ...methodFacts(config.method), model, dataset, config },
      checks: supervisedChecks,
      figures: (_, metrics) => [
        `loss ${formatLoss(smoothedLoss(metrics.flatMap((one) => (one.kind === 'step' ? (one.loss ?? []) : []))))}`,
      ],
      line: (metric, metrics) => lineOf(metric, metrics, isDpo),
      limits: config.limits,
      train: (hooks) => fineTune(config, data, hooks),
      summary: ({ lowest }) => ({ best: lowest ?? null }),
      use: (result) =>
        `policyloop ${usageCommand(dataset, context.cwd)} ${servingArguments(config.method, shownModelPath(model, context.cwd), result)}`,
    },
    args,
    context,
  );
}

/** Returns a command, without model settings, that repeats a run of the dataset; `CONFIG` replaces a missing config. */
function usageCommand({ recipe, sources }: DatasetLineage, cwd: string): string {
  const files = (sources ?? []).map(({ run }) => join(run, runFiles.config));
  const config = shellWord(files.find((file) => existsSync(resolve(cwd, file))) ?? 'CONFIG');
  return recipe === 'demonstrations' ? `play ${config} player=model` : `run ${config}`;
}

function lineOf(metric: Metric, metrics: readonly Metric[], isDpo: boolean): string | undefined {
  if (metric.kind === 'start') return startText(metric, isDpo);
  if (metric.kind !== 'validation') return undefined;
  const start = metrics.findLast((one) => one.kind === 'start');
  const best = metrics.findLast((one) => one.kind === 'validation' && one.best) ?? start?.best;
  const lowest = best as StepLoss | undefined;
  const bestText =
    metric.best || lowest === undefined
      ? 'the lowest so far'
      : `lowest ${formatLoss(lowest.loss)} at step ${lowest.step}`;
  return `step ${metric.step}  validation loss ${formatLoss(metric.loss)}, ${bestText}`;
}

function startText({ totalSteps, training, validation }: MetricOf<'start'>, isDpo: boolean): string {
  const sizeText = ({ examples, tokens }: NonNullable<typeof training>) =>
    `${isDpo ? plural(examples / 2, 'pair') : plural(examples, 'example')} (${formatCompact(tokens)} tokens)`;
  const heldOutText = validation!.examples === 0 ? 'nothing held out' : `${sizeText(validation!)} held out`;
  return `${plural(totalSteps, 'step')} over ${sizeText(training!)}, ${heldOutText}`;
}
