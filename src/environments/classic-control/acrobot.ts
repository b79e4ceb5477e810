import type { RandomGenerator } from '../../random/generator.js';
import type { BoxSpace, DiscreteSpace, Observation } from '../environment.js';
import type { Frame, Point } from '../frame.js';
import type { OpenStep, Task } from '../task.js';
import { singleCos, singleSin } from './single-precision.js';

const { PI, cos, sin, fround } = Math;
const timeStep = 0.2; // s
const gravity = 9.8; // m/s²
const mass = 1; // kg, of either link
const length = 1; // m, of the upper link
const centre = 0.5; // m, from a joint to the centre of mass of its link
const inertia = 1; // kg·m², of either link
const maxVelocity1 = 4 * PI;
const maxVelocity2 = 9 * PI;
const bounds = [1, 1, 1, 1, fround(maxVelocity1), fround(maxVelocity2)];

/** Two angles and their velocities. */
type State = readonly [angle1: number, angle2: number, velocity1: number, velocity2: number];

/**
 * A two-link pendulum driven at the middle joint, whose tip is to be swung above a bar one link length over the
 * suspension (R. Sutton, 1996; dynamics as in Sutton and Barto's book), integrated with one Runge-Kutta step of order 4.
 * Observation: cosine and sine of both angles (the second relative to the first; 0 hangs down), their velocities.
 * Action: torque −1, 0 or +1 N·m.
 */
export class Acrobot implements Task<number> {
  readonly observationSpace: BoxSpace = { kind: 'box', low: bounds.map((bound) => -bound), high: bounds };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 3 };
  readonly stepSeconds = timeStep;
  #state: State = [0, 0, 0, 0];

  reset(random: RandomGenerator): Observation {
    const draw = () => fround(random.uniform(-0.1, 0.1));
    const [angle1, angle2, velocity1, velocity2] = [draw(), draw(), draw(), draw()];
    this.#state = [angle1, angle2, velocity1, velocity2];
    return [singleCos(angle1), singleSin(angle1), singleCos(angle2), singleSin(angle2), velocity1, velocity2];
  }

  step(action: number): OpenStep {
    const [angle1, angle2, velocity1, velocity2] = rungeKutta(this.#state, action - 1);
    const state: State = [
      wrap(angle1),
      wrap(angle2),
      Math.min(maxVelocity1, Math.max(-maxVelocity1, velocity1)),
      Math.min(maxVelocity2, Math.max(-maxVelocity2, velocity2)),
    ];
    this.#state = state;
    const [c1, c2] = [cos(state[0]), cos(state[1])];
    const terminated = -c1 - cos(state[1] + state[0]) > 1;
    return {
      observation: [
        fround(c1),
        fround(sin(state[0])),
        fround(c2),
        fround(sin(state[1])),
        fround(state[2]),
        fround(state[3]),
      ],
      reward: terminated ? 0 : -1,
      terminated,
      truncated: false,
    };
  }

  frame(): Frame {
    return drawAcrobot(this.#state[0], this.#state[1]);
  }
}

function rungeKutta(state: State, torque: number): State {
  const k1 = derivative(state, torque);
  const k2 = derivative(along(state, timeStep / 2, k1), torque);
  const k3 = derivative(along(state, timeStep / 2, k2), torque);
  const k4 = derivative(along(state, timeStep, k3), torque);
  const sum = (i: 0 | 1 | 2 | 3) => state[i] + (timeStep / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  return [sum(0), sum(1), sum(2), sum(3)];
}

function along(state: State, time: number, slope: State): State {
  return [
    state[0] + time * slope[0],
    state[1] + time * slope[1],
    state[2] + time * slope[2],
    state[3] + time * slope[3],
  ];
}

/** Time derivative of the state. The order of operations is Gymnasium's: the motion is chaotic. */
function derivative([angle1, angle2, velocity1, velocity2]: State, torque: number): State {
  const cos2 = cos(angle2);
  const sin2 = sin(angle2);
  const coupling = mass * length * centre;
  const d1 =
    mass * centre ** 2 + mass * (length ** 2 + centre ** 2 + 2 * length * centre * cos2) + inertia + inertia;
  const d2 = mass * (centre ** 2 + length * centre * cos2) + inertia;
  const phi2 = mass * centre * gravity * cos(angle1 + angle2 - PI / 2);
  const phi1 =
    -coupling * (velocity2 * velocity2) * sin2 -
    2 * coupling * velocity2 * velocity1 * sin2 +
    (mass * centre + mass * length) * gravity * cos(angle1 - PI / 2) +
    phi2;
  const acceleration2 =
    (torque + (d2 / d1) * phi1 - coupling * (velocity1 * velocity1) * sin2 - phi2) /
    (mass * centre ** 2 + inertia - (d2 * d2) / d1);
  const acceleration1 = -(d2 * acceleration2 + phi1) / d1;
  return [velocity1, velocity2, acceleration1, acceleration2];
}

/** The same angle in [-π, π]. */
function wrap(angle: number): number {
  let wrapped = angle;
  while (wrapped > PI) wrapped -= 2 * PI;
  while (wrapped < -PI) wrapped += 2 * PI;
  return wrapped;
}

/** Both links, m, and the bar that the tip is to pass; angles as in the state: 0 hangs down, the second relative to the first. */
export function drawAcrobot(angle1: number, angle2: number): Frame {
  const elbow: Point = [Math.sin(angle1), -Math.cos(angle1)];
  const tip: Point = [elbow[0] + Math.sin(angle1 + angle2), elbow[1] - Math.cos(angle1 + angle2)];
  return {
    view: { min: [-2.2, -2.2], max: [2.2, 2.2] },
    shapes: [
      {
        kind: 'line',
        points: [
          [-2.2, 1],
          [2.2, 1],
        ],
        width: 0.04,
        role: 'goal',
      },
      { kind: 'line', points: [[0, 0], elbow], width: 0.2, role: 'agent' },
      { kind: 'line', points: [elbow, tip], width: 0.2, role: 'agent' },
      { kind: 'circle', centre: [0, 0], radius: 0.08, role: 'agent-detail' },
      { kind: 'circle', centre: elbow, radius: 0.08, role: 'agent-detail' },
      { kind: 'circle', centre: tip, radius: 0.08, role: 'object' },
    ],
  };
}
