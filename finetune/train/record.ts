/** Writes a training run's record next to its result: metrics, TensorBoard event files and a page. */
import { join } from 'node:path';
import { trainingPage } from '../../src/report/training-page.js';
import { type RecordedSample, readSamples, type Sample } from '../../src/runs/training/samples.js';
import {
  readMetric,
  type TrainingAbout,
  type TrainingMetric,
  trainingOf,
} from '../../src/runs/training/trainings.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { replaceFile } from '../../src/storage/files.js';
import { JsonLinesFile, keepFirstLines, readJsonLines } from '../../src/storage/json-lines.js';
import { EventFile, type Scalars } from '../../src/storage/tensorboard.js';
import { page } from '../../src/web/page.js';

export type Timed<Event> = Event & {
  /** ISO 8601. */
  readonly time: string;
  /** Seconds since the previous event, e.g. the duration of this step; 0 for `resume`, so that pauses don't count. */
  readonly seconds: number;
  /** Resident memory of the process. */
  readonly rssBytes: number;
  /** Speed of a step; missing for other events. */
  readonly tokensPerSecond?: number;
};

/** An event and the number of steps completed at that point. */
export interface LoggedEvent {
  readonly kind: string;
  readonly step: number;
  readonly tokens?: number;
  readonly totalSteps?: number;
}

/** Returns a function that adds the time, its duration and the memory in use to an event. */
export function createMeter(meters: {
  now(): Date;
  milliseconds(): number;
  memory(): number;
}): <Event extends LoggedEvent>(event: Event) => Timed<Event> {
  let last = meters.milliseconds();
  return (event) => {
    const present = meters.milliseconds();
    const seconds = Number(((present - last) / 1000).toPrecision(6));
    last = present;
    return {
      ...event,
      time: meters.now().toISOString(),
      seconds,
      rssBytes: meters.memory(),
      ...(event.tokens !== undefined &&
        seconds > 0 && { tokensPerSecond: Number((event.tokens / seconds).toPrecision(6)) }),
    };
  };
}

export interface Recording<M> {
  /** The content of `training.json` at the start. */
  readonly about: TrainingAbout;
  secondsLeft(metrics: readonly M[]): number | undefined;
  /** Values for TensorBoard by tag; if undefined, no event files are written. */
  readonly scalars?: ((metric: M) => Scalars) | undefined;
}

/** Minimum seconds between rewrites of the page while only step metrics arrive. */
const pageEvery = 5;

/**
 * Writes metrics and the page. Modifies nothing until training starts; then removes the metrics of steps after the
 * starting step, because training repeats them.
 */
export class TrainingRecord<M extends Timed<LoggedEvent>> {
  readonly #output: string;
  readonly #recording: Recording<M>;
  readonly #file: JsonLinesFile<M>;
  readonly #samples: JsonLinesFile<RecordedSample>;
  readonly #events: EventFile<M> | undefined;
  #metrics: M[] = [];
  #read: TrainingMetric[] = [];
  #unwritten = 0;

  constructor(output: string, recording: Recording<M>) {
    const { scalars } = recording;
    this.#output = output;
    this.#recording = recording;
    this.#file = new JsonLinesFile(join(output, trainingFiles.metrics));
    this.#samples = new JsonLinesFile(join(output, trainingFiles.samples));
    this.#events = scalars && new EventFile(join(output, trainingFiles.eventFiles), scalars);
  }

  /** Metrics of the whole training run, including earlier sessions. */
  get metrics(): readonly M[] {
    return this.#metrics;
  }

  /** The metrics as a reader of `metrics.jsonl` sees them. */
  get read(): readonly TrainingMetric[] {
    return this.#read;
  }

  /** @throws UserError if the metrics of an earlier session are damaged */
  add(metric: M): void {
    if (metric.kind === 'start') this.#keepUntil(metric.step);
    this.#keep(metric);
    this.#file.append([metric]);
    this.#events?.add(metric);
    this.#unwritten += metric.seconds;
    if (metric.kind === 'step' && this.#unwritten < pageEvery) return;
    this.#writePage(this.#recording.about);
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
    this.#writePage({ ...this.#recording.about, ...changes }, false);
    this.#events?.close();
    for (const file of [this.#file, this.#samples]) {
      await file.flush();
      file.close();
    }
  }

  /** Keeps the metrics of earlier sessions up to this step; none for a fresh start. */
  #keepUntil(step: number): void {
    this.#metrics = [];
    this.#read = [];
    for (const metric of keptUntil<M>(this.#file.path, step)) this.#keep(metric);
    keptUntil<RecordedSample>(this.#samples.path, step);
  }

  #keep(metric: M): void {
    this.#metrics.push(metric);
    const read = readMetric(metric);
    if (read !== undefined) this.#read.push(read);
  }

  #writePage(about: TrainingAbout, isRunning = true): void {
    if (this.#metrics.length === 0) return;
    this.#unwritten = 0;
    const shown = trainingPage({
      ...trainingOf(this.#output, about, this.#read, isRunning),
      samples: readSamples(this.#output),
      secondsLeft: isRunning ? this.#recording.secondsLeft(this.#metrics) : undefined,
    });
    replaceFile(join(this.#output, trainingFiles.page), page(shown));
  }
}

/** Returns the lines of earlier sessions up to this step; removes later lines from the file. */
function keptUntil<T extends { readonly step: number }>(path: string, step: number): T[] {
  const logged = readJsonLines<T>(path, { repair: true }) ?? [];
  const repeated = step === 0 ? 0 : logged.findIndex((line) => line.step > step);
  const kept = repeated < 0 ? logged : logged.slice(0, repeated);
  if (kept.length < logged.length) keepFirstLines(path, kept.length);
  return kept;
}
