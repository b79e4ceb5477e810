import { z } from 'zod';
import type { RandomGenerator } from '../random/generator.js';
import type { Frame } from './frame.js';

/** `n` values `start … start + n - 1` (`start` defaults to 0). */
export interface DiscreteSpace {
  readonly kind: 'discrete';
  readonly n: number;
  readonly start?: number;
}

/** A vector of floats; one bound a dimension, ±Infinity where there is none, which JSON has as null. */
export interface BoxSpace {
  readonly kind: 'box';
  /** @items {"type": ["number", "null"]} */
  readonly low: readonly number[];
  /** @items {"type": ["number", "null"]} */
  readonly high: readonly number[];
  /** The precision of the numbers, as in Gymnasium; float32 where it is left out. */
  readonly dtype?: 'float32' | 'float64';
}

/** A box whose bounds are ± `bound` in every dimension; without bounds where it is left out. */
export function symmetricBox(
  dimensions: number,
  bound = Number.POSITIVE_INFINITY,
  dtype?: BoxSpace['dtype'],
): BoxSpace {
  const filled = (value: number) => Array<number>(dimensions).fill(value);
  return { kind: 'box', low: filled(-bound), high: filled(bound), ...(dtype && { dtype }) };
}

/** A fixed number of discrete values, given and taken as a number array (Gymnasium's Tuple of Discrete). */
export interface TupleSpace {
  readonly kind: 'tuple';
  readonly spaces: readonly DiscreteSpace[];
}

/** Text: any, or one of `choices`, which then all may be given at every step. */
export interface TextSpace {
  readonly kind: 'text';
  readonly choices?: readonly string[] | undefined;
}

/** A space whose members are numbers. */
export type NumericSpace = DiscreteSpace | BoxSpace | TupleSpace;

export type Space = NumericSpace | TextSpace;

/** Numbers that make a member of the space: 1 for a discrete one. */
export function dimensionsOf(space: NumericSpace): number {
  if (space.kind === 'discrete') return 1;
  return space.kind === 'box' ? space.low.length : space.spaces.length;
}

/** An integer in a discrete space, a vector in a box or tuple space, a string in a text space. */
export type Observation = number | readonly number[] | string;
export type Action = number | readonly number[] | string;

/** What `step` returns. `terminated`: the task ended. `truncated`: the time limit cut it off. */
export interface Step {
  readonly observation: Observation;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** What a text world tells beside its observation. */
export interface TextInfo {
  readonly score: number;
  /** The score of a game that is won. */
  readonly maxScore: number | null;
  readonly won: boolean;
  readonly lost: boolean;
  /** Commands that were understood. */
  readonly moves: number | null;
  /** Commands that change or tell something now: sorted, each once; null where they are not known. */
  readonly admissible: readonly string[] | null;
}

/** How the linear policies of a drawn task are searched unless a config says otherwise: as its section `policy`. */
export interface LinearHint {
  readonly bias: boolean;
  readonly low: number;
  readonly high: number;
  readonly decimals: number;
  readonly order?: 'columns' | 'bias-first' | { readonly shuffled: number };
  readonly projection?: { readonly rank: number; readonly seed: number };
}

/** What an environment says of itself in prompts. */
export interface EnvironmentWords {
  readonly description?: string;
  /** What each number of an observation is; of a discrete one, what each value is. */
  readonly observationNames?: readonly string[];
  /** What each number of an action is; of a discrete one, what each value is. */
  readonly actionNames?: readonly string[];
}

/** What policies and prompts need to know about an environment. */
export interface EnvironmentSpec {
  /** The registered id, e.g. `CartPole-v1`. */
  readonly id: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** Steps after which an episode is truncated; undefined where the task has no limit. */
  readonly maxSteps?: number;
  /** Present where it was drawn together with the task. */
  readonly linear?: LinearHint;
  readonly words?: EnvironmentWords;
}

/** A task with Gymnasium's semantics. */
export interface Environment extends EnvironmentSpec {
  /**
   * Starts an episode. A seed makes the random stream NumPy's `Generator(PCG64(SeedSequence(seed)))`; without one the
   * present stream goes on, and the first reset draws a seed from the operating system.
   */
  reset(seed?: number | bigint): Observation;
  /**
   * Takes one step.
   * @throws UserError before the first reset, after the episode ended, for a discrete action out of range,
   *   a vector of the wrong length, or a number that is not finite. A continuous action beyond its bounds is
   *   accepted, as in Gymnasium.
   */
  step(action: Action): Step;
  /** Simulated seconds that a step takes, where the task has a time: the natural speed of an animation. */
  readonly stepSeconds?: number;
  /** How the present state looks, where the environment can be drawn. @throws UserError before the first reset */
  frame?(): Frame;
  /** What a text world tells of the present state. @throws UserError before the first reset */
  info?(): TextInfo;
  /** Commands that win the present game from its start, where a text world knows them. @throws as `info` */
  gold?(): readonly string[] | undefined;
  /** What the player of the present game is told to do, where a text world knows it. @throws as `info` */
  objective?(): string | undefined;
  /** Frees what the garbage collector can't. The environment can't be used afterwards; closing it again does nothing. */
  close?(): void;
}

const discrete = z.strictObject({
  kind: z.literal('discrete'),
  n: z.int().min(1),
  start: z.int().default(0),
});
/** JSON has no infinities: `JSON.stringify` makes null of them. */
const bounds = (none: number) =>
  z.array(
    z
      .number()
      .nullable()
      .transform((bound) => bound ?? none),
  );

/** A space as it is written to JSON. */
export const recordedSpace = z.discriminatedUnion('kind', [
  discrete,
  z.strictObject({ kind: z.literal('tuple'), spaces: z.array(discrete).min(1) }),
  z.strictObject({ kind: z.literal('text'), choices: z.array(z.string().min(1)).min(1).optional() }),
  z.strictObject({
    kind: z.literal('box'),
    low: bounds(Number.NEGATIVE_INFINITY),
    high: bounds(Number.POSITIVE_INFINITY),
    dtype: z.enum(['float32', 'float64']).default('float32'),
  }),
]) satisfies z.ZodType<Space>;

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
  /** See `Environment`; called only after a reset. */
  info?(): TextInfo;
  gold?(): readonly string[] | undefined;
  objective?(): string | undefined;
  /** Frees what the garbage collector can't; called at most once. */
  close?(): void;
}
