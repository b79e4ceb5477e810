import type { RandomGenerator } from '../../base/random/generator.js';
import { type BoxSpace, type Observation, symmetricBox, type Task, type TaskStep } from '../environment.js';
import { circle, type Frame, line } from '../frame.js';
import { isSinglePrecision } from './single-precision.js';

const maxSpeed = 8; // rad/s
const maxTorque = 2; // N·m
const timeStep = 0.05; // s
const { PI, fround } = Math;

/**
 * A pendulum of 1 kg and 1 m that must be swung up and kept upright with a limited torque. Observation:
 * cosine and sine of the angle (0 is upright), then the angular velocity. Action: the torque, within ±2 N·m.
 */
export class Pendulum implements Task<readonly number[]> {
  readonly observationSpace: BoxSpace = { kind: 'box', low: [-1, -1, -maxSpeed], high: [1, 1, maxSpeed] };
  readonly actionSpace = symmetricBox(1, maxTorque);
  readonly stepSeconds = timeStep;
  /** 3g / 2l, with l = 1 m */
  readonly #gravity: number;
  #angle = 0;
  #velocity = 0;

  constructor(options: { readonly g: number }) {
    this.#gravity = (3 * options.g) / 2;
  }

  reset(random: RandomGenerator): Observation {
    this.#angle = random.uniform(-PI, PI);
    this.#velocity = random.uniform(-1, 1);
    return this.#observe();
  }

  step(action: readonly number[]): TaskStep {
    const isSingle = isSinglePrecision(action[0]!);
    const torque = Math.min(maxTorque, Math.max(-maxTorque, action[0]!));
    const effort = isSingle ? fround(fround(0.001) * fround(torque * torque)) : 0.001 * (torque * torque);
    const push = isSingle ? fround(3 * torque) : 3 * torque;
    const angle = wrapAngle(this.#angle);
    const cost = angle * angle + 0.1 * (this.#velocity * this.#velocity) + effort;
    const velocity = this.#velocity + (this.#gravity * Math.sin(this.#angle) + push) * timeStep;
    this.#velocity = Math.min(maxSpeed, Math.max(-maxSpeed, velocity));
    this.#angle += this.#velocity * timeStep;
    return { observation: this.#observe(), reward: -cost, terminated: false };
  }

  frame(): Frame {
    // The angle is positive to the left, the direction of a positive torque.
    const rod = line([0, 0], [-Math.sin(this.#angle), Math.cos(this.#angle)], 0.18, 'agent');
    const shapes = [circle([0, 1], 0.16, 'goal'), rod, circle([0, 0], 0.05, 'agent-detail')];
    return { view: { min: [-1.3, -1.3], max: [1.3, 1.3] }, shapes };
  }

  #observe(): number[] {
    return [fround(Math.cos(this.#angle)), fround(Math.sin(this.#angle)), fround(this.#velocity)];
  }
}

/** Wraps an angle to [-π, π). */
function wrapAngle(angle: number): number {
  const wrapped = (angle + PI) % (2 * PI);
  return (wrapped < 0 ? wrapped + 2 * PI : wrapped) - PI;
}
