/** TextWorldExpress games, which need Java and the Python package textworld-express. */
import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import type { Step, TextInfo } from '../environment.js';
import { stepLimitSchema, toSnakeCase } from '../options.js';
import { folds } from '../text/text-game.js';
import { type DescribeFailure, type PythonSettings, PythonWorkers } from './python.js';
import type { EpisodeBatch, RemoteEnvironment } from './remote-environment.js';

const gameNames = [
  'cookingworld',
  'coin',
  'twc',
  'mapreader',
  'arithmetic',
  'sorting',
  'simonsays',
  'peckingorder',
] as const;

interface ExpressGame {
  readonly game: (typeof gameNames)[number];
  /** Parameters in TextWorldExpress's format: `numLocations=3,includeDoors=1`. */
  readonly params: string;
  readonly fold: (typeof folds)[number];
  /** Undefined if there is no limit. */
  readonly maxSteps: number | undefined;
}

const gameSchema = z.looseObject({
  game: z.enum(gameNames),
  fold: z.enum(folds).default('train'),
  /** Step limit, as in the Python package; -1 for no limit. */
  max_episode_steps: z.coerce.number().pipe(stepLimitSchema).default(100),
});

/**
 * Parses an id such as `textworld-express:coin?numLocations=5`, and options, which override the id. TextWorldExpress
 * checks the parameters of the game.
 * @throws UserError for an unknown game or fold, or an invalid step limit
 */
export function parseExpressGame(id: string, options: Readonly<Record<string, unknown>>): ExpressGame {
  const [game = '', ...query] = id.slice('textworld-express:'.length).split('?');
  const parameters = { ...Object.fromEntries(new URLSearchParams(query.join('?'))), ...options };
  const { data, error } = gameSchema.safeParse({ ...toSnakeCase(parameters), game });
  if (error !== undefined)
    throw new UserError(
      error.issues.map(({ message, path }) => ({
        field: path[0] === 'game' ? 'environment' : `environment.options.${path.join('.')}`,
        value: path[0] === 'game' ? id : parameters[String(path[0])],
        message,
      })),
    );
  const { fold, game: validGame, max_episode_steps: maxSteps, ...params } = data;
  return {
    game: validGame,
    fold,
    maxSteps: maxSteps === -1 ? undefined : maxSteps,
    params: Object.entries(params)
      .map(([key, value]) => `${camelCase(key)}=${toParam(value)}`)
      .join(','),
  };
}

/** Writes flags as 1 and 0, like TextWorldExpress. */
const toParam = (value: unknown) => (`${value}` === 'true' ? 1 : `${value}` === 'false' ? 0 : String(value));

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Observation, score, won, lost, valid commands. */
const stateSchema = z.tuple([z.string(), z.number(), z.boolean(), z.boolean(), z.array(z.string())]);
const resetReplySchema = z.object({ tasks: z.array(z.string()), states: z.array(stateSchema) });
const stepReplySchema = z.object({ states: z.array(stateSchema) });
const goldReplySchema = z.object({ gold: z.array(z.string()) });
const readyReplySchema = z.object({ ready: z.literal(true) });

type State = z.output<typeof stateSchema>;

interface RunningPlay {
  readonly seed: number;
  readonly task: string;
  info: TextInfo;
  steps: number;
}

/** Start of the response to a command that isn't understood; all other commands count as moves. */
const unknownActionPrefix = 'Unknown action:';

/** Games that need one Java process per slot, because concurrent games with the same seed share objects. */
const ownProcessGames: readonly string[] = ['sorting'];
const maxProcesses = 4;

/**
 * Opens a TextWorldExpress game, e.g. `textworld-express:cookingworld?numLocations=3`. Episodes are truncated at their
 * step limit, one step earlier than in the Python package.
 * @param options parameters of the game, `fold` and `max_episode_steps`
 * @throws UserError for an invalid game, parameter, fold or step limit, and if Python, the package or Java is missing
 */
export async function openTextWorldExpress(
  id: string,
  options: Readonly<Record<string, unknown>>,
  settings: PythonSettings,
): Promise<RemoteEnvironment> {
  const { game, params, fold, maxSteps } = parseExpressGame(id, options);
  const { python, episodesPerProcess, processes } = settings;
  const describeFailure: DescribeFailure = ({ kind, message }) => {
    if (kind === 'import')
      return {
        message: `${python} lacks a Python module: ${message}`,
        hint: `run ${python} -m pip install textworld-express (it also needs Java), or set environment.python or POLICYLOOP_PYTHON to another interpreter`,
      };
    if (kind === 'java')
      return {
        message: `TextWorldExpress can't start Java: ${message}`,
        hint: 'install Java 8 or newer so that the java command is found, or set JAVA_HOME',
      };
    return { message: `TextWorldExpress can't create this game: ${message}` };
  };
  const workers = new PythonWorkers(
    {
      id,
      script: 'express_bridge.py',
      makeArguments: { game, params, fold },
      descriptionSchema: readyReplySchema,
      describeFailure,
      requirement: 'textworld-express (pip install textworld-express; it also needs Java)',
    },
    settings,
  );
  await workers.description();
  const limit = ownProcessGames.includes(game) ? maxProcesses : episodesPerProcess;
  const slotCount = Math.min(episodesPerProcess, limit);
  return {
    id,
    observationSpace: { kind: 'text' },
    actionSpace: { kind: 'text' },
    ...(maxSteps !== undefined && { maxSteps }),
    batches: Array.from({ length: processes }, (_, index) =>
      createBatch(workers, index, slotCount, maxSteps ?? Infinity),
    ),
    close: () => workers.close(),
  };
}

function createBatch(
  workers: PythonWorkers<unknown>,
  index: number,
  slotCount: number,
  maxSteps: number,
): EpisodeBatch {
  let plays: readonly RunningPlay[] = [];
  const advance = (play: RunningPlay, state: State): Step => {
    const [observation, score, won, lost] = state;
    const { score: previousScore, moves } = play.info;
    play.info = infoOf(state, moves! + (observation.startsWith(unknownActionPrefix) ? 0 : 1));
    play.steps++;
    const terminated = won || lost || score >= 1;
    const truncated = !terminated && play.steps >= maxSteps;
    return { observation, reward: score - previousScore, terminated, truncated };
  };
  return {
    slotCount,
    async reset(requestedSeeds) {
      // Java accepts seeds below 2^31; larger seeds are reduced to their lower 31 bits.
      const seeds = requestedSeeds.map((seed) => seed % 2 ** 31);
      const { tasks, states } = await workers.ask(index, resetReplySchema, { reset: seeds });
      plays = states.map((state, slot) => {
        return { seed: seeds[slot]!, task: tasks[slot]!, info: infoOf(state, 0), steps: 0 };
      });
      return states.map(([observation]) => observation);
    },
    async step(moves) {
      const request = { step: moves.map(({ slot, action }) => [slot, String(action)]) };
      const { states } = await workers.ask(index, stepReplySchema, request);
      return states.map((state, i) => advance(plays[moves[i]!.slot]!, state));
    },
    info: (slot) => plays[slot]!.info,
    objective: (slot) => plays[slot]!.task,
    gold: async (slot) => (await workers.ask(index, goldReplySchema, { gold: plays[slot]!.seed })).gold,
  };
}

const infoOf = ([, score, won, lost, valid]: State, moves: number): TextInfo => {
  return { score, maxScore: 1, won, lost, moves, admissible: [...new Set(valid)].toSorted() };
};
