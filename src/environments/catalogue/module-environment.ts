/** User environments: created by a module, or passed in as an object. */
import { basename } from 'node:path';
import type { z } from 'zod';
import { messageOf, type Problem, UserError } from '../../base/errors.js';
import { isRecord, loadModule, thrownIn } from '../../base/modules/user-module.js';
import type { RandomGenerator } from '../../base/random/generator.js';
import { plural } from '../../base/text/numbers.js';
import {
  type Action,
  dimensionsOf,
  type Environment,
  type EnvironmentWords,
  type Observation,
  recordedSpace,
  type Space,
  type Task,
  type TaskStep,
} from '../environment.js';
import type { Frame } from '../frame.js';
import { isMember, LimitedEnvironment } from '../limited-environment.js';
import { EnvironmentError } from '../remote/remote-environment.js';

type Member = (...given: readonly unknown[]) => unknown;

/** An environment written by a user. */
export interface UserEnvironment
  extends EnvironmentWords,
    Pick<Environment, 'observationSpace' | 'actionSpace' | 'maxSteps' | 'stepSeconds' | 'frame' | 'close'> {
  /** Name in lists and prompts; environments from a module use the module's name. */
  readonly name?: string;
  /** Used if `name` is missing. */
  readonly id?: string;
  /** Starts an episode; the same seed must give the same episode. `random` is seeded with it. */
  reset(seed: number, random: RandomGenerator): Observation;
  step(action: Action): TaskStep;
}

/** Creates a module's environment, with the id `module:<name>`. @throws UserError that names the file and the fault */
export async function moduleEnvironment(
  path: string,
  options: Readonly<Record<string, unknown>>,
): Promise<Environment> {
  const module = await loadModule(path, 'environment', 'environment');
  const made = await module.create(options, 'environment.options');
  return checkedEnvironment(made, `module:${module.name}`, module.file);
}

/**
 * Wraps a user's environment: checks its members now, and its observations, rewards and flags at each step.
 * @param file the module's file; undefined for an object
 * @throws UserError for a missing or invalid member; its methods throw EnvironmentError for errors and invalid results
 */
export function checkedEnvironment(made: unknown, id: string, file?: string): Environment {
  const origin = file === undefined ? id : basename(file);
  const subject = file === undefined ? `the environment ${id}` : `the environment created by ${origin}`;
  const wrong = (message: string, more: Pick<Problem, 'value' | 'hint'> = {}) =>
    new UserError({ ...(file && { file }), message, ...more });
  if (!isRecord(made) || typeof made === 'function')
    throw wrong(file === undefined ? `${subject} must be an object` : 'create returned no environment');
  const check = (name: string, isValid: (value: unknown) => boolean, expected: string) => {
    if (made[name] !== undefined && !isValid(made[name]))
      throw wrong(`${name} of ${subject} must be ${expected}`, { value: made[name] });
  };
  for (const name of ['observationSpace', 'actionSpace', 'reset', 'step'])
    if (made[name] === undefined)
      throw wrong(`${subject} has no member ${name}`, {
        hint: 'add it; policyloop init environment FILE writes a complete example',
      });
  for (const name of ['reset', 'step', 'frame', 'close'])
    check(name, (value) => typeof value === 'function', 'a function');
  check('maxSteps', (value) => Number.isInteger(value) && Number(value) >= 1, 'a whole number of at least 1');
  check('stepSeconds', (value) => Number.isFinite(value) && Number(value) > 0, 'a positive number');
  check('description', (value) => typeof value === 'string', 'a string');
  const space = (name: 'observationSpace' | 'actionSpace', names: 'observationNames' | 'actionNames') => {
    const checked = checkedSpace(made[name]);
    if (typeof checked === 'string') throw wrong(`${name} of ${subject}: ${checked}`, { value: made[name] });
    const count =
      checked.kind === 'text' ? 0 : checked.kind === 'discrete' ? checked.n : dimensionsOf(checked);
    const isList = (value: unknown) =>
      Array.isArray(value) && value.length === count && value.every((one) => typeof one === 'string');
    check(
      names,
      isList,
      checked.kind === 'text' ? 'omitted for a text space' : `a list of ${plural(count, 'string')}`,
    );
    return checked;
  };
  const observationSpace = space('observationSpace', 'observationNames');
  const task = new UserTask(made, origin, file, observationSpace, space('actionSpace', 'actionNames'));
  const environment = new LimitedEnvironment(id, task, made.maxSteps as number | undefined);
  const words = Object.fromEntries(
    ['description', 'observationNames', 'actionNames'].flatMap((name) =>
      made[name] === undefined ? [] : [[name, made[name]]],
    ),
  ) as EnvironmentWords;
  return Object.keys(words).length > 0 ? Object.assign(environment, { words }) : environment;
}

