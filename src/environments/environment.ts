import { z } from 'zod';
import type { RandomGenerator } from '../base/random/generator.js';
import type { Frame } from './frame.js';

/** The integers from `start` to `start + n - 1`; `start` defaults to 0. */
export interface DiscreteSpace {
  readonly kind: 'discrete';
  readonly n: number;
  readonly start?: number;
}

/** Float vectors with a range per dimension; ±Infinity means unbounded and becomes null in JSON. */
export interface BoxSpace {
  readonly kind: 'box';
  readonly low: readonly number[];
  readonly high: readonly number[];
  /** Precision of the numbers, as in Gymnasium; defaults to float32. */
  readonly dtype?: 'float32' | 'float64';
}

/** Creates a box with the bounds ±`bound` in every dimension; unbounded by default. */
export function symmetricBox(
  dimensions: number,
  bound = Number.POSITIVE_INFINITY,
  dtype?: BoxSpace['dtype'],
): BoxSpace {
  const filled = (value: number) => Array<number>(dimensions).fill(value);
  return { kind: 'box', low: filled(-bound), high: filled(bound), ...(dtype && { dtype }) };
}

/** A fixed number of discrete values, represented as a number array (Gymnasium's Tuple of Discrete). */
export interface TupleSpace {
  readonly kind: 'tuple';
  readonly spaces: readonly DiscreteSpace[];
}

/** Any string or, if `choices` is set, one of these strings. */
export interface TextSpace {
  readonly kind: 'text';
  readonly choices?: readonly string[] | undefined;
}

/** A space whose members are numbers or arrays of numbers. */
export type NumericSpace = DiscreteSpace | BoxSpace | TupleSpace;

export type Space = NumericSpace | TextSpace;

/** Returns the number of components in a member of the space; 1 for a discrete space. */
export function dimensionsOf(space: NumericSpace): number {
  if (space.kind === 'discrete') return 1;
  return space.kind === 'box' ? space.low.length : space.spaces.length;
}

/** An integer in a discrete space, a vector in a box or tuple space, a string in a text space. */
export type Observation = number | readonly number[] | string;
export type Action = number | readonly number[] | string;

/** Result of `step`. `terminated`: the task ended. `truncated`: the episode was cut off, e.g. by the step limit. */
export interface Step {
  readonly observation: Observation;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** Information that a text world reports in addition to the observation. */
export interface TextInfo {
  readonly score: number;
  /** Maximum score; null if unknown. */
  readonly maxScore: number | null;
  readonly won: boolean;
  readonly lost: boolean;
  /** Number of commands executed so far; null if unknown. */
  readonly moves: number | null;
  /** Commands that currently change or show something; null if unknown. */
  readonly admissible: readonly string[] | null;
}

/** Descriptions that an environment provides for prompts. */
export interface EnvironmentTexts {
  readonly description?: string;
  /** The meaning of each component of an observation; for a discrete one, of each value. */
  readonly observationNames?: readonly string[];
  /** The meaning of each component of an action; for a discrete one, of each value. */
  readonly actionNames?: readonly string[];
}

/** The part of an environment that policies and prompts need. */
export interface EnvironmentSpec {
  /** E.g. `CartPole-v1`; `module:<name>` for a user's module, `custom:<name>` for a user's object. */
  readonly id: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** Steps after which an episode is truncated; undefined if no limit is known. */
  readonly maxSteps?: number;
  /** Simulated seconds per step, if the task has a time scale; sets the speed of animations. */
  readonly stepSeconds?: number;
  readonly words?: EnvironmentTexts;
}

/** A task with Gymnasium's semantics. */
export interface Environment extends EnvironmentSpec {
  /**
   * Starts an episode. A seed sets the random stream to NumPy's `Generator(PCG64(SeedSequence(seed)))`.
   * Without a seed, the current stream continues; on the first reset, the operating system provides a seed.
   */
  reset(seed?: number | bigint): Observation;
  /**
   * Takes one step.
   * @throws UserError before the first reset, after the end of the episode, after `close`, and for an action outside
   * `actionSpace` (continuous ones may exceed its bounds if finite); EnvironmentError if a module or a game fails
   */
  step(action: Action): Step;
  /** Draws the current state. @throws UserError before the first reset and after `close` */
  frame?(): Frame;
  /** Information about the current state of a text world. @throws like `frame` */
  info?(): TextInfo;
  /** Commands that win the current game from its start, if known. @throws like `frame` */
  gold?(): readonly string[] | undefined;
  /** The player's task in the current game, if known. @throws like `frame` */
  objective?(): string | undefined;
  /** Frees resources that aren't garbage-collected; afterwards, only `close` can be called, and it has no effect. */
  close?(): void;
}

const discreteSchema = z.strictObject({
  kind: z.literal('discrete'),
  n: z.int().min(1),
  start: z.int().default(0),
});
/** JSON has no infinities; `JSON.stringify` writes null for them. */
const boundsSchema = (unbounded: number) =>
  z.array(
    z
      .number()
      .nullable()
      .transform((bound) => bound ?? unbounded),
  );

/** A space as stored in JSON. */
export const spaceSchema = z.discriminatedUnion('kind', [
  discreteSchema,
  z.strictObject({ kind: z.literal('tuple'), spaces: z.array(discreteSchema).min(1) }),
  z.strictObject({ kind: z.literal('text'), choices: z.array(z.string().min(1)).min(1).optional() }),
  z.strictObject({
    kind: z.literal('box'),
    low: boundsSchema(Number.NEGATIVE_INFINITY),
    high: boundsSchema(Number.POSITIVE_INFINITY),
    dtype: z.enum(['float32', 'float64']).default('float32'),
  }),
]) satisfies z.ZodType<Space>;

/** A step before the time limit is applied. */
export interface TaskStep extends Omit<Step, 'truncated'> {
  /** Defaults to false. */
  readonly truncated?: boolean;
}

/**
 * The dynamics of an environment, without the time limit and input checks of `LimitedEnvironment`. `step` is called
 * only between `reset` and the end of an episode; `frame`, `info`, `gold` and `objective` only after a reset.
 */
export interface Task<A extends Action = Action>
  extends Pick<
    Environment,
    'observationSpace' | 'actionSpace' | 'stepSeconds' | 'frame' | 'info' | 'gold' | 'objective' | 'close'
  > {
  /**
   * Starts an episode. The task may keep `random` and draw from it until the next reset.
   * @param seed the seed of `random`; undefined if the caller gave none
   */
  reset(random: RandomGenerator, seed?: number | bigint): Observation;
  /** Takes one step; the caller owns the observation. */
  step(action: A): TaskStep;
}
