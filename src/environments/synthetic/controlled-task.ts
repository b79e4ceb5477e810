import type { RandomGenerator } from '../../random/generator.js';
import {
  type Action,
  type Observation,
  type Space,
  symmetricBox,
  type Task,
  type TaskStep,
} from '../environment.js';
import { type Actuators, actionSpace, applyAction } from './actuators.js';
import type { Plant, Sensors } from './plant.js';

export interface SystemParts {
  readonly plant: Plant;
  readonly actuators: Actuators;
  readonly sensors: Sensors;
  /** Each coordinate starts within ± this. */
  readonly spread: number;
  /** Standard deviation of the noise added to each driven coordinate per step. */
  readonly noise: number;
  /** Coordinates are clipped at ± this. */
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

/** Reward and termination in a state; `applyAction` gives the effort. */
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

/** The largest |coordinate| / limit. */
export function excursion(state: Float64Array, limits: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < state.length; i++) {
    const ratio = Math.abs(state[i]!) / limits[i]!;
    if (ratio > largest) largest = ratio;
  }
  return largest;
}

/** The dot product. */
export function projection(state: ArrayLike<number>, direction: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < state.length; i++) sum += direction[i]! * state[i]!;
  return sum;
}