/** Returns the space, or a message that says why it is invalid. */
function checkedSpace(space: unknown): Space | string {
  const copy = isRecord(space)
    ? {
        ...space,
        ...(space.low !== undefined && { low: unbounded(space.low) }),
        ...(space.high !== undefined && { high: unbounded(space.high) }),
      }
    : space;
  const { success, data, error } = recordedSpace.safeParse(copy);
  if (!success) {
    return `${spaceProblem(copy, error.issues[0]!)}; use {kind: 'box', low: [...], high: [...]}, {kind: 'discrete', n}, {kind: 'tuple', spaces: [...]} or {kind: 'text'}`;
  }
  if (data.kind !== 'box') return data;
  const { low, high } = data;
  if (low.length === 0 || low.length !== high.length)
    return 'low and high must have one number per dimension';
  return low.every((bound, i) => bound <= high[i]!) ? data : 'low must not exceed high';
}

const spaceMembers: Readonly<Record<string, string>> = {
  kind: 'box, discrete, tuple or text',
  n: 'a whole number of at least 1',
  start: 'a whole number',
  low: 'a list of numbers',
  high: 'a list of numbers',
  dtype: 'float32 or float64',
  spaces: 'a list of discrete spaces',
  choices: 'a list of strings',
};

/** Describes the first invalid member of a space. */
function spaceProblem(space: unknown, issue: z.core.$ZodIssue): string {
  if (!isRecord(space)) return 'must be an object';
  if (issue.code === 'unrecognized_keys') return `unknown member ${issue.keys.join(', ')}`;
  const [member = 'kind', index] = issue.path;
  const list = space[String(member)];
  if ((member === 'low' || member === 'high') && typeof index === 'number' && Array.isArray(list))
    return `${member}[${index}] must be a number, not ${String(list[index])}`;
  return `${String(member)} must be ${spaceMembers[String(member)]}`;
}

function unbounded(bounds: unknown): unknown {
  if (!Array.isArray(bounds) && !ArrayBuffer.isView(bounds)) return bounds;
  return Array.from(bounds as ArrayLike<unknown>, (bound) =>
    bound === Number.POSITIVE_INFINITY || bound === Number.NEGATIVE_INFINITY ? null : bound,
  );
}

class UserTask implements Task {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly stepSeconds?: number;
  readonly frame?: () => Frame;
  readonly close?: () => void;
  readonly #made: Readonly<Record<string, unknown>>;
  readonly #origin: string;
  readonly #file: string | undefined;

