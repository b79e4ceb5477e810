/** Guess a number; the game says whether the hidden one is higher or lower. */
import { z } from 'zod';
import type { RandomGenerator } from '../../../random/generator.js';
import type { TextGame, TextTurn } from '../text-game.js';

export const guessTheNumberOptions = z.strictObject({
  largest: z.int().min(2).max(1000).default(20).describe('The number is from 1 to this one'),
});

export function guessTheNumberGame(
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
