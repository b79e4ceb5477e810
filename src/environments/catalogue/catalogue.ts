import { z } from 'zod';
import type { Environment } from '../environment.js';
import { limitedEnvironment } from '../limited-environment.js';
import {
  halfCheetahOptions,
  hopperOptions,
  invertedDoublePendulumOptions,
  invertedPendulumOptions,
  reacherOptions,
  swimmerOptions,
  walker2dOptions,
} from '../mujoco/options.js';
import { optionNames, parseOptions } from '../options.js';
import {
  mazeIds,
  mazeSize,
  randomMaze,
  randomMazeOptions,
  sampleMaze,
  sampleMazeOptions,
} from '../props/maze-layout.js';
import { isSyntheticId, syntheticEntry, syntheticIds } from '../synthetic/families.js';
import type { Task } from '../task.js';

/** What can be known of an environment without loading it. */
export interface EnvironmentInfo {
  readonly id: string;
  /** Ids of older versions that behave the same. */
  readonly aliases: readonly string[];
  /** Names of the options, as Gymnasium spells them. */
  readonly options: readonly string[];
  /**
   * Steps after which an episode is truncated unless an option says otherwise; undefined for no limit, and for synthetic
   * tasks, whose limits are drawn.
   */
  readonly maxSteps: number | undefined;
}

export interface CatalogueEntry extends EnvironmentInfo {
  make(options: Readonly<Record<string, unknown>>): Promise<Environment>;
}

const flag = z.boolean();
const probability = z.number().min(0).max(1);
const noOptions = z.strictObject({});
const poleOptions = z.strictObject({ sutton_barto_reward: flag.default(false) });
const carOptions = z.strictObject({ goal_velocity: z.number().default(0) });

/** Every built-in environment, with Gymnasium's ids, options, defaults and time limits. */
export const catalogue: readonly CatalogueEntry[] = [
  entry('CartPole-v0', {
    maxSteps: 200,
    options: poleOptions,
    load: async (options) => new (await import('../classic-control/cart-pole.js')).CartPole(options),
  }),
  entry('CartPole-v1', {
    maxSteps: 500,
    options: poleOptions,
    load: async (options) => new (await import('../classic-control/cart-pole.js')).CartPole(options),
  }),
  entry('MountainCar-v0', {
    maxSteps: 200,
    options: carOptions,
    load: async (options) => new (await import('../classic-control/mountain-car.js')).MountainCar(options),
  }),
  entry('MountainCarContinuous-v0', {
    maxSteps: 999,
    options: carOptions,
    load: async (options) =>
      new (await import('../classic-control/mountain-car-continuous.js')).MountainCarContinuous(options),
  }),
  entry('Pendulum-v1', {
    maxSteps: 200,
    options: z.strictObject({ g: z.number().default(10) }),
    load: async (options) => new (await import('../classic-control/pendulum.js')).Pendulum(options),
  }),
  entry('Acrobot-v1', {
    maxSteps: 500,
    options: noOptions,
    load: async () => new (await import('../classic-control/acrobot.js')).Acrobot(),
  }),
  entry('FrozenLake-v1', {
    maxSteps: 100,
    options: z.strictObject({
      desc: z.array(z.string()).nullish(),
      map_name: z.enum(['4x4', '8x8']).nullable().default('4x4'),
      is_slippery: flag.default(true),
      success_rate: probability.default(1 / 3),
      reward_schedule: z.tuple([z.number(), z.number(), z.number()]).default([1, 0, 0]),
    }),
    load: async (options) => (await import('../toy-text/frozen-lake.js')).frozenLake(options),
  }),
  entry('CliffWalking-v1', {
    aliases: ['CliffWalking-v0'],
    options: z.strictObject({ is_slippery: flag.default(false) }),
    load: async (options) => (await import('../toy-text/cliff-walking.js')).cliffWalking(options),
  }),
  entry('Taxi-v4', {
    aliases: ['Taxi-v3'],
    maxSteps: 200,
    options: z.strictObject({
      is_rainy: flag.default(false),
      fickle_passenger: flag.default(false),
      rainy_probability: probability.default(0.8),
      fickle_probability: probability.default(0.3),
    }),
    load: async (options) => new (await import('../toy-text/taxi.js')).Taxi(options),
  }),
  entry('Blackjack-v1', {
    options: z.strictObject({ natural: flag.default(false), sab: flag.default(true) }),
    load: async (options) => new (await import('../toy-text/blackjack.js')).Blackjack(options),
  }),
  entry('HalfCheetah-v5', {
    maxSteps: 1000,
    options: halfCheetahOptions,
    load: async (options) => (await import('../mujoco/locomotion.js')).halfCheetah(options),
  }),
  entry('Hopper-v5', {
    maxSteps: 1000,
    options: hopperOptions,
    load: async (options) => (await import('../mujoco/locomotion.js')).hopper(options),
  }),
  entry('Walker2d-v5', {
    maxSteps: 1000,
    options: walker2dOptions,
    load: async (options) => (await import('../mujoco/locomotion.js')).walker2d(options),
  }),
  entry('Swimmer-v5', {
    maxSteps: 1000,
    options: swimmerOptions,
    load: async (options) => (await import('../mujoco/locomotion.js')).swimmer(options),
  }),
  entry('Reacher-v5', {
    maxSteps: 50,
    options: reacherOptions,
    load: async (options) => (await import('../mujoco/reacher.js')).reacher(options),
  }),
  entry('InvertedPendulum-v5', {
    maxSteps: 1000,
    options: invertedPendulumOptions,
    load: async (options) => (await import('../mujoco/pendulums.js')).invertedPendulum(options),
  }),
  entry('InvertedDoublePendulum-v5', {
    maxSteps: 1000,
    options: invertedDoublePendulumOptions,
    load: async (options) => (await import('../mujoco/pendulums.js')).invertedDoublePendulum(options),
  }),
  entry('Nim-v0', {
    options: noOptions,
    load: async () => new (await import('../props/nim.js')).Nim(),
  }),
  entry('Pong-v0', {
    maxSteps: 1000,
    options: noOptions,
    load: async () => new (await import('../props/pong.js')).Pong(),
  }),
  entry('NavigationTrack-v0', {
    aliases: ['gym_navigation:NavigationTrack-v0'],
    maxSteps: 1000,
    options: noOptions,
    load: async () => new (await import('../props/navigation-track.js')).NavigationTrack(),
  }),
  ...mazeIds.samples.map((id) =>
    entry(id, {
      maxSteps: mazeLimit(id),
      options: sampleMazeOptions,
      load: async (options) => new (await import('../props/maze.js')).MazeWalk(sampleMaze(id, options)),
    }),
  ),
  ...mazeIds.random.map(randomMazeEntry),
  ...syntheticIds.map(syntheticEntry),
];

