import type { RandomGenerator } from '../../random.js';
import type { Action } from '../environment.js';
import { type Actuators, applyAction } from './actuators.js';
import type { Plant } from './plant.js';
import type { Sensors } from './sensors.js';

/** A plant with what acts on it, what is seen of it, and where it starts. */
export interface SystemParts {
  readonly plant: Plant;
  readonly actuators: Actuators;
  readonly sensors: Sensors;
  /** Middle and half width of the box of starts. */
  readonly start: { readonly centre: Float64Array; readonly spread: Float64Array };
  /** Standard deviation of what chance adds to each driven coordinate in a step. */
  readonly noise: number;
  /** No coordinate goes beyond ± this. */
  readonly wall: number;
}

/** A controlled system in motion. It allocates nothing after it is made, so that many policies can be tried on it. */
export class ControlledSystem {
  readonly parts: SystemParts;
  readonly state: Float64Array;
  /** What the sensors see of `state`. */
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
    const { centre, spread } = this.parts.start;
    for (let i = 0; i < this.state.length; i++) {
      this.state[i] = centre[i]! + (spread[i] === 0 ? 0 : random.uniform(-spread[i]!, spread[i]!));
    }
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
