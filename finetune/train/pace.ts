/** Computes the current smoothed loss, speed and remaining time of supervised training. */
import { recentSteps, secondsLeftOf } from '../../src/runs/training/trainings.js';
import { trainingLoss } from '../../src/web/training-charts.js';
import type { Metric } from './events.js';

/** Approximate share of a step's time taken by its forward pass. Predicts a validation's time until one is measured. */
const forwardShare = 0.4;

/** Steps between validations and between checkpoints. */
export interface Intervals {
  readonly evaluateEvery: number;
  readonly checkpointEvery: number;
}

/** All values are undefined before the first step. */
interface Pace {
  readonly loss: number | undefined;
  readonly tokensPerSecond: number | undefined;
  /** Includes upcoming validations and checkpoints; ignores early stopping. */
  readonly secondsLeft: number | undefined;
}

export function paceOf(metrics: readonly Metric[], { evaluateEvery, checkpointEvery }: Intervals): Pace {
  const steps = metrics.filter((metric) => metric.kind === 'step');
  const losses = steps.flatMap(({ loss }) => loss ?? []);
  const recent = steps.slice(-recentSteps);
  const seconds = recent.reduce((sum, step) => sum + step.seconds, 0);
  const tokens = recent.reduce((sum, step) => sum + (step.tokens ?? 0), 0);
  const tokensPerSecond = seconds === 0 ? undefined : tokens / seconds;
  const loss = steps.length === 0 ? undefined : trainingLoss(losses);
  const ofSteps = secondsLeftOf(metrics);
  const start = metrics.findLast((metric) => metric.kind === 'start');
  if (start === undefined || ofSteps === undefined || tokensPerSecond === undefined)
    return { loss, tokensPerSecond, secondsLeft: undefined };
  const { totalSteps, validation } = start;
  const heldOutTokens = validation?.tokens ?? 0;
  const session = metrics.slice(metrics.lastIndexOf(start));
  const latest = (kind: 'validation' | 'checkpoint') =>
    session.findLast((metric) => metric.kind === kind) ?? { step: start.step, seconds: 0 };
  const [validated, saved] = [latest('validation'), latest('checkpoint')];
  const untimed = (forwardShare * heldOutTokens) / tokensPerSecond;
  const perValidation = heldOutTokens === 0 ? 0 : validated.seconds || untimed;
  const secondsLeft =
    ofSteps +
    occasions(validated.step, totalSteps, evaluateEvery) * perValidation +
    occasions(saved.step, totalSteps, checkpointEvery) * saved.seconds;
  return { loss, tokensPerSecond, secondsLeft };
}

/** Counts how often something happens after step `after` if it happens every `every` steps and at the last step. */
function occasions(after: number, totalSteps: number, every: number): number {
  if (after >= totalSteps) return 0;
  const regular = Math.floor(totalSteps / every) - Math.floor(after / every);
  return regular + (totalSteps % every === 0 ? 0 : 1);
}
