/** Controlled systems, their tasks, and the success of random policies. */

import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import {
  type Action,
  type Observation,
  type Space,
  symmetricBox,
  type Task,
  type TaskStep,
} from '../../../../src/environments/environment.js';
import { argmax } from '../../../../src/statistics/descriptive.js';
import { type Actuators, actionSpace, applyAction } from './actuators.js';
import { logUniform } from './distributions.js';
import type { Plant, Sensors } from './plant.js';

export interface SystemParts {
  readonly plant: Plant;
  readonly actuators: Actuators;
  readonly sensors: Sensors;
  /** Coordinates start within ±`spread`. */
  readonly spread: number;
  /** Standard deviation of the noise added to each driven coordinate per step. */
  readonly noise: number;
  /** Coordinates are clipped to ±`wall`. */
  readonly wall: number;
}

/** A running controlled system. Steps allocate no memory, so that many policies can be tried quickly. */
export class ControlledSystem {
  readonly parts: SystemParts;
  readonly state: Float64Array;
  readonly seen: Float64Array;
  readonly #push: Float64Array;
  #random!: RandomGenerator;

  constructor(parts: SystemParts) {
    this.parts = parts;
    this.state = new Float64Array(parts.plant.dimension);
    this.seen = new Float64Array(parts.sensors.count);
    this.#push = new Float64Array(parts.plant.dimension);
  }

  reset(random: RandomGenerator): void {
    this.#random = random;
    const { spread } = this.parts;
    for (let i = 0; i < this.state.length; i++) this.state[i] = random.uniform(-spread, spread);
    this.parts.sensors.read(this.state, this.seen);
  }

  /** @returns the effort of the action, see `applyAction` */
  advance(action: Action): number {
    const { plant, actuators, sensors, noise, wall } = this.parts;
    const effort = applyAction(actuators, action, this.#push);
    if (noise > 0) {
      for (const coordinate of plant.driven) this.#push[coordinate]! += this.#random.normal(0, noise);
    }
    const state = this.state;
    plant.advance(state, this.#push);
    for (let i = 0; i < state.length; i++) {
      if (state[i]! > wall) state[i] = wall;
      else if (state[i]! < -wall) state[i] = -wall;
    }
    sensors.read(state, this.seen);
    return effort;
  }
}

/** Returns the reward and termination in a state. `effort` is the result of `applyAction`. */
export type Judge = (state: Float64Array, effort: number) => Pick<TaskStep, 'reward' | 'terminated'>;

export class ControlledTask implements Task {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly #system: ControlledSystem;
  readonly #judge: Judge;

  constructor(system: ControlledSystem, judge: Judge) {
    this.observationSpace = symmetricBox(system.parts.sensors.count);
    this.actionSpace = actionSpace(system.parts.actuators);
    this.#system = system;
    this.#judge = judge;
  }

  reset(random: RandomGenerator): Observation {
    this.#system.reset(random);
    return Array.from(this.#system.seen);
  }

  step(action: Action): TaskStep {
    const { seen, state } = this.#system;
    const effort = this.#system.advance(action);
    return { observation: Array.from(seen), ...this.#judge(state, effort) };
  }
}

/** Maximum of |coordinate| / limit. */
export function excursion(state: Float64Array, limits: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < state.length; i++) {
    const ratio = Math.abs(state[i]!) / limits[i]!;
    if (ratio > largest) largest = ratio;
  }
  return largest;
}

export function projection(state: ArrayLike<number>, direction: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < state.length; i++) sum += direction[i]! * state[i]!;
  return sum;
}

/** Draws the share of random policies that should succeed at a task, log-uniform between 0.3% and 30%. */
export const drawShare = (random: RandomGenerator): number => logUniform(random, 0.003, 0.3);

/** Number of random policies to try for a share: enough for four to succeed on average, but between 40 and 300. */
export const policiesFor = (share: number): number => Math.round(Math.min(300, Math.max(40, 4 / share)));

/** Standard deviation of the weights of random linear policies, for a range of ±6. */
const weightSpread = 3;

interface Trial {
  readonly policies: number;
  readonly steps: number;
  /** Measures a state; a policy's score is the maximum over its episode. */
  readonly measure: (state: Float64Array) => number;
  /** An episode ends once the measure exceeds this. */
  readonly beyond: number;
}

/** Peak measures of random linear policies with a bias, one episode each, in ascending order. */
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
      return actuators.kind === 'discrete' ? argmax(outputs) : outputs;
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

/** Boundary between the lowest `share` of the sorted values and the rest. */
export function quantile(ascending: Float64Array, share: number): number {
  const place = Math.min(ascending.length - 1, Math.max(1, Math.round(share * ascending.length)));
  return (ascending[place - 1]! + ascending[place]!) / 2;
}
