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
    if (task.frame !== undefined) this.frame = () => this.#started().frame!();
    if (task.info !== undefined) this.info = () => this.#started().info!();
    if (task.gold !== undefined) this.gold = () => this.#started().gold!();
    if (task.objective !== undefined) this.objective = () => this.#started().objective!();
    if (task.close !== undefined) this.close = () => this.#close();
    this.#task = task;
    this.#limit = maxSteps ?? Number.POSITIVE_INFINITY;
  }

  reset(seed?: number | bigint): Observation {
    if (this.#phase === 'closed') throw this.#closed();
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

  #started(): Task {
    if (this.#phase === 'new' || this.#phase === 'closed') throw this.#notRunning();
    return this.#task;
  }

  #close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#task.close!();
  }

  #notRunning(): UserError {
    return this.#phase === 'closed' ? this.#closed() : notRunning(this.id, this.#phase);
  }

  #closed(): UserError {
    return new UserError({
      field: 'environment',
      message: `this environment (${this.id}) is closed`,
      hint: 'create a new one',
    });
  }
}

/** Error for calling `step` when no episode is running, or `info`, `frame` etc. before the first reset. */
export function notRunning(id: string, phase: 'new' | 'running' | 'finished'): UserError {
  return new UserError({
    field: 'step',
    message: phase === 'new' ? `${id} has not been reset yet` : `this episode of ${id} has ended`,
    hint: 'call reset() first',
  });
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

export function invalidAction(action: Action, space: Space, id: string): UserError {
  const refuse = (message: string, alternatives: readonly string[], hint?: string) =>
    new UserError({
      field: 'action',
      message,
      value: printable(action),
      alternatives,
      ...(hint !== undefined && { hint }),
    });
  switch (space.kind) {
    case 'discrete': {
      const whole = Number.isInteger(action);
      const message = whole ? `is out of range for ${id}` : `actions of ${id} must be integers`;
      const hint = Array.isArray(action) && action.length === 1 ? 'pass the number, not an array' : undefined;
      return refuse(message, [rangeOf(space)], hint);
    }
    case 'box': {
      const { length } = space.low;
      const expected = `an array of ${length} finite number${length === 1 ? '' : 's'}`;
      if (!Array.isArray(action)) {
        const hint = length === 1 && typeof action === 'number' ? `pass [${action}]` : `pass ${expected}`;
        return refuse(`actions of ${id} must be vectors`, [expected], hint);
      }
      if (action.length !== length) {
        const message = `has length ${action.length}, but actions of ${id} have length ${length}`;
        return refuse(message, [expected], `pass ${expected}`);
      }
      const hint = 'check the policy for NaN and overflow';
      return refuse('contains a value that is not a finite number', [expected], hint);
    }
    case 'text':
      return refuse(`is not a valid action of ${id}`, space.choices ?? ['any string']);
    case 'tuple':
      return refuse(
        `actions of ${id} must be arrays of ${plural(space.spaces.length, 'integer')}, each within its range`,
        space.spaces.map(rangeOf),
      );
  }
}

function rangeOf({ n, start = 0 }: DiscreteSpace): string {
  return `${start}–${start + n - 1}`;
}

/** Converts everything but strings, finite numbers and arrays to text: JSON has no NaN, infinities or undefined. */
function printable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(printable);
  return typeof value === 'string' || Number.isFinite(value) ? value : String(value);
}
