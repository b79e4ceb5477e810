import { UserError } from '../errors.js';
import { createGenerator, type RandomGenerator } from '../random/generator.js';
import type {
  Action,
  BoxSpace,
  DiscreteSpace,
  Environment,
  Observation,
  Space,
  Step,
} from './environment.js';
import type { Frame } from './frame.js';
import type { Task } from './task.js';

/** Makes an environment of a task: random stream, checked calls, and truncation after `maxSteps` steps. */
export function limitedEnvironment(id: string, task: Task, maxSteps: number | undefined): Environment {
  return new LimitedEnvironment(id, task, maxSteps);
}

class LimitedEnvironment implements Environment {
  readonly id: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly maxSteps?: number;
  readonly stepSeconds?: number;
  readonly frame?: () => Frame;
  readonly close?: () => void;
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
    if (task.frame !== undefined) this.frame = () => this.#draw();
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

  #draw(): Frame {
    if (this.#phase === 'new' || this.#phase === 'closed') throw this.#notRunning();
    return this.#task.frame!();
  }

  #close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#task.close!();
  }

  #notRunning(): UserError {
    if (this.#phase === 'closed') return this.#closed();
    return new UserError({
      field: 'step',
      message:
        this.#phase === 'new' ? `${this.id} has not been reset yet` : `this episode of ${this.id} has ended`,
      remedy: 'call reset() first',
    });
  }

  #closed(): UserError {
    return new UserError({
      field: 'environment',
      message: `this ${this.id} was closed`,
      remedy: 'make another one',
    });
  }
}

/** Whether an environment with this action space takes the action. */
export function isValidAction(action: Action, space: Space): boolean {
  switch (space.kind) {
    case 'discrete':
      return isMember(action, space);
    case 'box':
      return isFiniteVector(action, space.low.length);
    case 'tuple':
      return (
        isFiniteVector(action, space.spaces.length) &&
        space.spaces.every((part, i) => isMember(action[i]!, part))
      );
  }
}

/** Whether a number is one of a discrete space. */
export function isMember(action: Action, { n, start = 0 }: DiscreteSpace): boolean {
  return typeof action === 'number' && Number.isInteger(action) && action >= start && action < start + n;
}

function isFiniteVector(action: Action, length: number): action is readonly number[] {
  if (!Array.isArray(action) || action.length !== length) return false;
  for (let i = 0; i < length; i++) if (!Number.isFinite(action[i])) return false;
  return true;
}

/** Says what is wrong with an action that `isValidAction` refused. */
function invalidAction(action: Action, space: Space, id: string): UserError {
  switch (space.kind) {
    case 'discrete':
      return invalidDiscrete(action, space, id);
    case 'box':
      return invalidVector(action, space, id);
    case 'tuple':
      return new UserError({
        field: 'action',
        message: `${id} takes one integer for each part of its action`,
        value: printable(action),
        alternatives: space.spaces.map(rangeOf),
      });
  }
}

function invalidDiscrete(action: Action, space: DiscreteSpace, id: string): UserError {
  const wholeNumber = typeof action === 'number' && Number.isInteger(action);
  return new UserError({
    field: 'action',
    message: wholeNumber ? `is out of range for ${id}` : `${id} takes an integer as action`,
    value: printable(action),
    alternatives: [rangeOf(space)],
    ...(Array.isArray(action) && action.length === 1 ? { remedy: 'pass the number, not an array' } : {}),
  });
}

function invalidVector(action: Action, space: BoxSpace, id: string): UserError {
  const length = space.low.length;
  const expected = `an array of ${length} finite number${length === 1 ? '' : 's'}`;
  const problem = (message: string, remedy: string) =>
    new UserError({ field: 'action', message, value: printable(action), alternatives: [expected], remedy });
  if (!Array.isArray(action)) {
    const remedy = length === 1 && typeof action === 'number' ? `pass [${action}]` : `pass ${expected}`;
    return problem(`${id} takes a vector as action`, remedy);
  }
  if (action.length !== length) {
    return problem(
      `has length ${action.length}, but actions of ${id} have length ${length}`,
      `pass ${expected}`,
    );
  }
  return problem(
    'holds something that is not a finite number',
    'look for a NaN or an overflow in the policy',
  );
}

function rangeOf({ n, start = 0 }: DiscreteSpace): string {
  return `${start}–${start + n - 1}`;
}

/** JSON has no NaN, no infinities and no undefined, so a message shows them as text. */
function printable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(printable);
  return typeof value === 'number' && Number.isFinite(value) ? value : String(value);
}
