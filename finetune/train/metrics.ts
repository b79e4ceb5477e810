/** `metrics.jsonl`: every event of a training run with its time, duration and the memory of the process. */
import { JsonLinesFile, keepFirstLines, readJsonLines } from '../../src/storage/json-lines.js';
import type { TrainingEvent } from './trainer.js';

export type Timed<Event> = Event & {
  /** ISO 8601. */
  readonly time: string;
  /** Seconds since the previous event: the duration of the step, validation or checkpoint. */
  readonly seconds: number;
  /** Resident memory of the process. */
  readonly rssBytes: number;
  /** Speed of a step; missing for other events. */
  readonly tokensPerSecond?: number;
};

export type Metric = Timed<TrainingEvent>;

export type MetricOf<Kind extends Metric['kind']> = Extract<Metric, { readonly kind: Kind }>;

/** An event and the number of steps completed at that point. */
interface LoggedEvent {
  readonly kind: string;
  readonly step: number;
  /** Number of tokens read by the step. */
  readonly tokens?: number;
}

/**
 * Returns a function that turns events into metrics; call it as each event happens.
 * @param meters `milliseconds` is a monotonic clock, `memory` is in bytes
 */
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
 * The log of a training run. The file isn't modified until training starts; then the metrics after the
 * starting step are cut off, because those steps are repeated. The file thus has each step once, in order.
 */
export class MetricsLog<M extends LoggedEvent = Metric> {
  readonly #path: string;
  readonly #file: JsonLinesFile<M>;
  #metrics: M[] = [];

  constructor(path: string) {
    this.#path = path;
    this.#file = new JsonLinesFile(path);
  }

  /** Metrics of the whole training run, including earlier sessions. */
  get metrics(): readonly M[] {
    return this.#metrics;
  }

  /** @throws UserError if the file is damaged (only when training starts) */
  add(metric: M): void {
    if (metric.kind === 'start') this.#keepUntil(metric.step);
    this.#metrics.push(metric);
    this.#file.append([metric]);
  }

  /** Keeps the metrics of earlier sessions up to this step; none for a fresh start. */
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
