/** Measures how hard a task is, using random policies. */
import type { RandomGenerator } from '../../random/generator.js';
import { firstLargest } from '../../statistics/descriptive.js';
import type { ControlledSystem } from './controlled-task.js';
import { logUniform } from './distributions.js';

/** The target share of random policies that succeed at a task, log-uniform between 0.3% and 30%. */
export const drawShare = (random: RandomGenerator): number => logUniform(random, 0.003, 0.3);

/** Number of random policies to try for a share, so that about four succeed. */
export const policiesFor = (share: number): number => Math.round(Math.min(300, Math.max(40, 4 / share)));

/** Standard deviation of the weights of random linear policies, for a range of ±6. */
const weightSpread = 3;

interface Trial {
  readonly policies: number;
  readonly steps: number;
  /** Scores a state; a policy is scored by the maximum over its episode. */
  readonly measure: (state: Float64Array) => number;
  /** An episode ends once the measure exceeds this. */
  readonly beyond: number;
}

/** Peak measures of one episode for each of many random linear policies with a bias, ascending. */
export function peaksOfRandomPolicies(
  system: ControlledSystem,
  random: RandomGenerator,
  trial: Trial,
): Float64Array {
  const { actuators, sensors } = system.parts;
  const weights = new Float64Array((sensors.count + 1) * actuators.count);
  const outputs: number[] = Array(actuators.count).fill(0);
  const peaks = new Float64Array(trial.policies);
  for (let policy = 0; policy < trial.policies; policy++) {
    for (let i = 0; i < weights.length; i++) weights[i] = random.normal(0, weightSpread);
    peaks[policy] = peakOf(system, random, trial, () => {
      linearOutputs(weights, system.seen, outputs);
      return actuators.kind === 'discrete' ? firstLargest(outputs) : outputs;
    });
  }
  return peaks.sort();
}

/** The maximum of the measure over one episode, not counting the start. */
export function peakOf(
  system: ControlledSystem,
  random: RandomGenerator,
  { steps, measure, beyond }: Omit<Trial, 'policies'>,
  act: () => number | readonly number[],
): number {
  system.reset(random);
  let peak = Number.NEGATIVE_INFINITY;
  for (let step = 0; step < steps && peak <= beyond; step++) {
    system.advance(act());
    const value = measure(system.state);
    if (value > peak) peak = value;
  }
  return peak;
}

function linearOutputs(weights: Float64Array, seen: Float64Array, outputs: number[]): void {
  const m = outputs.length;
  for (let a = 0; a < m; a++) {
    let sum = weights[seen.length * m + a]!;
    for (let i = 0; i < seen.length; i++) sum += seen[i]! * weights[i * m + a]!;
    outputs[a] = sum;
  }
}

/** The boundary between the smallest `share` of the ascending values and the rest. */
export function quantile(ascending: Float64Array, share: number): number {
  const place = Math.min(ascending.length - 1, Math.max(1, Math.round(share * ascending.length)));
  return (ascending[place - 1]! + ascending[place]!) / 2;
}
