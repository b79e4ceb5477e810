/** Keeps the record of a training run next to its result: metrics, TensorBoard event files and a page. */
import { join } from 'node:path';
import { page } from '../../src/report/page/page.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { replaceFile } from '../../src/storage/files.js';
import { EventFile, type Scalars } from '../../src/storage/tensorboard.js';
import { type Metric, MetricsLog } from './metrics.js';
import { Pace } from './pace.js';
import type { TrainingStatus } from './pages/frame.js';
import { supervisedPage, type TrainingReport } from './training-page.js';

/** Minimum seconds between rewrites of the page while only step metrics arrive. */
const pageEvery = 5;

/** Writes the page at the start, every few seconds, after each validation and checkpoint, and at the end. */
export class TrainingRecord {
  readonly #about: Omit<TrainingReport, 'metrics' | 'status'>;
  readonly #log: MetricsLog;
  readonly #events: EventFile<Metric>;
  readonly #pace: Pace;
  /** Seconds since the page was last written. */
  #unwritten = 0;

  constructor(about: Omit<TrainingReport, 'metrics' | 'status'>) {
    this.#about = about;
    this.#log = new MetricsLog(join(about.config.output, trainingFiles.metrics));
    this.#pace = new Pace(about.config);
    this.#events = new EventFile(join(about.config.output, trainingFiles.eventFiles), trainingScalars);
  }

  /** Metrics of the whole training run, including earlier sessions. */
  get metrics(): readonly Metric[] {
    return this.#log.metrics;
  }

  /** @throws UserError if the log of an earlier session is damaged */
  add(metric: Metric): void {
    this.#log.add(metric);
    this.#events.add(metric);
    this.#pace.take(metric);
    this.#unwritten += metric.seconds;
    if (metric.kind === 'step' && this.#unwritten < pageEvery) return;
    this.#writePage({ kind: 'running', secondsLeft: this.#pace.secondsLeft });
  }

  /** Writes the final page and closes the files. A run that never started gets no page. */
  async end(status: TrainingStatus): Promise<void> {
    this.#writePage(status);
    this.#events.close();
    await this.#log.close();
  }

  #writePage(status: TrainingStatus): void {
    if (this.metrics.length === 0) return;
    this.#unwritten = 0;
    const shown = supervisedPage({ ...this.#about, metrics: this.metrics, status });
    replaceFile(join(this.#about.config.output, trainingFiles.page), page(shown));
  }
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
