/** User environments: created by a module, or passed in as an object. */
import { basename } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import { messageOf, UserError } from '../../base/errors.js';
import { errorLocation, isObject, loadModule } from '../../base/modules/user-module.js';
import type { RandomGenerator } from '../../base/random/generator.js';
import { plural } from '../../base/text/numbers.js';
import {
  type Action,
  dimensionsOf,
  type Environment,
  type EnvironmentTexts,
  type Observation,
  type Space,
  spaceSchema,
  type Task,
  type TaskStep,
} from '../environment.js';
import type { Frame } from '../frame.js';
import { isMember, LimitedEnvironment } from '../limited-environment.js';
import { EnvironmentError } from '../remote/remote-environment.js';

/** An environment written by a user. */
export interface UserEnvironment
  extends EnvironmentTexts,
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
export async function loadModuleEnvironment(
  path: string,
  options: Readonly<Record<string, unknown>>,
): Promise<Environment> {
  const module = await loadModule(path, 'environment', 'environment');
  const created = await module.create(options, 'environment.options');
  return wrapUserEnvironment(created, `module:${module.name}`, module.file);
}

/**
 * Wraps a user's environment: checks its members now, and each observation, reward and `terminated` flag as it plays.
 * @param file the module's file; undefined for an object
 * @throws UserError unless it is an object with valid members; the result throws EnvironmentError if its code fails
 */
export function wrapUserEnvironment(userEnvironment: unknown, id: string, file?: string): Environment {
  const origin = file === undefined ? id : basename(file);
  const moduleError = (message: string) => new UserError({ ...(file && { file }), message });
  if (typeof userEnvironment !== 'object' || userEnvironment === null)
    throw moduleError(file === undefined ? `${id} must be an object` : 'create returned no environment');
  const { data, error } = memberSchema.safeParse(userEnvironment);
  if (error !== undefined) {
    const { message, path } = error.issues[0]!;
    throw new UserError({
      ...(file && { file }),
      field: path.join('.'),
      message: `the environment created by ${origin} is invalid: ${message}`,
      hint: 'policyloop init environment FILE writes a complete example',
    });
  }
  const { actionNames, description, maxSteps, observationNames } = data;
  const environment = new LimitedEnvironment(
    id,
    new UserTask(userEnvironment as UserEnvironment, data, origin, file),
    maxSteps,
  );
  if (description === undefined && observationNames === undefined && actionNames === undefined)
    return environment;
  const words: EnvironmentTexts = {
    ...(description !== undefined && { description }),
    ...(observationNames && { observationNames }),
    ...(actionNames && { actionNames }),
  };
  return Object.assign(environment, { words });
}

const methodSchema = z.custom<(...given: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);

/** A space with ±Infinity, or null, for a missing bound. */
const userSpaceSchema = z
  .preprocess((value) => {
    if (!isObject(value) || value.kind !== 'box') return value;
    return { ...value, low: nullInfinities(value.low), high: nullInfinities(value.high) };
  }, spaceSchema)
  .refine(
    (space) => space.kind !== 'box' || (space.low.length > 0 && space.low.length === space.high.length),
    'low and high must have one number per dimension',
  );

const nullInfinities = (bounds: unknown): unknown =>
  Array.isArray(bounds) || ArrayBuffer.isView(bounds)
    ? Array.from(bounds as ArrayLike<unknown>, (bound) =>
        Math.abs(Number(bound)) === Infinity ? null : bound,
      )
    : bounds;

/** True if there are no names, or one per component of the space or, in a discrete space, per value. */
const fits = (names: readonly string[] | undefined, space: Space) =>
  names === undefined ||
  (space.kind !== 'text' && names.length === (space.kind === 'discrete' ? space.n : dimensionsOf(space)));

const memberSchema = z
  .object({
    observationSpace: userSpaceSchema,
    actionSpace: userSpaceSchema,
    reset: methodSchema,
    step: methodSchema,
    frame: methodSchema.optional(),
    close: methodSchema.optional(),
    maxSteps: z.int().min(1).optional(),
    stepSeconds: z.number().positive().optional(),
    description: z.string().optional(),
    observationNames: z.array(z.string()).optional(),
    actionNames: z.array(z.string()).optional(),
  })
  .refine(
    (data) => fits(data.observationNames, data.observationSpace) && fits(data.actionNames, data.actionSpace),
    'observationNames and actionNames must have one name per component or value of their spaces',
  );

