/** How a training goes at present: its loss without the noise of single steps, its speed, and the time that is left. */
import type { Metric, MetricOf } from './metrics.js';

/** Steps that speed and time left are told from. */
const recentSteps = 20;

/** Steps that the shown loss is a mean over. */
const lossSteps = 10;

/** The share of a step that a forward pass takes, about; for a validation that no one has timed yet. */
const forwardShare = 0.4;

/**
 * The exponentially weighted mean of the values so far, over about `span` of them; the first ones weigh no more than
 * their share (bias correction, https://arxiv.org/abs/1412.6980, section 3).
 */
export function createSmoother(span: number): (value: number) => number {
  const decay = 1 - 1 / span;
  let sum = 0;
  let weight = 0;
  return (value) => {
    sum = decay * sum + value;
    weight = decay * weight + 1;
    return sum / weight;
  };
}

export interface Pace {
  take(metric: Metric): void;
  /** Undefined before the first step, as the others. */
  readonly loss: number | undefined;
  readonly tokensPerSecond: number | undefined;
  /** With the validations and checkpoints to come, and without early stopping. */
  readonly secondsLeft: number | undefined;
}

export function createPace(intervals: {
  readonly evaluateEvery: number;
  readonly checkpointEvery: number;
}): Pace {
  const smooth = createSmoother(lossSteps);
  const recent: MetricOf<'step'>[] = [];
  let start: MetricOf<'start'> | undefined;
  let loss: number | undefined;
  /** Steps after which the last validation and the last checkpoint were, and what they took. */
  let validation = { step: 0, seconds: 0 };
  let checkpoint = { step: 0, seconds: 0 };
  const speed = () => {
    const seconds = sum(recent, (step) => step.seconds);
    return seconds === 0 ? undefined : sum(recent, (step) => step.tokens) / seconds;
  };
  return {
    take(metric) {
      switch (metric.kind) {
        case 'start':
          start = metric;
          validation = { step: metric.step, seconds: 0 };
          checkpoint = { step: metric.step, seconds: 0 };
          break;
        case 'step':
          loss = smooth(metric.loss);
          recent.push(metric);
          if (recent.length > recentSteps) recent.shift();
          break;
        case 'validation':
          validation = metric;
          break;
        case 'checkpoint':
          checkpoint = metric;
          break;
        default:
      }
    },
    get loss() {
      return loss;
    },
    get tokensPerSecond() {
      return speed();
    },
    get secondsLeft() {
      const last = recent.at(-1);
      const tokensPerSecond = speed();
      if (start === undefined || last === undefined || tokensPerSecond === undefined) return undefined;
      const { totalSteps } = start;
      const perStep = sum(recent, ({ seconds }) => seconds) / recent.length;
      const untimed = (forwardShare * start.validation.tokens) / tokensPerSecond;
      const perValidation =
        start.validation.tokens === 0 ? 0 : validation.seconds > 0 ? validation.seconds : untimed;
      return (
        (totalSteps - last.step) * perStep +
        occasions(validation.step, totalSteps, intervals.evaluateEvery) * perValidation +
        occasions(checkpoint.step, totalSteps, intervals.checkpointEvery) * checkpoint.seconds
      );
    },
  };
}

/** How often something that happens every so many steps, and after the last one, is still to come. */
function occasions(after: number, totalSteps: number, every: number): number {
  if (after >= totalSteps) return 0;
  const regular = Math.floor(totalSteps / every) - Math.floor(after / every);
  return regular + (totalSteps % every === 0 ? 0 : 1);
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
