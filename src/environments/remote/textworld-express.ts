/** TextWorldExpress games, which need Java and the Python package textworld-express. */
import { z } from 'zod';
import { nearest, UserError } from '../../base/errors.js';
import type { Step, TextInfo } from '../environment.js';
import { parseOptions } from '../options.js';
import { folds } from '../text/text-game.js';
import { PythonPlayers, type PythonSettings, type Refusals } from './python.js';
import type { EpisodeBatch, RemoteEnvironment } from './remote-environment.js';

const range = (low: number, high: number) => z.int().min(low).max(high).optional();
const flag = z
  .union([z.boolean(), z.literal(0), z.literal(1)], 'must be true, false, 0 or 1')
  .transform(Number)
  .optional();

const carrying = { include_doors: flag, limit_inventory_size: flag };

/** The games and their parameters, from TextWorldExpress's manual and error messages; all are optional. */
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
  /** Parameters in TextWorldExpress's format: `numLocations=3,includeDoors=1`. */
  readonly params: string;
  readonly fold: (typeof folds)[number];
  /** Undefined for no limit. */
  readonly maxSteps: number | undefined;
}

/** Default step limit, as in the Python package. */
const usualSteps = 100;

/** Parses an id such as `textworld-express:coin?numLocations=5`, and options. @throws UserError if either is invalid */
export function parseExpressGame(id: string, options: Readonly<Record<string, unknown>>): ExpressGame {
  const [name = '', ...query] = id.slice('textworld-express:'.length).split('?');
  const game = games.find((one) => one === name);
  if (game === undefined) throw unknownGame(id, name);
  const given = { ...options };
  for (const [key, value] of new URLSearchParams(query.join('?'))) {
    if (key in given)
      throw new UserError({
        field: key,
        message: `is set twice; set it once, in the id ${id} or in the options`,
      });
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
  const suggestion = nearest(name, games);
  return new UserError({
    field: 'environment',
    value: id,
    message: 'unknown TextWorldExpress game',
    alternatives: games,
    ...(suggestion !== undefined && { hint: `did you mean textworld-express:${suggestion}?` }),
  });
}

/** Observation, score, won, lost, valid commands. */
const state = z.tuple([z.string(), z.number(), z.boolean(), z.boolean(), z.array(z.string())]);
const started = z.object({ tasks: z.array(z.string()), states: z.array(state) });
const stepped = z.object({ states: z.array(state) });
const golden = z.object({ gold: z.array(z.string()) });
const described = z.object({ ready: z.literal(true) });

type State = z.output<typeof state>;

interface Play {
  readonly seed: number;
  readonly task: string;
  info: TextInfo;
  steps: number;
}

/** Start of the response to a command that isn't understood; all other commands count as moves. */
const unknown = 'Unknown action:';

/** Games that need one Java process per slot, because concurrent games with the same seed share objects. */
const ownProcess: readonly string[] = ['sorting'];
const mostProcesses = 4;

/**
 * Opens a TextWorldExpress game, e.g. `textworld-express:cookingworld?numLocations=3`. Episodes are truncated at their
 * step limit, one step earlier than in the Python package.
 * @param options parameters of the game, `fold` and `max_episode_steps`
 * @throws UserError for an unknown game or parameter, and if Python, the package or Java is missing
 */
export async function openTextWorldExpress(
  id: string,
  options: Readonly<Record<string, unknown>>,
  settings: PythonSettings,
): Promise<RemoteEnvironment> {
  const { game, params, fold, maxSteps } = parseExpressGame(id, options);
  const { python, parallel, processes } = settings;
  const refusals: Refusals = ({ kind, message }) => {
    if (kind === 'import')
      return {
        message: `a Python module is missing: ${message}`,
        hint: `run ${python} -m pip install textworld-express (it also needs Java), or set environment.python or POLICYLOOP_PYTHON to another interpreter`,
      };
    if (kind === 'java')
      return {
        message: `TextWorldExpress can't start Java: ${message}`,
        hint: 'install Java 8 or newer so that the java command is found, or set JAVA_HOME',
      };
    return { message: `TextWorldExpress can't create this game: ${message}` };
  };
  const players = new PythonPlayers(
    {
      id,
      script: 'express_bridge.py',
      make: { game, params, fold },
      described,
      refusals,
      needs: 'textworld-express (pip install textworld-express; it also needs Java)',
    },
    settings,
  );
  await players.description();
  const slots = ownProcess.includes(game) ? Math.min(parallel, mostProcesses) : parallel;
  return {
    id,
    observationSpace: { kind: 'text' },
    actionSpace: { kind: 'text' },
    ...(maxSteps !== undefined && { maxSteps }),
    batches: Array.from({ length: processes }, (_, index) =>
      batch(players, index, slots, maxSteps ?? Infinity),
    ),
    close: () => players.close(),
  };
}

function batch(
  players: PythonPlayers<unknown>,
  index: number,
  slots: number,
  maxSteps: number,
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
      // Java accepts seeds below 2^31; larger seeds are reduced to their lower 31 bits.
      const seeds = given.map((seed) => seed % 2 ** 31);
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
