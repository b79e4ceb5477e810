/** Current loss (smoothed), speed and remaining time of a training run. */
import type { Metric, MetricOf } from './metrics.js';

/** Window for speed and remaining time, in steps. */
const recentSteps = 20;

/** Span of the smoothed loss, in steps. */
const lossSteps = 10;

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
 * Exponentially weighted mean over about `span` values, with bias correction so the first values aren't
 * overweighted (https://arxiv.org/abs/1412.6980, section 3).
 */
export class SmoothedMean {
  readonly #decay: number;
  #sum = 0;
  #weight = 0;

  constructor(span: number) {
    this.#decay = 1 - 1 / span;
  }

  /** @returns the updated mean */
  add(value: number): number {
    this.#sum = this.#decay * this.#sum + value;
    this.#weight = this.#decay * this.#weight + 1;
    return this.#sum / this.#weight;
  }
}

export class Pace {
  readonly #intervals: Intervals;
  readonly #smoothed = new SmoothedMean(lossSteps);
  #recent: readonly MetricOf<'step'>[] = [];
  #start: MetricOf<'start'> | undefined;
  #loss: number | undefined;
  /** Step and duration of the last validation and the last checkpoint. */
  #validation = { step: 0, seconds: 0 };
  #checkpoint = { step: 0, seconds: 0 };

  constructor(intervals: Intervals) {
    this.#intervals = intervals;
  }

  take(metric: Metric): void {
    if (metric.kind === 'start') {
      this.#start = metric;
      this.#validation = { step: metric.step, seconds: 0 };
      this.#checkpoint = this.#validation;
    } else if (metric.kind === 'step') {
      this.#loss = this.#smoothed.add(metric.loss);
      this.#recent = [...this.#recent, metric].slice(-recentSteps);
    } else if (metric.kind === 'validation') this.#validation = metric;
    else if (metric.kind === 'checkpoint') this.#checkpoint = metric;
  }

  /** Smoothed loss. Undefined before the first step, like the other figures. */
  get loss(): number | undefined {
    return this.#loss;
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
