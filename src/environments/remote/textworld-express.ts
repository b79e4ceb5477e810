/** Games of TextWorldExpress, played by its Python package and its Java program, which must be installed. */
import { z } from 'zod';
import { nearest, UserError } from '../../base/errors.js';
import type { Step, TextInfo } from '../environment.js';
import { parseOptions } from '../options.js';
import { folds } from '../text/text-game.js';
import { notStarted, PythonPlayers, type PythonSettings, type Refused } from './python.js';
import type { EpisodeBatch, RemoteEnvironment } from './remote-environment.js';

const range = (low: number, high: number) => z.int().min(low).max(high).optional();
const flag = z
  .union([z.boolean(), z.literal(0), z.literal(1)], 'must be 0 or 1')
  .transform(Number)
  .optional();

const carrying = { include_doors: flag, limit_inventory_size: flag };

/** What is left out has the game's own default. */
const parameters = {
  cookingworld: {
    num_locations: range(1, 11),
    num_ingredients: range(1, 5),
    num_distractor_items: range(0, 10),
    ...carrying,
  },
  coin: { num_locations: range(1, 11), num_distractor_items: range(0, 10), ...carrying },
  twc: { num_locations: range(1, 3), num_items_to_put_away: range(1, 4), ...carrying },
  mapreader: {
    num_locations: range(1, 50),
    max_distance_apart: range(1, 8),
    max_distractor_items_per_location: range(0, 3),
    ...carrying,
  },
  arithmetic: {},
  sorting: {},
  simonsays: {
    game_length: range(1, 1000),
    num_distractors: range(0, 5),
    memorization: flag,
    verbose: flag,
  },
  peckingorder: {},
} as const satisfies Readonly<Record<string, z.ZodRawShape>>;

type Game = keyof typeof parameters;
const games = Object.keys(parameters) as readonly Game[];

interface ExpressGame {
  readonly game: Game;
  /** As TextWorldExpress takes them: `numLocations=3,includeDoors=1`. */
  readonly params: string;
  readonly fold: (typeof folds)[number];
  /** Undefined for no limit. */
  readonly maxSteps: number | undefined;
}

/** As in the Python package. */
const usualSteps = 100;

/**
 * @param id `textworld-express:GAME`, with parameters behind a question mark: `…:coin?numLocations=5&includeDoors=0`
 * @param options further parameters; `fold` and `max_episode_steps` may be among both
 * @throws UserError for another game, and for each parameter that it does not have or take
 */
