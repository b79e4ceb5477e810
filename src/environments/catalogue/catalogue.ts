import { z } from 'zod';
import { expandHome } from '../../base/files/regular-file.js';
import { Acrobot } from '../classic-control/acrobot.js';
import { CartPole } from '../classic-control/cart-pole.js';
import { MountainCar, MountainCarContinuous } from '../classic-control/mountain-car.js';
import { Pendulum } from '../classic-control/pendulum.js';
import { locomotionEntries } from '../mujoco/locomotion.js';
import { pendulumEntries } from '../mujoco/pendulums.js';
import { type CatalogueEntry, makeEntry } from '../options.js';
import {
  MazeWalk,
  mazeIds,
  mazeSize,
  randomMaze,
  randomMazeOptions,
  sampleMaze,
  sampleMazeOptions,
} from '../props/maze.js';
import { NavigationTrack } from '../props/navigation-track.js';
import { Nim } from '../props/nim.js';
import { Pong } from '../props/pong.js';
import { cookingGame, cookingOptions } from '../text/cooking/cooking.js';
import { lastArmIndex, probes, TextProbe, textBandit } from '../text/probes.js';
import { TextGameTask } from '../text/text-game.js';
import { buildGame, TextWorldPlay } from '../text/textworld/game.js';
import { readGame } from '../text/textworld/game-file.js';
import { dialects } from '../text/textworld/quests.js';
import { isStory, loadStory } from '../text/textworld/story.js';
import { Blackjack } from '../toy-text/blackjack.js';
import { cliffWalking, frozenLake, frozenLakeOptions } from '../toy-text/grid-walks.js';
import { Taxi, taxiOptions } from '../toy-text/taxi.js';
import { replacementFor } from './versions.js';

const flag = z.boolean();
const noOptions = z.strictObject({});
const poleOptions = z.strictObject({ sutton_barto_reward: flag.default(false) });
const carOptions = z.strictObject({ goal_velocity: z.number().default(0) });

/** The built-in numeric environments. Those from Gymnasium keep their ids, default options and time limits. */
export const catalogue: readonly CatalogueEntry[] = [
  makeEntry('CartPole-v0', { maxSteps: 200 }, poleOptions, (options) => new CartPole(options)),
  makeEntry('CartPole-v1', { maxSteps: 500 }, poleOptions, (options) => new CartPole(options)),
  makeEntry('MountainCar-v0', { maxSteps: 200 }, carOptions, (options) => new MountainCar(options)),
  makeEntry(
    'MountainCarContinuous-v0',
    { maxSteps: 999 },
    carOptions,
    (options) => new MountainCarContinuous(options),
  ),
  makeEntry(
    'Pendulum-v1',
    { maxSteps: 200 },
    z.strictObject({ g: z.number().default(10) }),
    (options) => new Pendulum(options),
  ),
  makeEntry('Acrobot-v1', { maxSteps: 500 }, noOptions, () => new Acrobot()),
  makeEntry('FrozenLake-v1', { maxSteps: 100 }, frozenLakeOptions, frozenLake),
  makeEntry(
    'CliffWalking-v1',
    { aliases: ['CliffWalking-v0'] },
    z.strictObject({ is_slippery: flag.default(false) }),
    cliffWalking,
  ),
  makeEntry('Taxi-v4', { aliases: ['Taxi-v3'], maxSteps: 200 }, taxiOptions, (options) => new Taxi(options)),
  makeEntry(
    'Blackjack-v1',
    {},
    z.strictObject({ natural: flag.default(false), sab: flag.default(true) }),
    (options) => new Blackjack(options),
  ),
  ...locomotionEntries,
  ...pendulumEntries,
  makeEntry('Nim-v0', {}, noOptions, () => new Nim()),
  makeEntry('Pong-v0', { maxSteps: 1000 }, noOptions, () => new Pong()),
  makeEntry(
    'NavigationTrack-v0',
    { aliases: ['gym_navigation:NavigationTrack-v0'], maxSteps: 1000 },
    noOptions,
    () => new NavigationTrack(),
  ),
  ...mazeIds.samples.map((id) =>
    makeEntry(id, mazeLimit(id), sampleMazeOptions, (options) => new MazeWalk(sampleMaze(id, options))),
  ),
  ...mazeIds.random.map(randomMazeEntry),
];

/** Built-in environments with text observations and actions, which a language model plays. */
export const textCatalogue: readonly CatalogueEntry[] = [
  makeEntry(
    'bandit',
    {},
    z.strictObject({ best: z.int().min(0).max(lastArmIndex).default(2) }),
    (options) => new TextProbe(textBandit(options)),
  ),
  ...Object.entries(probes).map(([id, probe]) => makeEntry(id, {}, noOptions, () => new TextProbe(probe))),
  makeEntry(
    'text:cooking',
    { maxSteps: 100 },
    cookingOptions,
    (options) => new TextGameTask((random) => cookingGame(options, random)),
  ),
];

/** Creates the entry for a TextWorld game, whose id is `textworld:` and the path of its `.json` or compiled story. */
function textWorldEntry(id: string): CatalogueEntry {
  const file = expandHome(id.slice(textWorldPrefix.length), { field: 'environment' });
  if (isStory(file)) return makeEntry(id, {}, noOptions, () => new TextGameTask(loadStory(file)));
  const schema = z.strictObject({ dialect: z.enum(dialects).default('z8') });
  return makeEntry(id, {}, schema, ({ dialect }) => {
    const game = buildGame(readGame(file), dialect);
    return new TextGameTask(() => new TextWorldPlay(game));
  });
}

export const textWorldPrefix = 'textworld:';

/**
 * Finds the environment for an id or alias: a catalogue entry (possibly in place of another version), a TextWorld game,
 * or a random maze of another size; undefined if there is none.
 */
export function findEntry(givenId: string): CatalogueEntry | undefined {
  const knownEntry = [...catalogue, ...textCatalogue].find(
    (item) => item.id === givenId || item.aliases.includes(givenId),
  );
  if (knownEntry !== undefined) return knownEntry;
  const id = replacementFor(givenId)?.id ?? givenId;
  if (id !== givenId) return findEntry(id);
  if (id.startsWith(textWorldPrefix)) return textWorldEntry(id);
  const isMaze = id.startsWith('maze-random-') && mazeSize(id) !== undefined;
  return isMaze ? randomMazeEntry(id) : undefined;
}

function randomMazeEntry(id: string): CatalogueEntry {
  return makeEntry(id, mazeLimit(id), randomMazeOptions, (options) => new MazeWalk(randomMaze(id, options)));
}

/** Returns the step limit: 200 for 3 × 3 cells, as in ProPS; otherwise 20 per cell. */
function mazeLimit(id: string): { readonly maxSteps: number } {
  const { width, height } = mazeSize(id)!;
  return { maxSteps: width * height === 9 ? 200 : 20 * width * height };
}
