/** The games of TextWorldExpress and their parameters, as its manual and its answers to wrong ones have them. */
import { z } from 'zod';
import { nearest, UserError } from '../../base/errors.js';
import { parseOptions } from '../options.js';
import { folds } from '../text/folds.js';

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

export interface ExpressGame {
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
