import type { RandomGenerator } from '../../base/random/generator.js';
import type { BoxSpace, DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { circle, type Frame, line, type Point, polygon, type Shape } from '../frame.js';
import { isSinglePrecision } from './single-precision.js';

const { fround } = Math;
const leftEnd = -1.2;
const rightEnd = 0.6;
const goalPosition = 0.5;
const continuousGoal = 0.45;
const maxSpeed = 0.07;
const force = 0.001;
const gravity = 0.0025;

const observationSpace: BoxSpace = {
  kind: 'box',
  low: [fround(leftEnd), fround(-maxSpeed)],
  high: [fround(rightEnd), fround(maxSpeed)],
};

/**
 * An underpowered car in a valley y = sin(3x) that must reach the top of the right hill (A. Moore, PhD thesis, 1990).
 * Observation: position and velocity. Action: 0 accelerates left, 1 does nothing, 2 accelerates right.
 */
export class MountainCar implements Task<number> {
  readonly observationSpace = observationSpace;
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

  step(action: number): TaskStep {
    let velocity = this.#velocity + ((action - 1) * force + Math.cos(3 * this.#position) * -gravity);
    velocity = Math.min(maxSpeed, Math.max(-maxSpeed, velocity));
    const position = Math.min(rightEnd, Math.max(leftEnd, this.#position + velocity));
    if (position === leftEnd && velocity < 0) velocity = 0;
    this.#position = position;
    this.#velocity = velocity;
    return {
      observation: this.#observe(),
      reward: -1,
      terminated: position >= goalPosition && velocity >= this.#goalVelocity,
    };
  }

  frame(): Frame {
    return drawMountainCar(this.#position, goalPosition);
  }

  #observe(): number[] {
    return [fround(this.#position), fround(this.#velocity)];
  }
}

const [minX, maxX] = [-1.3, 0.7];
const minY = -0.15;

/** Draws the car in the valley y = 0.45 sin(3x) + 0.55, with a flag at the goal. */
function drawMountainCar(x: number, goal: number): Frame {
  return { view: { min: [minX, minY], max: [maxX, 1.3] }, shapes: [hill, ...drawFlag(goal), ...drawCar(x)] };
}

const hillHeight = (x: number) => 0.55 + 0.45 * Math.sin(3 * x);

const hillOutline = Array.from({ length: 81 }, (_, i): Point => {
  const x = minX + (i * (maxX - minX)) / 80;
  return [x, hillHeight(x)];
});
const hill = polygon([[minX, minY], ...hillOutline, [maxX, minY]], 'ground');

function drawFlag(goal: number): readonly Shape[] {
  const foot = hillHeight(goal);
  const top: Point = [goal, foot + 0.25];
  return [
    line([goal, foot], top, 0.012, 'guide'),
    polygon([top, [goal, foot + 0.15], [goal + 0.13, foot + 0.2]], 'goal'),
  ];
}

function drawCar(x: number): readonly Shape[] {
  const incline = Math.atan(1.35 * Math.cos(3 * x));
  const [cos, sin] = [Math.cos(incline), Math.sin(incline)];
  const pointAt = (along: number, above: number): Point => [
    x + along * cos - above * sin,
    hillHeight(x) + along * sin + above * cos,
  ];
  const wheel = (along: number) => circle(pointAt(along, 0.03), 0.03, 'agent-detail');
  return [line(pointAt(-0.06, 0.07), pointAt(0.06, 0.07), 0.06, 'agent'), wheel(-0.055), wheel(0.055)];
}

const power = 0.0015;

/**
 * The mountain car with a continuous force (Gymnasium's MountainCarContinuous). The force is clipped to ±1, but each
 * step costs 0.1·action², unclipped; the goal earns 100. Observation: position and velocity. The state
 * is float32 from the first step on, so rounding errors accumulate. Precision follows NumPy's rules: a float32 combined
 * with a Python number yields a float32; combined with a float64, it yields a float64.
 */
export class MountainCarContinuous implements Task<readonly number[]> {
  readonly observationSpace = observationSpace;
  readonly actionSpace: BoxSpace = { kind: 'box', low: [-1], high: [1] };
  readonly #goalVelocity: number;
  #position = 0;
  #velocity = 0;
  /** True once the state is float32, i.e. from the first step on. */
  #isStateSingle = false;

  constructor(options: { readonly goal_velocity: number }) {
    this.#goalVelocity = options.goal_velocity;
  }

  reset(random: RandomGenerator): Observation {
    this.#position = random.uniform(-0.6, -0.4);
    this.#velocity = 0;
    this.#isStateSingle = false;
    return [fround(this.#position), 0];
  }

  step(action: readonly number[]): TaskStep {
    const force = Math.min(1, Math.max(-1, action[0]!));
    const isClipped = force !== action[0]!; // clipping yields a Python number, ±1.0
    const isForceSingle = !isClipped && isSinglePrecision(force);
    const pull = gravity * Math.cos(roundIfSingle(3 * this.#position, this.#isStateSingle));
    const change = isForceSingle
      ? fround(fround(force * fround(power)) - fround(pull))
      : force * power - pull;

    const isVelocitySingle = this.#isStateSingle && (isForceSingle || isClipped);
    let velocity = roundIfSingle(this.#velocity + roundIfSingle(change, isVelocitySingle), isVelocitySingle);
    const speedLimit = roundIfSingle(maxSpeed, isVelocitySingle);
    const isLimited = velocity > speedLimit || velocity < -speedLimit;
    if (isLimited) velocity = velocity > 0 ? maxSpeed : -maxSpeed;

    const isPositionSingle = this.#isStateSingle && (isVelocitySingle || isLimited);
    const round = (value: number) => roundIfSingle(value, isPositionSingle);
    let position = round(this.#position + round(velocity));
    if (position > round(rightEnd)) position = rightEnd;
    if (position <= round(leftEnd)) {
      position = leftEnd;
      if (velocity < 0) velocity = 0;
    }
    const goalVelocity = roundIfSingle(this.#goalVelocity, isVelocitySingle && !isLimited);
    const terminated = position >= round(continuousGoal) && velocity >= goalVelocity;

    this.#position = fround(position);
    this.#velocity = fround(velocity);
    this.#isStateSingle = true;
    return {
      observation: [this.#position, this.#velocity],
      reward: (terminated ? 100 : 0) - action[0]! * action[0]! * 0.1,
      terminated,
    };
  }

  frame(): Frame {
    return drawMountainCar(this.#position, continuousGoal);
  }
}

function roundIfSingle(value: number, isSingle: boolean): number {
  return isSingle ? fround(value) : value;
}
