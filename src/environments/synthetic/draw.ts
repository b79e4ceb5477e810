import type { RandomGenerator } from '../../random.js';
import type { Task } from '../task.js';

/** A drawn task and its step limit. */
export interface DrawnTask {
  readonly task: Task;
  readonly maxSteps: number;
}

/** Draws a task; undefined where the draw came out trivial or hopeless, so that another has to be made. */
export type Draw<Options> = (random: RandomGenerator, options: Options) => DrawnTask | undefined;

/** Options of families whose policies are linear. */
export interface ControlOptions {
  readonly observations?: number | undefined;
  readonly actions?: number | undefined;
  readonly control?: 'discrete' | 'continuous' | undefined;
}
