/** Shows a training run in the terminal. */
import { styleText } from 'node:util';
import { formatBytes, formatCompact } from '../../src/base/text/numbers.js';
import type { Progress } from '../../src/base/text/progress.js';
import { secondsLeftOf } from '../../src/runs/training/trainings.js';
import type { Metric, MetricOf } from './events.js';

/** Parts of the display that differ between kinds of training. */
export interface Display {
  readonly unit: 'step' | 'update';
  /** Figures of the progress line, before speed and memory. */
  figures(step: MetricOf<'step'>, metrics: readonly Metric[]): readonly string[];
  /** Returns the line for an event; undefined if it gets none. */
  line(metric: Metric, metrics: readonly Metric[]): string | undefined;
}

export function showMetric(
  progress: Progress,
  metric: Metric,
  metrics: readonly Metric[],
  { figures, line, unit }: Display,
): void {
  const text = line(metric, metrics);
  if (text !== undefined) progress.say(text);
  switch (metric.kind) {
    case 'start': {
      const { step, totalSteps } = metric;
      if (step > 0) progress.say(`resuming from the checkpoint after ${unit} ${step}`);
      progress.begin({ label: unit, total: totalSteps, value: step });
      break;
    }
    case 'step': {
      const { rssBytes, step, tokensPerSecond: speed } = metric;
      const usage = speed === undefined ? [] : [`${formatCompact(speed)} tok/s`, formatBytes(rssBytes)];
      progress.update(step, [...figures(metric, metrics), ...usage], secondsLeftOf(metrics));
      break;
    }
    case 'alarm':
      // Shown even in quiet mode.
      progress.alert(`${styleText('yellow', 'alarm')} ${metric.message}\n  hint: ${metric.hint}`);
      break;
    default:
  }
}
