import type { RandomGenerator } from '../../random/generator.js';
import type { BoxSpace, Observation, Task, TaskStep } from '../environment.js';
import type { Frame } from '../frame.js';
import { drawMountainCar } from './mountain-car.js';
import { isSingle } from './single-precision.js';

const { fround } = Math;
const leftEnd = -1.2;
const rightEnd = 0.6;
const goal = 0.45;
const maxSpeed = 0.07;
const power = 0.0015;
const gravity = 0.0025;

/**
 * The mountain car with a continuous force (Gymnasium's MountainCarContinuous). Each step costs 0.1·action²,
 * even where the force is clipped to ±1; reaching the goal gives 100. Observation: position and velocity.
 *
 * Gymnasium keeps the state as float32 from the first step on, so its rounding errors accumulate over an
 * episode. NumPy's rules decide which operations are single precision: a float32 and a Python number give a
 * float32, a float32 and a float64 give a float64.
 */
export class MountainCarContinuous implements Task<readonly number[]> {
  readonly observationSpace: BoxSpace = {
    kind: 'box',
    low: [fround(leftEnd), fround(-maxSpeed)],
    high: [fround(rightEnd), fround(maxSpeed)],
  };
  readonly actionSpace: BoxSpace = { kind: 'box', low: [-1], high: [1] };
  readonly #goalVelocity: number;
  #position = 0;
  #velocity = 0;
  /** Whether the state is float32; false before the first step. */
  #stateSingle = false;

  constructor(options: { readonly goal_velocity: number }) {
    this.#goalVelocity = options.goal_velocity;
  }

  reset(random: RandomGenerator): Observation {
    this.#position = random.uniform(-0.6, -0.4);
    this.#velocity = 0;
    this.#stateSingle = false;
    return [fround(this.#position), 0];
  }

  step(action: readonly number[]): TaskStep {
    const force = Math.min(1, Math.max(-1, action[0]!));
    const cut = force !== action[0]!; // the force is then Python's own 1.0, a double
    const forceSingle = !cut && isSingle(force);
    const slope = gravity * Math.cos(round(3 * this.#position, this.#stateSingle));
    const change = forceSingle
      ? fround(fround(force * fround(power)) - fround(slope))
      : force * power - slope;

    const velocitySingle = this.#stateSingle && (forceSingle || cut);
    let velocity = round(this.#velocity + round(change, velocitySingle), velocitySingle);
    const speedLimit = round(maxSpeed, velocitySingle);
    const limited = velocity > speedLimit || velocity < -speedLimit;
    if (limited) velocity = velocity > 0 ? maxSpeed : -maxSpeed;

    const positionSingle = this.#stateSingle && (velocitySingle || limited);
    let position = round(this.#position + round(velocity, positionSingle), positionSingle);
    if (position > round(rightEnd, positionSingle)) position = rightEnd;
    if (position <= round(leftEnd, positionSingle)) {
      position = leftEnd;
      if (velocity < 0) velocity = 0;
    }
    const goalVelocity = round(this.#goalVelocity, velocitySingle && !limited);
    const terminated = position >= round(goal, positionSingle) && velocity >= goalVelocity;

    this.#position = fround(position);
    this.#velocity = fround(velocity);
    this.#stateSingle = true;
    return {
      observation: [this.#position, this.#velocity],
      reward: (terminated ? 100 : 0) - action[0]! * action[0]! * 0.1,
      terminated,
    };
  }

  frame(): Frame {
    return drawMountainCar(this.#position, goal);
  }
}

function round(value: number, single: boolean): number {
  return single ? fround(value) : value;
}