class UserTask implements Task {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly stepSeconds?: number;
  readonly frame?: () => Frame;
  readonly close?: () => void;
  readonly #wrapped: UserEnvironment;
  readonly #origin: string;
  readonly #file: string | undefined;

  constructor(
    wrapped: UserEnvironment,
    { actionSpace, observationSpace, stepSeconds }: z.output<typeof memberSchema>,
    origin: string,
    file: string | undefined,
  ) {
    this.#wrapped = wrapped;
    this.#origin = origin;
    this.#file = file;
    this.observationSpace = observationSpace;
    this.actionSpace = actionSpace;
    if (stepSeconds !== undefined) this.stepSeconds = stepSeconds;
    if (wrapped.frame !== undefined) this.frame = () => this.#call('frame', () => wrapped.frame!());
    // Close only objects created by a module; callers close their own objects.
    if (wrapped.close !== undefined && file !== undefined)
      this.close = () => this.#call('close', () => wrapped.close!());
  }

  reset(random: RandomGenerator, seed?: number | bigint): Observation {
    const observation = this.#call('reset', () => this.#wrapped.reset(seed as number, random));
    return this.#observation(observation, 'reset');
  }

  step(action: Action): TaskStep {
    const step: unknown = this.#call('step', () => this.#wrapped.step(action));
    if (!isObject(step))
      throw this.#invalid(`step returned ${inspectText(step)}`, '{observation, reward, terminated}');
    const { observation, reward, terminated, truncated = false } = step;
    if (!Number.isFinite(reward))
      throw this.#invalid(`the reward of a step is ${inspectText(reward)}`, 'a finite number');
    if (typeof terminated !== 'boolean')
      throw this.#invalid(`terminated of a step is ${inspectText(terminated)}`, 'true or false');
    return {
      observation: this.#observation(observation, 'step'),
      reward: reward as number,
      terminated,
      truncated: truncated === true,
    };
  }

  /** Returns a checked copy, because the user's next step may change the original. */
  #observation(observation: unknown, from: string): Observation {
    const space = this.observationSpace;
    const invalid = (expected: string) =>
      this.#invalid(`the observation from ${from} is ${inspectText(observation)}`, expected);
    if (space.kind === 'discrete') {
      if (isMember(observation as Observation, space)) return observation as number;
      const { n, start = 0 } = space;
      throw invalid(`a whole number from ${start} to ${start + n - 1}`);
    }
    if (space.kind === 'text') {
      if (typeof observation === 'string') return observation;
      throw invalid('a string');
    }
    const vector =
      Array.isArray(observation) || ArrayBuffer.isView(observation)
        ? Array.from(observation as ArrayLike<number>)
        : [];
    if (vector.length === dimensionsOf(space) && vector.every(Number.isFinite)) return vector;
    throw invalid(`an array of ${plural(dimensionsOf(space), 'finite number')}`);
  }

  #call<T>(member: string, call: () => T): T {
    try {
      const result = call();
      if (!isObject(result) || !('then' in result)) return result;
      throw this.#invalid(`${member} returned a promise`, 'a value, because it must not be async');
    } catch (error) {
      if (error instanceof EnvironmentError) throw error;
      const { line } = this.#file === undefined ? {} : errorLocation(this.#file, error);
      const place = line === undefined ? this.#origin : `${this.#origin}:${line}`;
      throw new EnvironmentError('raised', `${place}: ${member} threw: ${messageOf(error)}`);
    }
  }

  #invalid(message: string, expected: string): EnvironmentError {
    return new EnvironmentError('invalid', `${this.#origin}: ${message}; expected ${expected}`);
  }
}

/** Formats a value, even if JSON can't represent it, and cuts the text to 80 characters. */
const inspectText = (value: unknown): string => inspect(value, { breakLength: Infinity }).slice(0, 80);
