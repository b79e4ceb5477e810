/** `metrics.jsonl`: every event of a training with its time, its duration, and the memory of the process. */
import { JsonLinesFile, keepFirstLines, readJsonLines } from '../../src/storage/json-lines.js';
import type { TrainingEvent } from './trainer.js';

export type Metric = TrainingEvent & {
  /** ISO 8601. */
  readonly time: string;
  /** Since the event before: what the step, the validation or the checkpoint took. */
  readonly seconds: number;
  /** Memory of the process. */
  readonly rssBytes: number;
  /** Speed of a step. */
  readonly tokensPerSecond?: number;
};

export type MetricOf<Kind extends Metric['kind']> = Extract<Metric, { readonly kind: Kind }>;

/** Turns events into metrics; to be called as they happen. `milliseconds` is a monotonic clock, `memory` in bytes. */
export function createMeter(meters: {
  now(): Date;
  milliseconds(): number;
  memory(): number;
}): (event: TrainingEvent) => Metric {
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
      ...(event.kind === 'step' &&
        seconds > 0 && { tokensPerSecond: Number((event.tokens / seconds).toPrecision(6)) }),
    };
  };
}

/**
 * The log of a training, which is touched once training starts: then the metrics after its first step are cut off,
 * because these steps are made again. So the file has every step once, in order.
 */
export class MetricsLog {
  readonly #path: string;
  readonly #file: JsonLinesFile<Metric>;
  #metrics: Metric[] = [];

  constructor(path: string) {
    this.#path = path;
    this.#file = new JsonLinesFile(path);
  }

  /** The metrics of the whole training, earlier sessions included. */
  get metrics(): readonly Metric[] {
    return this.#metrics;
  }

  /** @throws UserError for a damaged file, when training starts */
  add(metric: Metric): void {
    if (metric.kind === 'start') this.#keepUntil(metric.step);
    this.#metrics.push(metric);
    this.#file.append([metric]);
  }

  /** Keeps the metrics of earlier sessions up to a step; none where the training begins anew. */
  #keepUntil(step: number): void {
    const logged = readJsonLines<Metric>(this.#path, { repair: true }) ?? [];
    const repeated = step === 0 ? 0 : logged.findIndex((metric) => metric.step > step);
    this.#metrics = repeated < 0 ? logged : logged.slice(0, repeated);
    if (this.#metrics.length < logged.length) keepFirstLines(this.#path, this.#metrics.length);
  }

  async close(): Promise<void> {
    await this.#file.flush();
    this.#file.close();
  }
}
