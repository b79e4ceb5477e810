import type { RandomGenerator } from '../../base/random/generator.js';
import type { BoxSpace, DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { circle, type Frame, line, type Point } from '../frame.js';
import { singleCos, singleSin } from './single-precision.js';

const { PI, cos, sin, fround } = Math;
const timeStep = 0.2; // s
const gravity = 9.8; // m/s²
const mass = 1; // kg, of each link
const length = 1; // m, of the upper link
const center = 0.5; // m, from a joint to the centre of mass of its link
const inertia = 1; // kg·m², of each link
const maxVelocity1 = 4 * PI;
const maxVelocity2 = 9 * PI;
const bounds = [1, 1, 1, 1, fround(maxVelocity1), fround(maxVelocity2)];

type State = readonly [angle1: number, angle2: number, velocity1: number, velocity2: number];

/**
 * A two-link pendulum driven at the middle joint. The goal is to swing its tip above a bar one link length
 * above the pivot (R. Sutton, 1996; dynamics as in Sutton and Barto's book). Each step is one fourth-order
 * Runge-Kutta step. Observation: cosine and sine of both angles (0 when hanging straight down; the second is
 * relative to the first link), then their velocities. Action: torque −1, 0 or +1 N·m.
 */
export class Acrobot implements Task<number> {
  readonly observationSpace: BoxSpace = { kind: 'box', low: bounds.map((bound) => -bound), high: bounds };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 3 };
  readonly stepSeconds = timeStep;
  #state: State = [0, 0, 0, 0];

  reset(random: RandomGenerator): Observation {
    const draw = () => fround(random.uniform(-0.1, 0.1));
    this.#state = [draw(), draw(), draw(), draw()];
    const [angle1, angle2, velocity1, velocity2] = this.#state;
    return [singleCos(angle1), singleSin(angle1), singleCos(angle2), singleSin(angle2), velocity1, velocity2];
  }

  step(action: number): TaskStep {
    const [angle1, angle2, velocity1, velocity2] = rungeKuttaStep(this.#state, action - 1);
    const [a, b] = [wrapAngle(angle1), wrapAngle(angle2)];
    const v = Math.min(maxVelocity1, Math.max(-maxVelocity1, velocity1));
    const w = Math.min(maxVelocity2, Math.max(-maxVelocity2, velocity2));
    this.#state = [a, b, v, w];
    const terminated = -cos(a) - cos(b + a) > 1;
    const observation = [cos(a), sin(a), cos(b), sin(b), v, w].map(fround);
    return { observation, reward: terminated ? 0 : -1, terminated };
  }

  frame(): Frame {
    const [angle1, angle2] = this.#state;
    const elbow: Point = [sin(angle1), -cos(angle1)];
    const tip: Point = [elbow[0] + sin(angle1 + angle2), elbow[1] - cos(angle1 + angle2)];
    return {
      view: { min: [-2.2, -2.2], max: [2.2, 2.2] },
      shapes: [
        line([-2.2, 1], [2.2, 1], 0.04, 'goal'),
        line([0, 0], elbow, 0.2, 'agent'),
        line(elbow, tip, 0.2, 'agent'),
        circle([0, 0], 0.08, 'agent-detail'),
        circle(elbow, 0.08, 'agent-detail'),
        circle(tip, 0.08, 'object'),
      ],
    };
  }
}

function rungeKuttaStep(state: State, torque: number): State {
  const k1 = derivative(state, torque);
  const k2 = derivative(eulerStep(state, timeStep / 2, k1), torque);
  const k3 = derivative(eulerStep(state, timeStep / 2, k2), torque);
  const k4 = derivative(eulerStep(state, timeStep, k3), torque);
  const sum = (i: 0 | 1 | 2 | 3) => state[i] + (timeStep / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  return [sum(0), sum(1), sum(2), sum(3)];
}

function eulerStep(state: State, time: number, slope: State): State {
  const moved = (i: 0 | 1 | 2 | 3) => state[i] + time * slope[i];
  return [moved(0), moved(1), moved(2), moved(3)];
}

/** Computes the state's time derivative in Gymnasium's order of operations: chaotic motion amplifies rounding. */
function derivative([angle1, angle2, velocity1, velocity2]: State, torque: number): State {
  const cos2 = cos(angle2);
  const sin2 = sin(angle2);
  const coupling = mass * length * center;
  const d1 =
    mass * center ** 2 + mass * (length ** 2 + center ** 2 + 2 * length * center * cos2) + inertia + inertia;
  const d2 = mass * (center ** 2 + length * center * cos2) + inertia;
  const phi2 = mass * center * gravity * cos(angle1 + angle2 - PI / 2);
  const phi1 =
    -coupling * (velocity2 * velocity2) * sin2 -
    2 * coupling * velocity2 * velocity1 * sin2 +
    (mass * center + mass * length) * gravity * cos(angle1 - PI / 2) +
    phi2;
  const acceleration2 =
    (torque + (d2 / d1) * phi1 - coupling * (velocity1 * velocity1) * sin2 - phi2) /
    (mass * center ** 2 + inertia - (d2 * d2) / d1);
  const acceleration1 = -(d2 * acceleration2 + phi1) / d1;
  return [velocity1, velocity2, acceleration1, acceleration2];
}

/** Wraps an angle to [-π, π]. */
function wrapAngle(angle: number): number {
  let wrapped = angle;
  while (wrapped > PI) wrapped -= 2 * PI;
  while (wrapped < -PI) wrapped += 2 * PI;
  return wrapped;
}
