/** Environments of users: of a module that a config names, or an object of the program that plays. */
import { basename } from 'node:path';
import { messageOf, UserError } from '../../base/errors.js';
import { longestList, plainCopy } from '../../modules/host-messages.js';
import { type UserCall, watched } from '../../modules/pulse.js';
import { isRecord, loadModule, thrownIn } from '../../modules/user-module.js';
import type { RandomGenerator } from '../../random/generator.js';
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
import { isMember, limitedEnvironment } from '../limited-environment.js';
import { EnvironmentError } from '../remote/remote-environment.js';

type Member = (...given: readonly unknown[]) => unknown;

// Zod prepares itself at the first use: a module of the same thread may change the language afterwards.
for (const space of [
  { kind: 'discrete', n: 1 },
  { kind: 'box', low: [0], high: [1] },
  { kind: 'tuple', spaces: [] },
])
  recordedSpace.safeParse(space);

/** An environment as a user may write it. */
export interface UserEnvironment
  extends EnvironmentWords,
    Pick<Environment, 'observationSpace' | 'actionSpace' | 'maxSteps' | 'stepSeconds' | 'frame' | 'close'> {
  /** How lists and prompts call it; of a module, the module's name stands for it. */
  readonly name?: string;
  /** The same as `name`. */
  readonly id?: string;
  /** Starts an episode. The same seed starts the same episode; `random` follows from it, so that drawing from it does. */
  reset(seed: number, random: RandomGenerator): Observation;
  step(action: Action): TaskStep;
}

/**
 * The environment that a module makes. Its id is `module:<name>`, so that it never passes for a built-in one.
 * @param seconds longest wait for a call
 * @throws UserError that names the file, and what is missing or wrong
 */
export async function moduleEnvironment(
  path: string,
  options: Readonly<Record<string, unknown>>,
  seconds?: number,
): Promise<Environment> {
  const module = await loadModule(path, 'environment', 'environment', seconds);
  const made = await module.create(options, 'environment.options');
  return checkedEnvironment(made, `module:${module.name}`, module.file);
}

/**
 * Checks what an environment of a user returns, step by step, and what it is given.
 * @param file that it comes from; undefined for an object
 * @throws UserError for a missing member; its steps throw EnvironmentError for what it throws and for nonsense
 */
export function checkedEnvironment(made: unknown, id: string, file?: string): Environment {
  const origin = file === undefined ? id : basename(file);
  const wrong = (message: string, value?: unknown) =>
    new UserError({ ...(file && { file }), message, ...(value !== undefined && { value }) });
  const subject = file === undefined ? `the environment ${id}` : `the environment made by ${origin}`;
  if (!isRecord(made) || typeof made === 'function') throw wrong(`create returned no environment`);
  for (const name of ['observationSpace', 'actionSpace', 'reset', 'step']) {
    if (made[name] === undefined) throw wrong(`${subject} has no member ${name}`);
  }
  for (const name of ['reset', 'step', 'frame', 'close']) {
    if (made[name] !== undefined && typeof made[name] !== 'function') {
      throw wrong(`${name} of ${subject} is no function`, made[name]);
    }
  }
  const { maxSteps, stepSeconds } = made;
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && Number(maxSteps) >= 1)) {
    throw wrong(`maxSteps of ${subject} must be a whole number of at least 1`, maxSteps);
  }
  if (stepSeconds !== undefined && !(Number.isFinite(stepSeconds) && Number(stepSeconds) > 0)) {
    throw wrong(`stepSeconds of ${subject} must be a number above 0`, stepSeconds);
  }
  const space = (name: 'observationSpace' | 'actionSpace') => {
    const checked = checkedSpace(made[name]);
    if (typeof checked === 'string') throw wrong(`${name} of ${subject}: ${checked}`, made[name]);
    return checked;
  };
  const [observationSpace, actionSpace] = [space('observationSpace'), space('actionSpace')];
  const task = new UserTask(made, origin, file, observationSpace, actionSpace);
  const environment = limitedEnvironment(id, task, maxSteps as number | undefined);
  const { description, observationNames, actionNames } = made;
  if (description !== undefined && typeof description !== 'string')
    throw wrong(`description of ${subject} must be a text`, description);
  const names = (name: string, given: unknown, named: Space) => {
    if (given === undefined) return;
    const count = named.kind === 'text' ? 0 : named.kind === 'discrete' ? named.n : dimensionsOf(named);
    if (Array.isArray(given) && given.length === count && given.every((one) => typeof one === 'string'))
      return;
    throw wrong(`${name} of ${subject} must be a list of ${count} texts`, given);
  };
  names('observationNames', observationNames, observationSpace);
  names('actionNames', actionNames, actionSpace);
  const words = Object.fromEntries(
    Object.entries({ description, observationNames, actionNames }).filter(([, value]) => value !== undefined),
  ) as EnvironmentWords;
  return Object.keys(words).length > 0 ? Object.assign(environment, { words }) : environment;
}

