import type { RandomGenerator } from '../../random.js';
import type { BoxSpace, Observation } from '../environment.js';
import type { OpenStep, Task } from '../task.js';

/** Points of a landscape lie within ± this in every dimension. */
export const reach = 6;

/** What a point of a landscape is worth. */
export type Height = (point: readonly number[] | Float64Array) => number;

/**
 * One step: the action is a point, and the reward its height, plus noise. The observation is always [1], so that the
 * parameters of a linear policy without a bias are the point.
 */
export class SingleStepTask implements Task<readonly number[]> {
  readonly observationSpace: BoxSpace = { kind: 'box', low: [1], high: [1] };
  readonly actionSpace: BoxSpace;
  readonly #height: Height;
  readonly #noise: number;
  readonly #point: Float64Array;
  #random!: RandomGenerator;

  constructor(dimension: number, height: Height, noise: number) {
    this.actionSpace = {
      kind: 'box',
      low: Array(dimension).fill(-reach),
      high: Array(dimension).fill(reach),
    };
    this.#height = height;
    this.#noise = noise;
    this.#point = new Float64Array(dimension);
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    return [1];
  }

  step(action: readonly number[]): OpenStep {
    for (let i = 0; i < action.length; i++) this.#point[i] = Math.min(reach, Math.max(-reach, action[i]!));
    const noise = this.#noise === 0 ? 0 : this.#random.normal(0, this.#noise);
    const reward = this.#height(this.#point) + noise;
    return { observation: [1], reward, terminated: true, truncated: false };
  }
}
