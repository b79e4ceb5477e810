/** The record of a training beside its result: the log of metrics, event files for TensorBoard, a page. */
import { join } from 'node:path';
import { replaceFile } from '../../src/storage/files.js';
import { type Metric, MetricsLog } from './metrics.js';
import { EventFile } from './tensorboard.js';
import { renderTrainingPage, type TrainingReport, type TrainingStatus } from './training-page.js';

/** Names in the output directory. */
export const recordFiles = {
  metrics: 'metrics.jsonl',
  eventFiles: 'tensorboard',
  page: 'index.html',
} as const;

/** The page is written when training starts, with every checkpoint, and at the end. */
export class TrainingRecord {
  readonly #about: Omit<TrainingReport, 'metrics' | 'status'>;
  readonly #log: MetricsLog;
  readonly #events: EventFile;

  constructor(about: Omit<TrainingReport, 'metrics' | 'status'>) {
    this.#about = about;
    this.#log = new MetricsLog(join(about.config.output, recordFiles.metrics));
    this.#events = new EventFile(join(about.config.output, recordFiles.eventFiles));
  }

  /** The metrics of the whole training, earlier sessions included. */
  get metrics(): readonly Metric[] {
    return this.#log.metrics;
  }

  /** @throws UserError when the log of an earlier session is damaged */
  add(metric: Metric): void {
    this.#log.add(metric);
    this.#events.add(metric);
    if (metric.kind === 'start' || metric.kind === 'checkpoint') this.#writePage({ kind: 'running' });
  }

  /** Writes the page for the last time. A training that never started has none. */
  async end(status: TrainingStatus): Promise<void> {
    this.#writePage(status);
    this.#events.close();
    await this.#log.close();
  }

  #writePage(status: TrainingStatus): void {
    if (this.metrics.length === 0) return;
    const page = renderTrainingPage({ ...this.#about, metrics: this.metrics, status });
    replaceFile(join(this.#about.config.output, recordFiles.page), page);
  }
}