/** The space, or what is wrong with it. */
function checkedSpace(space: unknown): Space | string {
  let copy: unknown;
  try {
    copy = plainCopy(space);
  } catch (error) {
    return messageOf(error);
  }
  if (isRecord(copy)) {
    const { low, high, ...rest } = copy;
    copy = plainCopy({
      ...rest,
      ...(low !== undefined && { low: unbounded(low) }),
      ...(high !== undefined && { high: unbounded(high) }),
    });
  }
  const { success, data, error } = recordedSpace.safeParse(copy);
  if (!success) {
    const { path, message } = error.issues[0]!;
    return `${[...path, ''].join('.').replace(/\.$/, ': ')}${message}, give {kind: 'box', low: [...], high: [...]}, {kind: 'discrete', n} or {kind: 'text'}`;
  }
  if (data.kind === 'discrete' && data.n > longestList) return `n must not be above ${longestList}`;
  if (data.kind !== 'box') return data;
  const { low, high } = data;
  if (low.length === 0 || low.length !== high.length) return 'low and high must have one number a dimension';
  return low.every((bound, i) => bound <= high[i]!) ? data : 'low must not be above high';
}

/** Infinite bounds as they are recorded. */
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
    if (made.frame !== undefined) this.frame = () => this.#frame();
    // Only what a module made is closed here; a caller closes an object of its own.
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
      const returned = isRecord(step) ? 'a promise, but steps are synchronous' : shown(step);
      throw this.#invalid(`step returned ${returned}`, '{observation, reward, terminated}');
    }
    const { observation, reward, terminated, truncated = false } = step;
    if (typeof reward !== 'number' || !Number.isFinite(reward)) {
      throw this.#invalid(`the reward of a step is ${shown(reward)}`, 'a finite number');
    }
    const flag = (name: string, value: unknown): boolean => {
      if (typeof value === 'boolean') return value;
      throw this.#invalid(`${name} of a step is ${shown(value)}`, 'true or false');
    };
    const ends = { terminated: flag('terminated', terminated), truncated: flag('truncated', truncated) };
    return { observation: this.#observation(observation, 'step'), reward, ...ends };
  }

  /** A checked copy, since the user's next step may change the original. */
  #observation(observation: unknown, from: string): Observation {
    const space = this.observationSpace;
    if (space.kind === 'discrete') {
      if (isMember(observation as Observation, space)) return observation as number;
      const { n, start = 0 } = space;
      throw this.#invalid(
        `the observation of ${from} is ${shown(observation)}`,
        `a whole number from ${start} to ${start + n - 1}`,
      );
    }
    if (space.kind === 'text') {
      if (typeof observation === 'string') return observation;
      throw this.#invalid(`the observation of ${from} is ${shown(observation)}`, 'a text');
    }
    const length = space.kind === 'box' ? space.low.length : space.spaces.length;
    const isVector: boolean = Array.isArray(observation) || ArrayBuffer.isView(observation);
    const given = observation as ArrayLike<unknown>;
    if (!isVector || given.length !== length) {
      const got = isVector ? `has ${given.length} numbers` : `is ${shown(observation)}`;
      throw this.#invalid(`the observation of ${from} ${got}`, `an array of ${length}`);
    }
    const vector = Array.from(given);
    const bad = vector.findIndex((value) => typeof value !== 'number' || !Number.isFinite(value));
    if (bad >= 0) {
      throw this.#invalid(`observation[${bad}] of ${from} is ${shown(vector[bad])}`, 'a finite number');
    }
    return vector as number[];
  }

  #frame(): Frame {
    return this.#read('frame', () => {
      const frame = this.#call('frame');
      if (isRecord(frame) && isRecord(frame.view) && Array.isArray(frame.shapes))
        return frame as unknown as Frame;
      throw this.#invalid(`frame returned ${shown(frame)}`, '{view: {min, max}, shapes: [...]}');
    });
  }

  #call(member: UserCall, ...given: readonly unknown[]): unknown {
    return watched(member, () => (this.#made[member] as Member).call(this.#made, ...given));
  }

  /** Calls a member and reads what it returns: a getter may throw, too. */
  #read<T>(member: UserCall, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof EnvironmentError) throw error;
      const { line } = this.#file === undefined ? {} : thrownIn(this.#file, error);
      const place = line === undefined ? this.#origin : `${this.#origin}:${line}`;
      throw new EnvironmentError('raised', `${place}: ${member} threw: ${messageOf(error)}`);
    }
  }

  #invalid(message: string, expected: string): EnvironmentError {
    return new EnvironmentError('invalid', `${this.#origin}: ${message}\n  expected: ${expected}`);
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
