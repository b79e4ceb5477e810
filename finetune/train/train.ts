/** `finetune train`: supervised training. */
import type { CommandContext } from '../../src/base/context.js';
import { machineMemory } from '../../src/base/machine-memory.js';
import { formatBytes, formatCompact, plural } from '../../src/format/numbers.js';
import type { Progress } from '../../src/format/progress.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { shownModel } from '../../src/models/local/settings.js';
import { measuredText } from '../../src/runs/training/trainings.js';
import type { Scalars } from '../../src/storage/tensorboard.js';
import { datasetLineage } from '../dataset/lineage.js';
import { readComparisons, readConversations } from '../dataset/read-dataset.js';
import type { StepLoss } from '../engine/checkpoint.js';
import type { MemoryEstimate } from './memory-estimate.js';
import { methodOf, servedAs, trainedOf } from './method.js';
import { paceOf } from './pace.js';
import {
  beginProgress,
  runTraining,
  type SessionSummary,
  showAlarm,
  type Trained,
  type TrainingArguments,
  timeLeft,
} from './session.js';
import { type FineTuned, fineTune } from './sft.js';
import { loadTrainConfig, type TrainConfig } from './train-config.js';
import type { Metric, MetricOf, TrainingEvent } from './trainer.js';

/** Last line of `--json` output. */
interface TrainingSummary extends SessionSummary {
  readonly best: StepLoss | null;
}

const formatLoss = (value: number) => measuredText({ kind: 'loss', value });

/** Starts training, or resumes it from an existing checkpoint. Returns the exit code. */
export async function train(args: TrainingArguments, context: CommandContext): Promise<number> {
  const config = loadTrainConfig(args.config, args.overrides, context.cwd, context.note);
  requireRuntime();
  const read = config.objective.kind === 'dpo' ? readComparisons : readConversations;
  const [training, validation] = [read(config.dataset, 'train'), read(config.dataset, 'validation')];
  const dataset = datasetLineage(config.dataset);
  const { device, ignoreKeys: ignoredKeys, model, output, samples, template, threads } = config;
  const method = methodOf(config.method);
  const settings = settingsOf(config);
  return runTraining<TrainingEvent, FineTuned & Trained>(
    {
      ...{ command: 'train', output, unit: 'step', scalars: trainingScalars },
      about: { ...trainedOf(config.method), model, dataset, config },
      secondsLeft: (metrics) => paceOf(metrics, config).secondsLeft,
      show: (progress, metric, metrics) => show(progress, metric, metrics, config),
      async train(hooks) {
        const tuned = await fineTune(
          {
            ...{ model, method, training, validation, settings, template, output, ignoredKeys },
            ...{ device, samples, threads },
          },
          { ...hooks, onMemory: (estimate) => showMemory(estimate, args, context), finish: args.finish },
        );
        return { ...tuned, lowest: tuned.best };
      },
      summary: ({ best }) => ({ best: best ?? null }) satisfies Partial<TrainingSummary>,
      use: (result) =>
        `model.provider=local ${servedAs(config.method, shownModel(model, context.cwd), result)}`,
    },
    args,
    context,
  );
}

/** A metric's values by TensorBoard tag. */
export function trainingScalars(metric: Metric): Scalars {
  switch (metric.kind) {
    case 'step':
      return {
        'loss/train': metric.loss,
        learning_rate: metric.learningRate,
        gradient_norm: metric.gradientNorm,
        tokens_per_second: metric.tokensPerSecond,
      };
    case 'validation':
      return { 'loss/validation': metric.loss };
    default:
      return {};
  }
}

/** Shows the estimate. Too little free memory is only a warning, because other programs may release memory. */
function showMemory(
  estimate: MemoryEstimate,
  { json, quiet }: TrainingArguments,
  context: CommandContext,
): void {
  const { free, total } = machineMemory();
  const text = `memory: about ${formatBytes(estimate.total)} at the peak, ${formatBytes(free)} of ${formatBytes(total)} free`;
  if (estimate.total > free) context.note(`warning: ${text}, which may not be enough; ${estimate.remedy}`);
  else if (!json && !quiet) context.note(text);
}

function show(progress: Progress, metric: Metric, metrics: readonly Metric[], config: TrainConfig): void {
  const start = metrics.findLast((one) => one.kind === 'start');
  switch (metric.kind) {
    case 'start':
      progress.say(startText(metric, config));
      beginProgress(progress, metric, 'step');
      break;
    case 'step': {
      const { rssBytes, step, totalSteps } = metric;
      const { loss, secondsLeft, tokensPerSecond } = paceOf(metrics, config);
      const isValidated = step % config.evaluateEvery === 0 || step === totalSteps;
      const speed = tokensPerSecond === undefined ? [] : [`${formatCompact(tokensPerSecond)} tok/s`];
      progress.update(step, [
        ...(loss === undefined ? [] : [{ text: `loss ${formatLoss(loss)}` }]),
        // Replaces the speed, so that the line fits into 80 columns.
        ...(isValidated && start !== undefined && start.validation.examples > 0 ? ['validating'] : speed),
        formatBytes(rssBytes),
        ...timeLeft(secondsLeft),
      ]);
      break;
    }
    case 'validation': {
      const best = metrics.findLast((one) => one.kind === 'validation' && one.best) ?? start?.best;
      progress.say(validationText(metric, best as StepLoss | undefined));
      break;
    }
    case 'alarm':
      showAlarm(progress, metric);
      break;
    default:
  }
}

function startText(
  { totalSteps, training, validation }: MetricOf<'start'>,
  { objective }: TrainConfig,
): string {
  const split = ({ examples, tokens }: MetricOf<'start'>['training']) =>
    `${objective.kind === 'dpo' ? plural(examples / 2, 'pair') : plural(examples, 'example')} (${formatCompact(tokens)} tokens)`;
  const heldOut = validation.examples === 0 ? 'nothing held out' : `${split(validation)} held out`;
  return `${plural(totalSteps, 'step')} over ${split(training)}, ${heldOut}`;
}

function validationText({ step, loss, best }: MetricOf<'validation'>, lowest: StepLoss | undefined): string {
  const place =
    best || lowest === undefined
      ? 'the lowest so far'
      : `lowest ${formatLoss(lowest.loss)} at step ${lowest.step}`;
  return `step ${step}  validation loss ${formatLoss(loss)}, ${place}`;
}

function settingsOf(config: TrainConfig) {
  const { seed, epochs, learningRate, schedule, warmupSteps, learningRateFloor, maxGradientNorm } = config;
  const { objective, optimizer, weightDecay, betas } = config;
  const { batchExamples, batchTokens, packing, evaluateEvery, patience, checkpointEvery } = config;
  return {
    ...{ seed, epochs, learningRate, schedule, warmupSteps, learningRateFloor },
    adamw: { betas, epsilon: 1e-8, weightDecay },
    muon: optimizer.kind === 'muon' ? { momentum: optimizer.momentum, weightDecay } : undefined,
    maxGradientNorm,
    ...(objective.kind === 'dpo'
      ? { dpo: { beta: objective.beta }, batchExamples: 2 * batchExamples, packing: 'pairs' as const }
      : { batchExamples, packing, observationWeight: config.observationWeight }),
    ...{ batchTokens, evaluateEvery, patience, checkpointEvery },
  };
}
