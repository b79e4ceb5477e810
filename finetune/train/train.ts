/** `finetune train`: supervised training. */
import type { CommandContext } from '../../src/base/context.js';
import { machineMemory } from '../../src/base/machine-memory.js';
import { formatBytes, formatCompact, plural } from '../../src/base/text/numbers.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { shownModel } from '../../src/models/local/settings.js';
import { measuredText } from '../../src/runs/training/trainings.js';
import { datasetLineage } from '../dataset/lineage.js';
import { readComparisons, readConversations } from '../dataset/read-dataset.js';
import type { StepLoss } from '../engine/checkpoint.js';
import { speedText } from './display.js';
import type { Metric, MetricOf } from './events.js';
import type { MemoryEstimate } from './memory-estimate.js';
import { methodOf, servedAs, trainedOf } from './method.js';
import { paceOf } from './pace.js';
import { runTraining, type SessionSummary, type Trained, type TrainingArguments } from './session.js';
import { type FineTuned, fineTune } from './sft.js';
import { loadTrainConfig, type TrainConfig } from './train-config.js';

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
  return runTraining<FineTuned & Trained>(
    {
      command: 'train',
      output,
      unit: 'step',
      about: { ...trainedOf(config.method), model, dataset, config },
      secondsLeft: (metrics) => paceOf(metrics, config).secondsLeft,
      figures: (step, metrics) => figuresOf(step, metrics, config),
      line: (metric, metrics) => lineOf(metric, metrics, config),
      async train(hooks) {
        const tuned = await fineTune(
          {
            model,
            method,
            training,
            validation,
            settings,
            template,
            output,
            ignoredKeys,
            device,
            samples,
            threads,
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

/** Shows the estimate. Too little free memory is only a warning, because other programs may release memory. */
function showMemory(
  estimate: MemoryEstimate,
  { json, quiet }: TrainingArguments,
  context: CommandContext,
): void {
  const { free, total } = machineMemory();
  const text = `memory: about ${formatBytes(estimate.total)} at the peak, ${formatBytes(free)} of ${formatBytes(total)} free`;
  if (estimate.total > free) context.note(`warning: ${text}, which may not be enough; ${estimate.hint}`);
  else if (!json && !quiet) context.note(text);
}

function figuresOf(
  { step, totalSteps, ...metric }: MetricOf<'step'>,
  metrics: readonly Metric[],
  config: TrainConfig,
) {
  const { loss, tokensPerSecond } = paceOf(metrics, config);
  const start = metrics.findLast((one) => one.kind === 'start');
  const isValidated = step % config.evaluateEvery === 0 || step === totalSteps;
  return [
    ...(loss === undefined ? [] : [{ text: `loss ${formatLoss(loss)}` }]),
    // Replaces the speed, so that the line fits into 80 columns.
    ...(isValidated && start?.validation?.examples ? ['validating'] : speedText(tokensPerSecond)),
    formatBytes(metric.rssBytes),
  ];
}

function lineOf(metric: Metric, metrics: readonly Metric[], config: TrainConfig): string | undefined {
  if (metric.kind === 'start') return startText(metric, config);
  if (metric.kind !== 'validation') return undefined;
  const start = metrics.findLast((one) => one.kind === 'start');
  const best = metrics.findLast((one) => one.kind === 'validation' && one.best) ?? start?.best;
  return validationText(metric, best as StepLoss | undefined);
}

function startText(
  { totalSteps, training, validation }: MetricOf<'start'>,
  { objective }: TrainConfig,
): string {
  const split = ({ examples, tokens }: NonNullable<typeof training>) =>
    `${objective.kind === 'dpo' ? plural(examples / 2, 'pair') : plural(examples, 'example')} (${formatCompact(tokens)} tokens)`;
  const heldOut = validation!.examples === 0 ? 'nothing held out' : `${split(validation!)} held out`;
  return `${plural(totalSteps, 'step')} over ${split(training!)}, ${heldOut}`;
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
