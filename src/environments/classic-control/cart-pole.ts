import type { RandomGenerator } from '../../random/generator.js';
import type { BoxSpace, DiscreteSpace, Observation } from '../environment.js';
import type { Frame, Point, Shape } from '../frame.js';
import type { OpenStep, Task } from '../task.js';

const gravity = 9.8; // m/s²
const cartMass = 1.0; // kg
const poleMass = 0.1; // kg
const totalMass = poleMass + cartMass;
const halfLength = 0.5; // m, half the length of the pole
const poleMoment = poleMass * halfLength;
const force = 10.0; // N
const timeStep = 0.02; // s
const positionLimit = 2.4; // m
const angleLimit = (12 * 2 * Math.PI) / 360; // rad

const bounds = [positionLimit * 2, Number.POSITIVE_INFINITY, angleLimit * 2, Number.POSITIVE_INFINITY].map(
  Math.fround,
);

/**
 * A pole hinged on a cart (Barto, Sutton and Anderson, 1983; equations of motion: R. Florian, "Correct equations for the
 * dynamics of the cart-pole system", 2007), integrated with Euler steps.
 * Observation: cart position (m), its velocity, pole angle (rad), its velocity. Action: 0 pushes left, 1 right.
 */
export class CartPole implements Task<number> {
  readonly observationSpace: BoxSpace = { kind: 'box', low: bounds.map((bound) => -bound), high: bounds };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 2 };
  readonly stepSeconds = timeStep;
  readonly #reward: number;
  readonly #lastReward: number;
  #x = 0;
  #velocity = 0;
  #angle = 0;
  #angularVelocity = 0;

  constructor(options: { readonly sutton_barto_reward: boolean }) {
    this.#reward = options.sutton_barto_reward ? 0 : 1;
    this.#lastReward = options.sutton_barto_reward ? -1 : 1;
  }

  reset(random: RandomGenerator): Observation {
    this.#x = random.uniform(-0.05, 0.05);
    this.#velocity = random.uniform(-0.05, 0.05);
    this.#angle = random.uniform(-0.05, 0.05);
    this.#angularVelocity = random.uniform(-0.05, 0.05);
    return this.#observe();
  }

  step(action: number): OpenStep {
    const velocity = this.#velocity;
    const angularVelocity = this.#angularVelocity;
    const cos = Math.cos(this.#angle);
    const sin = Math.sin(this.#angle);
    const push = action === 1 ? force : -force;
    const temporary = (push + poleMoment * (angularVelocity * angularVelocity) * sin) / totalMass;
    const angularAcceleration =
      (gravity * sin - cos * temporary) / (halfLength * (4 / 3 - (poleMass * (cos * cos)) / totalMass));
    const acceleration = temporary - (poleMoment * angularAcceleration * cos) / totalMass;
    const x = this.#x + timeStep * velocity;
    const angle = this.#angle + timeStep * angularVelocity;
    this.#x = x;
    this.#velocity = velocity + timeStep * acceleration;
    this.#angle = angle;
    this.#angularVelocity = angularVelocity + timeStep * angularAcceleration;
    const terminated = x < -positionLimit || x > positionLimit || angle < -angleLimit || angle > angleLimit;
    return {
      observation: this.#observe(),
      reward: terminated ? this.#lastReward : this.#reward,
      terminated,
      truncated: false,
    };
  }

  frame(): Frame {
    return drawCartPole({
      x: this.#x,
      angle: this.#angle,
      limit: positionLimit,
      poleLength: 2 * halfLength,
    });
  }

  #observe(): number[] {
    return [
      Math.fround(this.#x),
      Math.fround(this.#velocity),
      Math.fround(this.#angle),
      Math.fround(this.#angularVelocity),
    ];
  }
}

const axle = 0.25; // m, height of the hinge

/** The cart on its track, m; beyond the marks the episode ends. */
export function drawCartPole(state: {
  readonly x: number;
  /** rad, 0 is upright, positive to the right. */
  readonly angle: number;
  readonly limit: number;
  readonly poleLength: number;
}): Frame {
  const { x, angle, limit, poleLength } = state;
  const reach = limit + 0.6;
  const hinge: Point = [x, axle];
  const tip: Point = [x + poleLength * Math.sin(angle), axle + poleLength * Math.cos(angle)];
  return {
    view: { min: [-reach, -0.4], max: [reach, 1.5] },
    shapes: [
      track([-reach, 0], [reach, 0]),
      ...[-limit, limit].map(
        (end): Shape => ({
          kind: 'line',
          points: [
            [end, -0.15],
            [end, 0.15],
          ],
          width: 0.05,
          role: 'danger',
        }),
      ),
      { kind: 'rectangle', min: [x - 0.3, 0.05], max: [x + 0.3, axle + 0.05], role: 'agent' },
      { kind: 'line', points: [hinge, tip], width: 0.1, role: 'object' },
      { kind: 'circle', centre: hinge, radius: 0.06, role: 'agent-detail' },
    ],
  };
}

function track(from: Point, to: Point): Shape {
  return { kind: 'line', points: [from, to], width: 0.04, role: 'ground' };
}
