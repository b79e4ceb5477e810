/** `metrics.jsonl`: every event of a training with when it was, how long it took, and the memory it left. */
import { JsonLinesFile, keepFirstLines } from '../../src/storage/json-lines.js';
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

export interface Meters {
  now(): Date;
  /** A clock that only goes forward. */
  milliseconds(): number;
  /** Bytes of memory that the process holds. */
  memory(): number;
}

/** Turns events into metrics; to be called as they happen. */
export function createMeter(meters: Meters): (event: TrainingEvent) => Metric {
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

export interface MetricsLog {
  /** What the whole training recorded, earlier sessions of it included. */
  readonly metrics: readonly Metric[];
  add(metric: Metric): void;
  close(): Promise<void>;
}

/**
 * The log in `path`, which is touched once training starts: then what comes after the step it starts from is cut off,
 * because these steps are made again. So the file has every step once, in order.
 * @throws UserError for a damaged file, when training starts
 */
export function openMetricsLog(path: string): MetricsLog {
  const file = new JsonLinesFile<Metric>(path);
  const metrics: Metric[] = [];
  return {
    metrics,
    add(metric) {
      if (metric.kind === 'start') {
        const kept = standing(file.read() ?? [], metric.step);
        if (kept.length < file.length) keepFirstLines(path, kept.length);
        metrics.splice(0, metrics.length, ...kept);
      }
      metrics.push(metric);
      file.append([metric]);
    },
    async close() {
      await file.flush();
      file.close();
    },
  };
}

/** What is left of earlier sessions for a training that goes on from `step`: nothing, where it begins anew. */
function standing(metrics: readonly Metric[], step: number): readonly Metric[] {
  if (step === 0) return [];
  const repeated = metrics.findIndex((metric) => metric.step > step);
  return repeated < 0 ? metrics : metrics.slice(0, repeated);
}
