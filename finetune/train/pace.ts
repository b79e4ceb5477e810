/** Current loss (smoothed), speed and remaining time of a training run. */
import { mean } from '../../src/statistics/descriptive.js';
import type { Metric, MetricOf } from './metrics.js';

/** Window for speed and remaining time, in steps. */
const recentSteps = 20;

/**
 * Approximate share of the forward pass in a step's time; predicts the duration of validations until one has
 * been timed.
 */
const forwardShare = 0.4;

/** Steps between validations and between checkpoints. */
export interface Intervals {
  readonly evaluateEvery: number;
  readonly checkpointEvery: number;
}

/**
 * Smoothed training loss after the first `count` steps: the mean over the latest of them. The terminal, the
 * page and the charts all use this definition.
 * @param losses losses of the steps, in order
 */
export function trainingLoss(losses: readonly number[], count = losses.length): number {
  const reach = Math.max(10, Math.min(100, Math.round(count / 20)));
  return mean(losses.slice(Math.max(0, count - reach), count));
}

export class Pace {
  readonly #intervals: Intervals;
  #recent: readonly MetricOf<'step'>[] = [];
  #start: MetricOf<'start'> | undefined;
  #losses: number[] = [];
  /** Step and duration of the last validation and the last checkpoint. */
  #validation = { step: 0, seconds: 0 };
  #checkpoint = { step: 0, seconds: 0 };

  constructor(intervals: Intervals) {
    this.#intervals = intervals;
  }

  /** Starts from the losses of earlier sessions. */
  goOnAfter(metrics: readonly Metric[]): void {
    this.#losses = metrics.flatMap((metric) => (metric.kind === 'step' ? [metric.loss] : []));
  }

  take(metric: Metric): void {
    if (metric.kind === 'start') {
      this.#start = metric;
      this.#validation = { step: metric.step, seconds: 0 };
      this.#checkpoint = this.#validation;
    } else if (metric.kind === 'step') {
      this.#losses.push(metric.loss);
      this.#recent = [...this.#recent, metric].slice(-recentSteps);
    } else if (metric.kind === 'validation') this.#validation = metric;
    else if (metric.kind === 'checkpoint') this.#checkpoint = metric;
  }

  /** Smoothed loss. Undefined before the first step, like the other figures. */
  get loss(): number | undefined {
    return this.#losses.length === 0 ? undefined : trainingLoss(this.#losses);
  }

  get tokensPerSecond(): number | undefined {
    const seconds = sum(this.#recent, (step) => step.seconds);
    return seconds === 0 ? undefined : sum(this.#recent, (step) => step.tokens) / seconds;
  }

  /** Includes upcoming validations and checkpoints; ignores early stopping. */
  get secondsLeft(): number | undefined {
    const last = this.#recent.at(-1);
    const { tokensPerSecond } = this;
    if (this.#start === undefined || last === undefined || tokensPerSecond === undefined) return undefined;
    const { totalSteps, validation } = this.#start;
    const perStep = sum(this.#recent, ({ seconds }) => seconds) / this.#recent.length;
    const untimed = (forwardShare * validation.tokens) / tokensPerSecond;
    const perValidation = validation.tokens === 0 ? 0 : this.#validation.seconds || untimed;
    const { evaluateEvery, checkpointEvery } = this.#intervals;
    return (
      (totalSteps - last.step) * perStep +
      occasions(this.#validation.step, totalSteps, evaluateEvery) * perValidation +
      occasions(this.#checkpoint.step, totalSteps, checkpointEvery) * this.#checkpoint.seconds
    );
  }
}

/**
 * Number of remaining occurrences, after step `after`, of something that happens every `every` steps and
 * after the last one.
 */
function occasions(after: number, totalSteps: number, every: number): number {
  if (after >= totalSteps) return 0;
  const regular = Math.floor(totalSteps / every) - Math.floor(after / every);
  return regular + (totalSteps % every === 0 ? 0 : 1);
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