  constructor(
    made: Readonly<Record<string, unknown>>,
    origin: string,
    file: string | undefined,
    observationSpace: Space,
    actionSpace: Space,
  ) {
    [this.#made, this.#origin, this.#file] = [made, origin, file];
    this.observationSpace = observationSpace;
    this.actionSpace = actionSpace;
    if (made.stepSeconds !== undefined) this.stepSeconds = made.stepSeconds as number;
    if (made.frame !== undefined)
      this.frame = () => this.#read('frame', () => this.#frame(this.#call('frame')));
    // Close only objects created by a module; callers close their own objects.
    if (made.close !== undefined && file !== undefined)
      this.close = () => this.#read('close', () => void this.#call('close'));
  }

  reset(random: RandomGenerator, seed?: number | bigint): Observation {
    return this.#read('reset', () => this.#observation(this.#call('reset', seed, random), 'reset'));
  }

  step(action: Action): TaskStep {
    return this.#read('step', () => this.#step(this.#call('step', action)));
  }

  #step(step: unknown): TaskStep {
    if (!isRecord(step) || 'then' in step) {
      const returned = isRecord(step) ? 'a promise, but steps must be synchronous' : shown(step);
      throw this.#invalid(`step returned ${returned}`, '{observation, reward, terminated}');
    }
    const { observation, reward, terminated, truncated = false } = step;
    if (typeof reward !== 'number' || !Number.isFinite(reward)) {
      throw this.#invalid(`the reward of a step is ${shown(reward)}`, 'a finite number');
    }
    if (typeof terminated !== 'boolean') throw this.#notFlag('terminated', terminated);
    if (typeof truncated !== 'boolean') throw this.#notFlag('truncated', truncated);
    return { observation: this.#observation(observation, 'step'), reward, terminated, truncated };
  }

  /** Returns a checked copy, because the user's next step may change the original. */
  #observation(observation: unknown, from: string): Observation {
    const space = this.observationSpace;
    const given = `the observation from ${from}`;
    if (space.kind === 'discrete') {
      if (isMember(observation as Observation, space)) return observation as number;
      const { n, start = 0 } = space;
      throw this.#invalid(
        `${given} is ${shown(observation)}`,
        `a whole number from ${start} to ${start + n - 1}`,
      );
    }
    if (space.kind === 'text') {
      if (typeof observation === 'string') return observation;
      throw this.#invalid(`${given} is ${shown(observation)}`, 'a string');
    }
    const length = dimensionsOf(space);
    const isVector: boolean = Array.isArray(observation) || ArrayBuffer.isView(observation);
    const values = observation as ArrayLike<unknown>;
    if (!isVector || values.length !== length) {
      const got = isVector ? `has ${plural(values.length, 'number')}` : `is ${shown(observation)}`;
      throw this.#invalid(`${given} ${got}`, `an array of ${plural(length, 'number')}`);
    }
    const vector = Array.from(values);
    const bad = vector.findIndex((value) => typeof value !== 'number' || !Number.isFinite(value));
    if (bad >= 0) {
      throw this.#invalid(`observation[${bad}] from ${from} is ${shown(vector[bad])}`, 'a finite number');
    }
    return vector as number[];
  }

  #frame(frame: unknown): Frame {
    if (isRecord(frame) && isRecord(frame.view) && Array.isArray(frame.shapes))
      return frame as unknown as Frame;
    throw this.#invalid(`frame returned ${shown(frame)}`, '{view: {min, max}, shapes: [...]}');
  }

  #call(member: string, ...given: readonly unknown[]): unknown {
    return (this.#made[member] as Member).call(this.#made, ...given);
  }

  /** Runs `read`, which calls a member and reads its result. Wraps errors, including those of the result's getters. */
  #read<T>(member: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof EnvironmentError) throw error;
      const { line } = this.#file === undefined ? {} : thrownIn(this.#file, error);
      const place = line === undefined ? this.#origin : `${this.#origin}:${line}`;
      throw new EnvironmentError('raised', `${place}: ${member} threw: ${messageOf(error)}`);
    }
  }

  #notFlag(name: string, value: unknown): EnvironmentError {
    return this.#invalid(`${name} of a step is ${shown(value)}`, 'true or false');
  }

  #invalid(message: string, expected: string): EnvironmentError {
    return new EnvironmentError('invalid', `${this.#origin}: ${message}; expected ${expected}`);
  }
}

function shown(value: unknown): string {
  if (typeof value === 'bigint') return `the BigInt ${value}`;
  if (typeof value === 'number' || value === undefined) return String(value);
  try {
    return JSON.stringify(value)?.slice(0, 80) ?? typeof value;
  } catch {
    return typeof value;
  }
}
