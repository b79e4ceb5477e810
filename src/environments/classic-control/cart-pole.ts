import type { RandomGenerator } from '../../base/random/generator.js';
import type { BoxSpace, DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { circle, type Frame, line, type Point, rectangle } from '../frame.js';

const { fround } = Math;
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
  fround,
);

/**
 * A pole hinged on a cart (Barto, Sutton and Anderson, 1983; equations of motion: R. Florian, "Correct
 * equations for the dynamics of the cart-pole system", 2007), integrated with Euler steps. Observation: cart
 * position (m) and velocity, pole angle (rad) and angular velocity. Action: 0 pushes left, 1 right.
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

  step(action: number): TaskStep {
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
    const reward = terminated ? this.#lastReward : this.#reward;
    return { observation: this.#observe(), reward, terminated };
  }

  frame(): Frame {
    const x = this.#x;
    const halfWidth = positionLimit + 0.6;
    const axleHeight = 0.25; // m, height of the hinge
    const hinge: Point = [x, axleHeight];
    const [across, up] = [2 * halfLength * Math.sin(this.#angle), 2 * halfLength * Math.cos(this.#angle)];
    const limitLine = (end: number) => line([end, -0.15], [end, 0.15], 0.05, 'danger');
    return {
      view: { min: [-halfWidth, -0.4], max: [halfWidth, 1.5] },
      shapes: [
        line([-halfWidth, 0], [halfWidth, 0], 0.04, 'ground'),
        limitLine(-positionLimit),
        limitLine(positionLimit),
        rectangle([x - 0.3, 0.05], [x + 0.3, axleHeight + 0.05], 'agent'),
        line(hinge, [x + across, axleHeight + up], 0.1, 'object'),
        circle(hinge, 0.06, 'agent-detail'),
      ],
    };
  }

  #observe(): number[] {
    return [fround(this.#x), fround(this.#velocity), fround(this.#angle), fround(this.#angularVelocity)];
  }
}
