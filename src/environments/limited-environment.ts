import { inspect } from 'node:util';
import { UserError } from '../base/errors.js';
import { createGenerator, type RandomGenerator } from '../base/random/generator.js';
import { plural } from '../base/text/numbers.js';
import type { Action, DiscreteSpace, Environment, Observation, Space, Step, Task } from './environment.js';

/** Turns a task into an environment: adds the random stream, input checks, and truncation after `maxSteps` steps. */
export class LimitedEnvironment implements Environment {
  readonly id: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  declare readonly maxSteps?: number;
  declare readonly stepSeconds?: number;
  declare readonly frame?: NonNullable<Task['frame']>;
  declare readonly info?: NonNullable<Task['info']>;
  declare readonly gold?: NonNullable<Task['gold']>;
  declare readonly objective?: NonNullable<Task['objective']>;
  declare readonly close?: NonNullable<Task['close']>;
  readonly #task: Task;
  readonly #limit: number;
  #random: RandomGenerator | undefined;
  #phase: 'new' | 'running' | 'finished' | 'closed' = 'new';
  #steps = 0;

  constructor(id: string, task: Task, maxSteps: number | undefined) {
    this.id = id;
    this.observationSpace = task.observationSpace;
    this.actionSpace = task.actionSpace;
    if (maxSteps !== undefined) this.maxSteps = maxSteps;
    if (task.stepSeconds !== undefined) this.stepSeconds = task.stepSeconds;
    if (task.frame !== undefined) this.frame = () => this.#startedTask().frame!();
    if (task.info !== undefined) this.info = () => this.#startedTask().info!();
    if (task.gold !== undefined) this.gold = () => this.#startedTask().gold!();
    if (task.objective !== undefined) this.objective = () => this.#startedTask().objective!();
    if (task.close !== undefined) this.close = () => this.#close();
    this.#task = task;
    this.#limit = maxSteps ?? Number.POSITIVE_INFINITY;
  }

  reset(seed?: number | bigint): Observation {
    if (this.#phase === 'closed') throw this.#notRunning();
    if (seed !== undefined || this.#random === undefined) this.#random = createGenerator(seed);
    this.#phase = 'running';
    this.#steps = 0;
    return this.#task.reset(this.#random, seed);
  }

  step(action: Action): Step {
    if (this.#phase !== 'running') throw this.#notRunning();
    if (!isValidAction(action, this.actionSpace)) throw invalidAction(action, this.actionSpace, this.id);
    const { observation, reward, terminated, truncated: cut = false } = this.#task.step(action);
    this.#steps++;
    const truncated = cut || this.#steps >= this.#limit;
    if (terminated || truncated) this.#phase = 'finished';
    return { observation, reward, terminated, truncated };
  }

  #startedTask(): Task {
    if (this.#phase === 'new' || this.#phase === 'closed') throw this.#notRunning();
    return this.#task;
  }

  #close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#task.close!();
  }

  /** Creates the error for a `step` without a running episode, `info` etc. before a reset, or a call after `close`. */
  #notRunning(): UserError {
    const messages = {
      new: `${this.id} has not been reset yet`,
      running: '',
      finished: `this episode of ${this.id} has ended`,
      closed: `${this.id} is closed`,
    };
    return new UserError({
      message: messages[this.#phase],
      hint: this.#phase === 'closed' ? 'create a new one' : 'call reset() first',
    });
  }
}

export function isValidAction(action: Action, space: Space): boolean {
  switch (space.kind) {
    case 'discrete':
      return isMember(action, space);
    case 'box':
      return isFiniteVector(action, space.low.length);
    case 'text':
      return typeof action === 'string' && (space.choices?.includes(action) ?? true);
    case 'tuple':
      return (
        isFiniteVector(action, space.spaces.length) &&
        space.spaces.every((part, i) => isMember(action[i]!, part))
      );
  }
}

export function isMember(action: Action, { n, start = 0 }: DiscreteSpace): boolean {
  return typeof action === 'number' && Number.isInteger(action) && action >= start && action < start + n;
}

function isFiniteVector(action: Action, length: number): action is readonly number[] {
  if (!Array.isArray(action) || action.length !== length) return false;
  for (let i = 0; i < length; i++) if (!Number.isFinite(action[i])) return false;
  return true;
}

const invalidAction = (action: Action, space: Space, id: string): UserError =>
  new UserError({
    field: 'action',
    message: `is not an action of ${id}; expected ${actionsText(space)}`,
    value: typeof action === 'string' ? action : inspect(action, { breakLength: Infinity }),
  });

/** Describes the actions of a space, for example `an integer from 0 to 3`. */
export function actionsText(space: Space): string {
  switch (space.kind) {
    case 'discrete': {
      const { n, start = 0 } = space;
      return `an integer from ${start} to ${start + n - 1}`;
    }
    case 'box':
      return `an array of ${plural(space.low.length, 'finite number')}`;
    case 'tuple': {
      const ranges = space.spaces.map(({ n, start = 0 }) => `${start} to ${start + n - 1}`);
      return `an array of ${plural(ranges.length, 'integer')} (${ranges.join(', ')})`;
    }
    case 'text':
      return space.choices === undefined
        ? 'a string'
        : `one of ${space.choices.map((choice) => JSON.stringify(choice)).join(', ')}`;
  }
}
