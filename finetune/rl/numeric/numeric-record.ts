/** Keeps the record of a training run next to its result: metrics and a page. */
import { join } from 'node:path';
import { type Page, page } from '../../../src/report/page/page.js';
import { trainingFiles } from '../../../src/runs/training-files.js';
import { replaceFile } from '../../../src/storage/files.js';
import { MetricsLog, type Timed } from '../../train/metrics.js';
import type { TrainingStatus } from '../../train/pages/frame.js';
import type { NumericEvent } from './train-numeric.js';

export type NumericMetric = Timed<NumericEvent>;
export type NumericMetricOf<Kind extends NumericEvent['kind']> = Extract<
  NumericMetric,
  { readonly kind: Kind }
>;

/** Minimum seconds between rewrites of the page while only step metrics arrive. */
const pageEvery = 5;

/** Estimate from the last ten updates; undefined before the first. */
export function numericSecondsLeft(metrics: readonly NumericMetric[]): number | undefined {
  const start = metrics.findLast((metric) => metric.kind === 'start');
  const steps = metrics.filter((metric) => metric.kind === 'step').slice(-10);
  if (start === undefined || steps.length === 0) return undefined;
  const each = steps.reduce((sum, { seconds }) => sum + seconds, 0) / steps.length;
  return each * (start.totalSteps - steps.at(-1)!.step);
}

export class NumericRecord {
  readonly #page: string;
  readonly #render: (metrics: readonly NumericMetric[], status: TrainingStatus) => Page;
  readonly #log: MetricsLog<NumericMetric>;
  /** Seconds since the page was last written. */
  #unwritten = Number.POSITIVE_INFINITY;

  constructor(output: string, render: (metrics: readonly NumericMetric[], status: TrainingStatus) => Page) {
    this.#page = join(output, trainingFiles.page);
    this.#render = render;
    this.#log = new MetricsLog(join(output, trainingFiles.metrics));
  }

  /** Metrics of the whole training run, including earlier sessions. */
  get metrics(): readonly NumericMetric[] {
    return this.#log.metrics;
  }

  /** Undefined before the first update. */
  get secondsLeft(): number | undefined {
    return numericSecondsLeft(this.metrics);
  }

  /** @throws UserError if the log of an earlier session is damaged */
  add(metric: NumericMetric): void {
    this.#log.add(metric);
    this.#unwritten += metric.seconds;
    if (metric.kind === 'step' && this.#unwritten < pageEvery) return;
    this.#writePage({ kind: 'running', secondsLeft: this.secondsLeft });
  }

  /** Writes the final page. A run that never started gets no page. */
  async end(status: TrainingStatus): Promise<void> {
    if (this.metrics.length > 0) this.#writePage(status);
    await this.#log.close();
  }

  #writePage(status: TrainingStatus): void {
    this.#unwritten = 0;
    replaceFile(this.#page, page(this.#render(this.metrics, status)));
  }
}
