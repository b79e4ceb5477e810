/** The text worlds, each with a name, options, and a game for each seed. */
import { z } from 'zod';
import type { RandomGenerator } from '../../../random/generator.js';
import type { TextGame, TextTurn } from '../text-game.js';
import { cookingGame, cookingOptions } from './cooking.js';
import {
  coinCollectorGame,
  coinCollectorOptions,
  mapReaderGame,
  mapReaderOptions,
  putAwayGame,
  putAwayOptions,
  treasureHuntGame,
  treasureHuntOptions,
} from './errands.js';
import { sokobanGame, sokobanOptions } from './sokoban.js';

const guessTheNumberOptions = z.strictObject({
  largest: z.int().min(2).max(1000).default(20).describe('Largest possible number'),
});

function guessTheNumberGame(
  { largest }: z.output<typeof guessTheNumberOptions>,
  random: RandomGenerator,
): TextGame {
  return new GuessTheNumber(largest, 1 + random.integers(0, largest));
}

class GuessTheNumber implements TextGame {
  readonly maxScore = 1;
  readonly lost = false;
  readonly admissible: readonly string[];
  readonly gold: readonly string[];
  readonly objective: string;
  won = false;
  moves = 0;
  readonly #largest: number;
  readonly #hidden: number;

  constructor(largest: number, hidden: number) {
    this.#largest = largest;
    this.#hidden = hidden;
    this.admissible = Array.from({ length: largest }, (_, i) => `guess ${i + 1}`).toSorted();
    this.objective = `I think of a whole number from 1 to ${largest}. Guess it, e.g. "guess ${Math.ceil(largest / 2)}".`;
    this.gold = halving(largest, hidden);
  }

  get score(): number {
    return this.won ? 1 : 0;
  }

  start(): string {
    this.won = false;
    this.moves = 0;
    return this.objective;
  }

  step(command: string): TextTurn {
    const [, digits] = /^guess ([1-9]\d*)$/.exec(command) ?? [];
    const guess = Number(digits ?? 0);
    if (guess < 1 || guess > this.#largest)
      return { text: `Say "guess" and a number from 1 to ${this.#largest}.`, understood: false };
    this.moves++;
    this.won = guess === this.#hidden;
    if (this.won) return { text: `${guess} is right. You have won.`, understood: true };
    return {
      text: `${guess} is wrong: the number is ${guess < this.#hidden ? 'higher' : 'lower'}.`,
      understood: true,
    };
  }
}

/** Binary search: at most ⌈log₂(largest + 1)⌉ guesses. */
function halving(largest: number, hidden: number): readonly string[] {
  const guesses: string[] = [];
  let [low, high] = [1, largest];
  for (;;) {
    const guess = Math.floor((low + high) / 2);
    guesses.push(`guess ${guess}`);
    if (guess === hidden) return guesses;
    if (guess < hidden) low = guess + 1;
    else high = guess - 1;
  }
}

export interface TextWorld {
  /** The world's id is `text:` followed by this. */
  readonly name: string;
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
