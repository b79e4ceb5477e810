/** Checks that hold for every game of a text world. */

import { createGenerator, type RandomGenerator } from '../../../src/base/random/generator.js';
import type { TextGame } from '../../../src/environments/text/text-game.js';

interface World {
  readonly maxSteps: number;
  game(random: RandomGenerator): TextGame;
}

/** @returns why the game of the seed is not won by its gold path, in the steps that an episode has; undefined where it is */
export function checkGold(world: World, seed: number): string | undefined {
  const game = world.game(createGenerator(seed));
  game.start();
  const gold = game.gold ?? [];
  if (gold.length > world.maxSteps) return `the gold path has ${gold.length} steps of ${world.maxSteps}`;
  for (const [i, command] of gold.entries()) {
    if (game.won || game.lost) return `it ends before step ${i}`;
    if (!game.admissible?.includes(command)) return `${command} is not admissible in step ${i}`;
    if (!game.step(command).understood) return `${command} is not understood in step ${i}`;
  }
  return game.won && game.score === game.maxScore ? undefined : `it ends with the score ${game.score}`;
}

interface Fuzzed {
  readonly refused: number;
  readonly understood: number;
  readonly failures: readonly string[];
}

/** Games that the commands are spread over, so that they meet many states. */
const commandsAGame = 500;

/** Gives made-up commands in states that random play reaches. */
export function fuzzCommands(world: World, commands: number): Fuzzed {
  const random = createGenerator(99);
  const failures: string[] = [];
  let [refused, understood] = [0, 0];
  for (let seed = 0; refused + understood < commands; seed++) {
    const game = world.game(createGenerator(1_000_000 + seed));
    game.start();
    for (let i = 0; i < Math.min(commands, commandsAGame) && !game.won && !game.lost; i++) {
      const before = stateOf(game);
      const { admissible } = before;
      const command = madeUp(admissible, random);
      try {
        if (game.step(command).understood) {
          understood++;
          if (!admissible.includes(command))
            failures.push(`${JSON.stringify(command)} is done, and not admissible`);
        } else {
          refused++;
          if (JSON.stringify(stateOf(game)) !== JSON.stringify(before))
            failures.push(`${JSON.stringify(command)} is refused, and changes something`);
          if (admissible.includes(command))
            failures.push(`${JSON.stringify(command)} is admissible, and refused`);
        }
        // Every now and then the game goes on.
        if (random.random() < 0.05) game.step(admissible[random.integers(0, admissible.length)]!);
      } catch (error) {
        failures.push(`${JSON.stringify(command)} throws ${String(error)}`);
      }
    }
  }
  return { refused, understood, failures };
}

function stateOf({ admissible, score, moves, won, lost }: TextGame) {
  return { admissible: admissible ?? [], score, moves, won, lost };
}

/** Words of the commands in another order, other places, numbers, odd signs, or an admissible command with a slip. */
function madeUp(admissible: readonly string[], random: RandomGenerator): string {
  const any = <T>(list: readonly T[]): T => list[random.integers(0, list.length)]!;
  const words = admissible.flatMap((command) => command.split(' '));
  switch (random.integers(0, 5)) {
    case 0:
      return Array.from({ length: random.integers(0, 6) }, () => any(words)).join(
        any([' ', ' ', '  ', '\u0000']),
      );
    case 1: {
      const command = any(admissible);
      const at = random.integers(0, command.length + 1);
      return command.slice(0, at) + any(odd) + command.slice(at);
    }
    case 2:
      return any(odd) + any(words);
    case 3:
      return `${any(admissible).toUpperCase()}${any(odd)}`;
    default:
      return `${random.integers(-5, 200)}${any(odd)}`;
  }
}

const odd = [
  '',
  ' ',
  '\n',
  '\t',
  'x',
  '0',
  '-',
  '__proto__',
  'constructor',
  '$&',
  '\\',
  '🍎',
  '\uD800',
  'é',
  ' with '.repeat(50),
];