export function parseExpressGame(id: string, options: Readonly<Record<string, unknown>>): ExpressGame {
  const [name = '', ...query] = id.slice('textworld-express:'.length).split('?');
  const game = games.find((one) => one === name);
  if (game === undefined) throw unknownGame(id, name);
  const given = { ...options };
  for (const [key, value] of new URLSearchParams(query.join('?'))) {
    if (key in given)
      throw new UserError({ field: key, message: `${id} has it twice: in the id and in the options` });
    given[key] = numberOrFlag(value);
  }
  const schema = z.strictObject({ ...parameters[game], fold: z.enum(folds).default('train') });
  const { own, maxEpisodeSteps = usualSteps } = parseOptions(id, schema, given);
  const { fold, ...params } = own;
  return {
    game,
    fold,
    maxSteps: maxEpisodeSteps === -1 ? undefined : maxEpisodeSteps,
    params: Object.entries(params)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${camelCase(key)}=${value}`)
      .join(','),
  };
}

const numberOrFlag = (text: string): unknown => {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+$/.test(text) ? Number(text) : text;
};

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function unknownGame(id: string, name: string): UserError {
  const meant = nearest(name, games);
  return new UserError({
    field: 'environment',
    value: id,
    message: 'TextWorldExpress has no such game',
    alternatives: games,
    ...(meant !== undefined && { remedy: `did you mean textworld-express:${meant}?` }),
  });
}

/** Observation, score, won, lost, commands that are understood now. */
const state = z.tuple([z.string(), z.number(), z.boolean(), z.boolean(), z.array(z.string())]);
const started = z.object({ tasks: z.array(z.string()), states: z.array(state) });
const stepped = z.object({ states: z.array(state) });
const golden = z.object({ gold: z.array(z.string()) });
const described = z.object({ ready: z.literal(true) });

type State = z.output<typeof state>;

/** One game that is played. */
interface Play {
  readonly seed: number;
  readonly task: string;
  info: TextInfo;
  steps: number;
}

/** What TextWorldExpress answers to what it does not understand; every other command is a move. */
const unknown = 'Unknown action:';

/**
 * A game of TextWorldExpress: `textworld-express:cookingworld?numLocations=3`. One Java process plays a batch. An episode
 * is cut off at its limit of steps, one step before the Python package says so.
 * @param options parameters of the game, `fold` and `max_episode_steps`
 * @throws UserError for an unknown game or parameter, and when Python, the package or Java is missing
 */
export async function openTextWorldExpress(
  id: string,
  options: Readonly<Record<string, unknown>>,
  settings: PythonSettings,
): Promise<RemoteEnvironment> {
  const game = parseExpressGame(id, options);
  const { python, parallel, processes } = settings;
  const players = new PythonPlayers(
    {
      id,
      script: 'express_bridge.py',
      make: { game: game.game, params: game.params, fold: game.fold },
      described,
      refusal: (refused) => refusal(id, python, refused),
      notStarted: (error) => notStarted(id, python, error, needs),
    },
    settings,
  );
  await players.description();
  const slots = ownProcess.includes(game.game) ? Math.min(parallel, mostProcesses) : parallel;
  return {
    id,
    observationSpace: { kind: 'text' },
    actionSpace: { kind: 'text' },
    ...(game.maxSteps !== undefined && { maxSteps: game.maxSteps }),
    batches: Array.from({ length: processes }, (_, index) => batch(game, players, index, slots)),
    close: () => players.close(),
  };
}

function batch(
  { maxSteps = Number.POSITIVE_INFINITY }: ExpressGame,
  players: PythonPlayers<unknown>,
  index: number,
  slots: number,
): EpisodeBatch {
  let plays: readonly Play[] = [];
  const take = (play: Play, now: State): Step => {
    const [observation, score, won, lost] = now;
    const { score: before, moves } = play.info;
    play.info = infoOf(now, moves! + (observation.startsWith(unknown) ? 0 : 1));
    play.steps++;
    const terminated = won || lost || score >= 1;
    const truncated = !terminated && play.steps >= maxSteps;
    return { observation, reward: score - before, terminated, truncated };
  };
  return {
    slots,
    async reset(given) {
      const seeds = given.map(javaSeed);
      const { tasks, states } = await players.ask(index, started, { reset: seeds });
      plays = states.map((now, slot) => {
        return { seed: seeds[slot]!, task: tasks[slot]!, info: infoOf(now, 0), steps: 0 };
      });
      return states.map(([observation]) => observation);
    },
    async step(moves) {
      const request = { step: moves.map(({ slot, action }) => [slot, String(action)]) };
      const { states } = await players.ask(index, stepped, request);
      return states.map((now, i) => take(plays[moves[i]!.slot]!, now));
    },
    info: (slot) => plays[slot]!.info,
    objective: (slot) => plays[slot]!.task,
    gold: async (slot) => (await players.ask(index, golden, { gold: plays[slot]!.seed })).gold,
  };
}

const infoOf = ([, score, won, lost, valid]: State, moves: number): TextInfo => {
  return { score, maxScore: 1, won, lost, moves, admissible: [...new Set(valid)].toSorted() };
};

/** The bridge starts a Java process for each slot of these: in one process, games of one seed share their things. */
const ownProcess: readonly string[] = ['sorting'];
const mostProcesses = 4;

/** Java takes seeds below 2^31: others play the game of their lower bits. */
const javaSeed = (seed: number): number => seed % 2 ** 31;

const needs = 'textworld-express: pip install textworld-express (it needs Java, too)';

function refusal(id: string, python: string, { kind, message }: Refused): UserError {
  const problem = { field: 'environment', value: id } as const;
  switch (kind) {
    case 'import':
      return new UserError({
        ...problem,
        message: `Python lacks a module: ${message}`,
        remedy: `${python} -m pip install textworld-express, or name another Python with environment.python or POLICYLOOP_PYTHON; it needs Java, too`,
      });
    case 'java':
      return new UserError({
        ...problem,
        message: `TextWorldExpress needs Java, which doesn't start: ${message}`,
        remedy: 'install Java 8 or newer, so that the command java is found, or set JAVA_HOME',
      });
    default:
      return new UserError({ ...problem, message: `TextWorldExpress can't make it: ${message}` });
  }
}
