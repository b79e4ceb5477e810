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

/** The reward of a controlled system; `applyAction` gives the effort. */
export type Objective =
  /** 1 per step while each coordinate is within ± its limit; beyond, the episode ends. */
  | { readonly kind: 'survive'; readonly limits: Float64Array }
  /** −scale · (Σ weight·deviation² + effortCost·effort); angles are wrapped, so they deviate by at most π. */
  | {
      readonly kind: 'regulate';
      readonly weights: Float64Array;
      readonly isAngle: readonly boolean[];
      readonly effortCost: number;
      readonly scale: number;
    }
  /** −stepCost − effortCost·effort until direction·state reaches the threshold; then `bonus`, and the episode ends. */
  | {
      readonly kind: 'reach';
      readonly direction: Float64Array;
      readonly threshold: number;
      readonly stepCost: number;
      readonly effortCost: number;
      readonly bonus: number;
    }
  /** scale · (speed − effortCost·effort), where the speed is a coordinate of the state. */
  | { readonly kind: 'move'; readonly speed: number; readonly effortCost: number; readonly scale: number };

export class ControlledTask implements Task {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly #system: ControlledSystem;
  readonly #objective: Objective;

  constructor(system: ControlledSystem, objective: Objective) {
    this.observationSpace = symmetricBox(system.parts.sensors.count);
    this.actionSpace = actionSpace(system.parts.actuators);
    this.#system = system;
    this.#objective = objective;
  }

  reset(random: RandomGenerator): Observation {
    this.#system.reset(random);
    return this.#observe();
  }

  step(action: Action): TaskStep {
    const effort = this.#system.advance(action);
    return { observation: this.#observe(), ...this.#judge(effort) };
  }

  #observe(): number[] {
    return Array.from(this.#system.seen);
  }

  #judge(effort: number): Pick<TaskStep, 'reward' | 'terminated'> {
    const { state } = this.#system;
    const objective = this.#objective;
    switch (objective.kind) {
      case 'survive':
        return { reward: 1, terminated: excursion(state, objective.limits) > 1 };
      case 'regulate': {
        let cost = objective.effortCost * effort;
        for (let i = 0; i < state.length; i++) {
          const deviation = objective.isAngle[i] ? wrapped(state[i]!) : state[i]!;
          cost += objective.weights[i]! * deviation * deviation;
        }
        return { reward: -objective.scale * cost, terminated: false };
      }
      case 'reach': {
        const reached = projection(state, objective.direction) >= objective.threshold;
        const cost = objective.effortCost * effort;
        return { reward: (reached ? objective.bonus : 0) - objective.stepCost - cost, terminated: reached };
      }
      case 'move': {
        const gain = state[objective.speed]! - objective.effortCost * effort;
        return { reward: objective.scale * gain, terminated: false };
      }
    }
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

/** Wraps an angle to [−π, π). */
function wrapped(angle: number): number {
  return angle - 2 * Math.PI * Math.floor((angle + Math.PI) / (2 * Math.PI));
}
