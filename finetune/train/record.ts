/** Writes a training run's record next to its result: metrics, samples, TensorBoard event files and a page. */
import { join } from 'node:path';
import { replaceFile } from '../../src/base/files/files.js';
import { JsonLinesFile, keepFirstLines, readJsonLines } from '../../src/base/files/json-lines.js';
import { EventFile, type Scalars } from '../../src/base/files/tensorboard.js';
import { type RecordedSample, readSamples, type Sample } from '../../src/runs/training/samples.js';
import {
  parseMetric,
  secondsLeftOf,
  summarizeTraining,
  type TrainingAbout,
  type TrainingMetric,
} from '../../src/runs/training/trainings.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { pageHtml } from '../../src/web/page.js';
import { trainingPage } from '../../src/web/report/training-page.js';
import type { Metric, TrainingEvent } from './events.js';

/** Returns a function that adds the time, seconds since its last call (or creation), memory and speed to an event. */
export function createEventMeter(meters: {
  now(): Date;
  milliseconds(): number;
  memory(): number;
}): (event: TrainingEvent) => Metric {
  let lastMs = meters.milliseconds();
  return (event) => {
    const nowMs = meters.milliseconds();
    const seconds = Number(((nowMs - lastMs) / 1000).toPrecision(6));
    lastMs = nowMs;
    return {
      ...event,
      time: meters.now().toISOString(),
      seconds,
      rssBytes: meters.memory(),
      ...(event.kind === 'step' &&
        event.tokens !== undefined &&
        seconds > 0 && { tokensPerSecond: Number((event.tokens / seconds).toPrecision(6)) }),
    };
  };
}

/** TensorBoard tags of step metrics. */
const stepTags = {
  reward: 'return/sampled',
  spread: 'return/spread in groups',
  flat: 'return/groups without variance',
  entropy: 'policy/entropy',
  kl: 'policy/kl divergence',
  clipShare: 'policy/clip share',
  mismatch: 'policy/mismatch',
  explainedVariance: 'policy/explained variance',
  replyTokens: 'replies/tokens',
  valid: 'replies/valid',
  loss: 'loss/train',
  learningRate: 'learning_rate',
  gradientNorm: 'gradient_norm',
  tokensPerSecond: 'tokens_per_second',
} as const;

/** A metric's values by TensorBoard tag. */
export function trainingScalars(metric: Metric): Scalars {
  switch (metric.kind) {
    case 'step':
      return Object.fromEntries(
        Object.entries(stepTags).map(([key, tag]) => [tag, metric[key as keyof typeof stepTags]]),
      );
    case 'validation':
      return { 'loss/validation': metric.loss };
    case 'evaluation':
      return { 'return/held out': metric.meanReward, 'return/of policies': metric.policyReturn };
    default:
      return {};
  }
}

/** Minimum seconds between rewrites of the page while only step metrics arrive. */
const minPageSeconds = 5;

/**
 * Writes metrics, samples and the page. Modifies nothing until training starts; then removes the metrics and samples
 * that are later than the starting step (all of them if it is 0), because training repeats these steps.
 */
export class TrainingRecord {
  readonly output: string;
  /** The content of `training.json`; undefined until training starts. */
  about: TrainingAbout | undefined;
  readonly #file: JsonLinesFile<Metric>;
  readonly #samples: JsonLinesFile<RecordedSample>;
  readonly #events: EventFile<Metric>;
  #metrics: Metric[] = [];
  #unwrittenSeconds = 0;

  constructor(output: string) {
    this.output = output;
    this.#file = new JsonLinesFile(join(output, trainingFiles.metrics));
    this.#samples = new JsonLinesFile(join(output, trainingFiles.samples));
    this.#events = new EventFile(join(output, trainingFiles.eventFiles), trainingScalars);
  }

  /** Metrics of the whole training run, including earlier sessions. */
  get metrics(): readonly Metric[] {
    return this.#metrics;
  }

  /** The metrics as a reader of `metrics.jsonl` sees them. */
  get recordedMetrics(): readonly TrainingMetric[] {
    return this.#metrics.flatMap((metric) => parseMetric(metric) ?? []);
  }

  /** @throws UserError if the metrics or samples of an earlier session are damaged */
  add(metric: Metric): void {
    if (metric.kind === 'start') this.#keepUntil(metric.step);
    this.#metrics.push(metric);
    this.#file.append([metric]);
    this.#events.add(metric);
    this.#unwrittenSeconds += metric.seconds;
    if (metric.kind === 'step' && this.#unwrittenSeconds < minPageSeconds) return;
    this.#writePage({});
  }

  /** Call this before adding the evaluation that the samples belong to. */
  addSamples(step: number, samples: readonly Sample[]): void {
    this.#samples.append(samples.map((sample) => ({ step, ...sample })));
  }

  /**
   * Writes the final page and closes the files. A run that never started gets no page.
   * @param changes fields of `training.json` that have changed
   */
  async end(changes: Partial<TrainingAbout>): Promise<void> {
    this.#writePage(changes, false);
    this.#events.close();
    for (const file of [this.#file, this.#samples]) {
      await file.flush();
      file.close();
    }
  }

  /** Keeps the metrics and samples of earlier sessions up to this step; none for a fresh start (step 0). */
  #keepUntil(step: number): void {
    this.#metrics = keepLinesUntil<Metric>(this.#file.path, step);
    keepLinesUntil<RecordedSample>(this.#samples.path, step);
  }

  #writePage(changes: Partial<TrainingAbout>, isRunning = true): void {
    if (this.about === undefined || this.#metrics.length === 0) return;
    this.#unwrittenSeconds = 0;
    const content = trainingPage({
      ...summarizeTraining(this.output, { ...this.about, ...changes }, this.recordedMetrics, isRunning),
      samples: readSamples(this.output),
      secondsLeft: isRunning ? secondsLeftOf(this.#metrics) : undefined,
    });
    replaceFile(join(this.output, trainingFiles.page), pageHtml(content));
  }
}

/** Returns the lines of earlier sessions up to this step (none for step 0), and removes the others from the file. */
function keepLinesUntil<T extends { readonly step: number }>(path: string, step: number): T[] {
  const lines = readJsonLines<T>(path, { repair: true }) ?? [];
  const cutIndex = step === 0 ? 0 : lines.findIndex((line) => line.step > step);
  const keptLines = cutIndex < 0 ? lines : lines.slice(0, cutIndex);
  if (keptLines.length < lines.length) keepFirstLines(path, keptLines.length);
  return keptLines;
}
