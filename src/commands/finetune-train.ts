/** `policyloop finetune train <config>`: training with live progress, a log of metrics, and a clean Ctrl-C. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { SingleBar } from 'cli-progress';
import { datasetLineage, trainingLineage, writeLineage } from '../../finetune/lineage.js';
import { readConversations } from '../../finetune/read-dataset.js';
import { type FineTuned, fineTune } from '../../finetune/sft.js';
import { loadTrainConfig, type TrainConfig } from '../../finetune/train-config.js';
import type { TrainingEvent } from '../../finetune/trainer.js';
import { JsonLinesFile } from '../json-lines.js';
import { freeCores } from '../models/local/threads.js';
import { shownPath } from '../run-result.js';
import { type CommandContext, exitCodes, formatCount } from '../terminal.js';

export interface TrainArguments {
  readonly config: string;
  readonly quiet: boolean;
  readonly json: boolean;
}

export async function trainCommand(args: TrainArguments, context: CommandContext): Promise<number> {
  const config = loadTrainConfig(args.config);
  const training = readConversations(config.dataset, 'train');
  const validation = readConversations(config.dataset, 'validation');
  mkdirSync(config.output, { recursive: true });
  const metrics = new JsonLinesFile<object>(join(config.output, 'metrics.jsonl'));
  const display = createDisplay(args, context);
  if (!args.json && !args.quiet) {
    context.note(`${training.length} examples, ${validation.length} for validation, ${config.method.kind}`);
  }
  let outcome: FineTuned;
  try {
    outcome = await fineTune(
      {
        model: config.model,
        method: methodOf(config),
        training,
        validation,
        settings: settingsOf(config),
        template: config.template,
        output: config.output,
        device: config.device,
        threads: config.threads ?? freeCores(),
      },
      {
        onEvent(event) {
          metrics.append([{ time: context.now().toISOString(), ...event }]);
          display.show(event);
        },
        stop: () => context.stop.finish.aborted,
      },
    );
  } finally {
    display.close();
    await metrics.flush();
    metrics.close();
  }
  const { ended, step, best, result } = outcome;
  const lineage = trainingLineage({
    method: config.method.kind,
    model: config.model,
    dataset: datasetLineage(config.dataset),
    config,
    outcome,
  });
  for (const directory of [config.output, ...(result === undefined ? [] : [result])]) {
    writeLineage(directory, lineage);
  }
  const shown = result === undefined ? null : shownPath(result, context.cwd);
  if (args.json) {
    context.print(
      JSON.stringify({
        ended,
        step,
        best: best ?? null,
        result: shown,
        output: shownPath(config.output, context.cwd),
      }),
    );
  } else {
    const loss =
      best === undefined ? '' : `, lowest validation loss ${best.loss.toFixed(4)} at step ${best.step}`;
    context.print(`${ended} after ${step} steps${loss}`);
    context.print(
      shown === null
        ? `checkpoint  ${shownPath(config.output, context.cwd)} (the same command goes on)`
        : `result      ${shown}`,
    );
  }
  return ended === 'interrupted' ? exitCodes.interrupted : 0;
}

function methodOf({ method }: TrainConfig) {
  if (method.kind !== 'lora') return method;
  const { rank, alpha, rsLora, dropout, modules } = method;
  return { kind: 'lora', lora: { rank, alpha, rankStabilized: rsLora, dropout, modules } } as const;
}

function settingsOf(config: TrainConfig) {
  const { seed, epochs, learningRate, schedule, warmupSteps, weightDecay, betas, maxGradientNorm } = config;
  const { batchExamples, batchTokens, evaluateEvery, patience, checkpointEvery } = config;
  return {
    seed,
    epochs,
    learningRate,
    schedule,
    warmupSteps,
    adamw: { betas, epsilon: 1e-8, weightDecay },
    maxGradientNorm,
    batchExamples,
    batchTokens,
    evaluateEvery,
    patience,
    checkpointEvery,
  };
}

/** A bar on a terminal, a line a validation or every tenth step elsewhere, an object an event for machines. */
function createDisplay(args: TrainArguments, context: CommandContext) {
  const close = () => undefined;
  if (args.json) return { show: (event: TrainingEvent) => context.print(JSON.stringify(event)), close };
  if (args.quiet) return { show: close, close };
  const started = performance.now();
  let tokens = 0;
  let validation = '–';
  const take = (event: TrainingEvent) => {
    if (event.kind === 'step') tokens += event.tokens;
    if (event.kind === 'validation') validation = event.loss.toFixed(4);
  };
  const speed = () => `${formatCount((1000 * tokens) / (performance.now() - started))} tok/s`;
  const memory = () => `${(process.memoryUsage().rss / 2 ** 30).toFixed(1)} GiB`;
  if (context.terminal === undefined) {
    return {
      show(event: TrainingEvent) {
        take(event);
        if (event.kind === 'validation')
          context.note(`step ${event.step}  validation loss ${event.loss.toFixed(4)}`);
        if (event.kind === 'step' && (event.step % 10 === 0 || event.step === event.totalSteps)) {
          context.note(
            `step ${event.step}/${event.totalSteps}  loss ${event.loss.toFixed(4)}  ${speed()}  ${memory()}`,
          );
        }
      },
      close,
    };
  }
  const bar = new SingleBar({
    format:
      '{bar} step {value}/{total}  loss {loss}  validation {validation}  {speed}  {memory}  {eta_formatted} left',
    stream: context.terminal,
    barsize: 24,
    hideCursor: true,
    barCompleteChar: '━',
    barIncompleteChar: '·',
  });
  let begun = false;
  return {
    show(event: TrainingEvent) {
      take(event);
      if (event.kind !== 'step') return;
      const shown = { loss: event.loss.toFixed(4), validation, speed: speed(), memory: memory() };
      if (!begun) bar.start(event.totalSteps, event.step - 1, shown);
      begun = true;
      bar.update(event.step, shown);
    },
    close: () => bar.stop(),
  };
}
