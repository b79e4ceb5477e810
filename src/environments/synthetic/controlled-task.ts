import type { RandomGenerator } from '../../random.js';
import type { Action, Observation, Space } from '../environment.js';
import type { OpenStep, Task } from '../task.js';
import { actionSpace } from './actuators.js';
import type { ControlledSystem } from './controlled-system.js';
import { observationSpace } from './sensors.js';

/** What is rewarded in a controlled system. Efforts are those of `applyAction`. */
export type Objective =
  /** 1 a step while each coordinate lies within ± its limit; beyond, the episode ends. */
  | { readonly kind: 'survive'; readonly limits: Float64Array }
  /** −scale · (Σ weight·deviation² + effortCost·effort); an angle deviates by at most π. */
  | {
      readonly kind: 'regulate';
      readonly weights: Float64Array;
      readonly isAngle: readonly boolean[];
      readonly effortCost: number;
      readonly scale: number;
    }
  /** −stepCost − effortCost·effort until direction·state reaches the threshold, then `bonus` and the end. */
  | {
      readonly kind: 'reach';
      readonly direction: Float64Array;
      readonly threshold: number;
      readonly stepCost: number;
      readonly effortCost: number;
      readonly bonus: number;
    }
  /** scale · (a coordinate, the speed, − effortCost·effort). */
  | {
      readonly kind: 'move';
      readonly speed: number;
      readonly effortCost: number;
      readonly scale: number;
    };

/** A controlled system with an objective. */
export class ControlledTask implements Task {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly #system: ControlledSystem;
  readonly #objective: Objective;
  #reward = 0;

  constructor(system: ControlledSystem, objective: Objective) {
    this.observationSpace = observationSpace(system.parts.sensors);
    this.actionSpace = actionSpace(system.parts.actuators);
    this.#system = system;
    this.#objective = objective;
  }

  reset(random: RandomGenerator): Observation {
    this.#system.reset(random);
    return this.#observe();
  }

  step(action: Action): OpenStep {
    const effort = this.#system.advance(action);
    const terminated = this.#judge(effort);
    return { observation: this.#observe(), reward: this.#reward, terminated, truncated: false };
  }

  #observe(): number[] {
    const { seen } = this.#system;
    const observation: number[] = [];
    for (let i = 0; i < seen.length; i++) observation.push(seen[i]!);
    return observation;
  }

  /** Sets the reward. @returns whether the episode ends */
  #judge(effort: number): boolean {
    const { state } = this.#system;
    const objective = this.#objective;
    switch (objective.kind) {
      case 'survive': {
        this.#reward = 1;
        return excursion(state, objective.limits) > 1;
      }
      case 'regulate': {
        let cost = objective.effortCost * effort;
        for (let i = 0; i < state.length; i++) {
          const deviation = objective.isAngle[i] ? wrapped(state[i]!) : state[i]!;
          cost += objective.weights[i]! * deviation * deviation;
        }
        this.#reward = -objective.scale * cost;
        return false;
      }
      case 'reach': {
        const reached = projection(state, objective.direction) >= objective.threshold;
        this.#reward = (reached ? objective.bonus : 0) - objective.stepCost - objective.effortCost * effort;
        return reached;
      }
      case 'move': {
        this.#reward = objective.scale * (state[objective.speed]! - objective.effortCost * effort);
        return false;
      }
    }
  }
}

/** The largest |coordinate| / limit. */
export function excursion(state: Float64Array, limits: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < state.length; i++) {
    const ratio = Math.abs(state[i]!) / limits[i]!;
    if (ratio > largest) largest = ratio;
  }
  return largest;
}

export function projection(state: Float64Array, direction: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < state.length; i++) sum += direction[i]! * state[i]!;
  return sum;
}

/** An angle in [−π, π). */
function wrapped(angle: number): number {
  return angle - 2 * Math.PI * Math.floor((angle + Math.PI) / (2 * Math.PI));
}
