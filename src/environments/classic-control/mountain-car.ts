import type { RandomGenerator } from '../../random.js';
import type { BoxSpace, DiscreteSpace, Observation } from '../environment.js';
import type { Frame } from '../frame.js';
import type { OpenStep, Task } from '../task.js';
import { drawMountainCar } from './mountain-car-drawing.js';

const leftEnd = -1.2;
const rightEnd = 0.6;
const goal = 0.5;
const maxSpeed = 0.07;
const force = 0.001;
const gravity = 0.0025;

/**
 * An underpowered car in a valley y = sin(3x), to be driven up the right hill (A. Moore, PhD thesis, 1990).
 * Observation: position and velocity. Action: 0 accelerates left, 1 not, 2 right.
 */
export class MountainCar implements Task<number> {
  readonly observationSpace: BoxSpace = {
    kind: 'box',
    low: [Math.fround(leftEnd), Math.fround(-maxSpeed)],
    high: [Math.fround(rightEnd), Math.fround(maxSpeed)],
  };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 3 };
  readonly #goalVelocity: number;
  #position = 0;
  #velocity = 0;

  constructor(options: { readonly goal_velocity: number }) {
    this.#goalVelocity = options.goal_velocity;
  }

  reset(random: RandomGenerator): Observation {
    this.#position = random.uniform(-0.6, -0.4);
    this.#velocity = 0;
    return this.#observe();
  }

  step(action: number): OpenStep {
    let velocity = this.#velocity + ((action - 1) * force + Math.cos(3 * this.#position) * -gravity);
    velocity = Math.min(maxSpeed, Math.max(-maxSpeed, velocity));
    const position = Math.min(rightEnd, Math.max(leftEnd, this.#position + velocity));
    if (position === leftEnd && velocity < 0) velocity = 0;
    this.#position = position;
    this.#velocity = velocity;
    return {
      observation: this.#observe(),
      reward: -1,
      terminated: position >= goal && velocity >= this.#goalVelocity,
      truncated: false,
    };
  }

  frame(): Frame {
    return drawMountainCar(this.#position, goal);
  }

  #observe(): number[] {
    return [Math.fround(this.#position), Math.fround(this.#velocity)];
  }
}