/**
 * The environment of an id or alias: one of the catalogue, a random maze of any size, or a synthetic task.
 * @throws UserError for a synthetic task of an unknown family or with unusable options
 */
export function findEntry(id: string): CatalogueEntry | undefined {
  const known = catalogue.find((item) => item.id === id || item.aliases.includes(id));
  if (known !== undefined) return known;
  if (isSyntheticId(id)) return syntheticEntry(id);
  const maze = id.startsWith('maze-random-') && mazeSize(id) !== undefined;
  return maze ? randomMazeEntry(id) : undefined;
}

function randomMazeEntry(id: string): CatalogueEntry {
  return entry(id, {
    maxSteps: mazeLimit(id),
    options: randomMazeOptions,
    load: async (options) => new (await import('../props/maze.js')).MazeWalk(randomMaze(id, options)),
  });
}

/** 200 for 3 × 3, as in ProPS; for the others so many steps for each cell. */
function mazeLimit(id: string): number {
  const { width, height } = mazeSize(id)!;
  return width * height === 9 ? 200 : 20 * width * height;
}

function entry<S extends z.ZodObject>(
  id: string,
  definition: {
    readonly aliases?: readonly string[];
    readonly maxSteps?: number;
    readonly options: S;
    load(options: z.output<S>): Promise<Task>;
  },
): CatalogueEntry {
  const { aliases = [], maxSteps, options: schema, load } = definition;
  return {
    id,
    aliases,
    options: optionNames(schema),
    maxSteps,
    async make(options) {
      const { own, maxEpisodeSteps = maxSteps } = parseOptions(id, schema, options);
      return limitedEnvironment(id, await load(own), maxEpisodeSteps === -1 ? undefined : maxEpisodeSteps);
    },
  };
}
