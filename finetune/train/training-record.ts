/** What a training leaves to look at, beside its result: the log of metrics, event files for TensorBoard, a page. */
import { join } from 'node:path';
import { replaceFile } from '../../src/storage/replace-file.js';
import { type Metric, openMetricsLog } from './metrics.js';
import { openEventFile } from './tensorboard.js';
import { renderTrainingPage, type TrainingReport, type TrainingState } from './training-page.js';

/** Names in the output directory. */
export const recordFiles = {
  metrics: 'metrics.jsonl',
  eventFiles: 'tensorboard',
  page: 'index.html',
} as const;

export interface TrainingRecord {
  /** What the whole training recorded, earlier sessions of it included. */
  readonly metrics: readonly Metric[];
  /** @throws UserError when the log of an earlier session is damaged */
  add(metric: Metric): void;
  /** Writes the page for the last time; where training never started, there is none. */
  end(state: TrainingState): Promise<void>;
}

/** The page is written when training starts, with every checkpoint, and at the end. */
export function openTrainingRecord(about: Omit<TrainingReport, 'metrics' | 'state'>): TrainingRecord {
  const { output } = about.config;
  const log = openMetricsLog(join(output, recordFiles.metrics));
  const events = openEventFile(join(output, recordFiles.eventFiles));
  const { metrics } = log;
  const writePage = (state: TrainingState) => {
    if (metrics.length > 0)
      replaceFile(join(output, recordFiles.page), renderTrainingPage({ ...about, metrics, state }));
  };
  return {
    metrics,
    add(metric) {
      log.add(metric);
      events.add(metric);
      if (metric.kind === 'start' || metric.kind === 'checkpoint') writePage({ kind: 'running' });
    },
    async end(state) {
      writePage(state);
      events.close();
      await log.close();
    },
  };
}
