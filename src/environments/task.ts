import type { RandomGenerator } from '../random/generator.js';
import type { Action, Observation, Space, Step } from './environment.js';
import type { Frame } from './frame.js';

/** A step before the time limit is applied. */
export interface TaskStep extends Omit<Step, 'truncated'> {
  /** False where it is left out. */
  readonly truncated?: boolean;
}

/**
 * The dynamics of an environment, without time limit and checks: `limited-environment.ts` adds both. It steps a task only
 * between `reset` and the end of an episode, and only with valid actions.
 */
export interface Task<A extends Action = Action> {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /**
   * Starts an episode. The task may keep `random` and draw from it until the next reset.
   * @param seed that `random` was made from, where this reset was given one
   */
  reset(random: RandomGenerator, seed?: number | bigint): Observation;
  /** Takes one step; the observation belongs to the caller. */
  step(action: A): TaskStep;
  /** See `Environment`. */
  readonly stepSeconds?: number;
  /** How the present state looks; called only after a reset. */
  frame?(): Frame;
  /** Frees what the garbage collector can't; called at most once. */
  close?(): void;
}
