/** The text worlds: each has a name, options, and a game for each seed. */
import type { z } from 'zod';
import type { RandomGenerator } from '../../../random/generator.js';
import type { TextGame } from '../text-game.js';
import { coinCollectorGame, coinCollectorOptions } from './coin-collector.js';
import { cookingGame, cookingOptions } from './cooking.js';
import { guessTheNumberGame, guessTheNumberOptions } from './guess-the-number.js';
import { mapReaderGame, mapReaderOptions } from './map-reader.js';
import { putAwayGame, putAwayOptions } from './put-away.js';
import { sokobanGame, sokobanOptions } from './sokoban.js';
import { treasureHuntGame, treasureHuntOptions } from './treasure-hunt.js';

export interface TextWorld {
  /** The world's id is `text:` followed by this. */
  readonly name: string;
  /** Steps after which an episode is truncated. */
  readonly maxSteps: number;
  readonly options: z.ZodObject;
  /** @throws ZodError for options that don't match the schema */
  game(options: Readonly<Record<string, unknown>>, random: RandomGenerator): TextGame;
}

function world<S extends z.ZodObject>(
  name: string,
  maxSteps: number,
  options: S,
  make: (options: z.output<S>, random: RandomGenerator) => TextGame,
): TextWorld {
  return { name, maxSteps, options, game: (given, random) => make(options.parse(given), random) };
}

export const textWorlds: readonly TextWorld[] = [
  world('cooking', 100, cookingOptions, cookingGame),
  world('coin-collector', 100, coinCollectorOptions, coinCollectorGame),
  world('treasure-hunt', 100, treasureHuntOptions, treasureHuntGame),
  world('put-away', 100, putAwayOptions, putAwayGame),
  world('map-reader', 60, mapReaderOptions, mapReaderGame),
  world('guess-the-number', 20, guessTheNumberOptions, guessTheNumberGame),
  world('sokoban', 120, sokobanOptions, sokobanGame),
];
