/** `metrics.jsonl`: every event of a training with its time, its duration, and the memory of the process. */
import { JsonLinesFile, keepFirstLines, readJsonLines } from '../../src/storage/json-lines.js';
import type { TrainingEvent } from './trainer.js';

export type Timed<Event> = Event & {
  /** ISO 8601. */
  readonly time: string;
  /** Since the event before: what the step, the validation or the checkpoint took. */
  readonly seconds: number;
  /** Memory of the process. */
  readonly rssBytes: number;
  /** Speed of a step. */
  readonly tokensPerSecond?: number;
};

export type Metric = Timed<TrainingEvent>;

export type MetricOf<Kind extends Metric['kind']> = Extract<Metric, { readonly kind: Kind }>;

/** An event of a training: after which step it happened. */
interface LoggedEvent {
  readonly kind: string;
  readonly step: number;
  /** Tokens that a step read. */
  readonly tokens?: number;
}

/** Turns events into metrics; to be called as they happen. `milliseconds` is a monotonic clock, `memory` in bytes. */
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

/**
 * The log of a training, which is touched once training starts: then the metrics after its first step are cut off,
 * because these steps are made again. So the file has every step once, in order.
 */
export class MetricsLog<M extends LoggedEvent = Metric> {
  readonly #path: string;
  readonly #file: JsonLinesFile<M>;
  #metrics: M[] = [];

  constructor(path: string) {
    this.#path = path;
    this.#file = new JsonLinesFile(path);
  }

  /** The metrics of the whole training, earlier sessions included. */
  get metrics(): readonly M[] {
    return this.#metrics;
  }

  /** @throws UserError for a damaged file, when training starts */
  add(metric: M): void {
    if (metric.kind === 'start') this.#keepUntil(metric.step);
    this.#metrics.push(metric);
    this.#file.append([metric]);
  }

  /** Keeps the metrics of earlier sessions up to a step; none where the training begins anew. */
  #keepUntil(step: number): void {
    const logged = readJsonLines<M>(this.#path, { repair: true }) ?? [];
    const repeated = step === 0 ? 0 : logged.findIndex((metric) => metric.step > step);
    this.#metrics = repeated < 0 ? logged : logged.slice(0, repeated);
    if (this.#metrics.length < logged.length) keepFirstLines(this.#path, this.#metrics.length);
  }

  async close(): Promise<void> {
    await this.#file.flush();
    this.#file.close();
  }
}
