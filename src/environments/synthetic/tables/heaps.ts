import type { RandomGenerator } from '../../../random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep } from '../../environment.js';
import { chance, type Draw, integerBetween } from '../distributions.js';

interface Move {
  readonly heap: 0 | 1;
  readonly take: number;
}

interface Rules {
  /** Maximum number of sticks on each heap. */
  readonly sizes: readonly [number, number];
  readonly moves: readonly Move[];
  /** Whether whoever takes the last stick loses. */
  readonly misere: boolean;
  /** The probability that the opponent plays at random. */
  readonly errors: number;
  /** Whether episodes start with random heaps instead of full ones. */
  readonly anywhere: boolean;
}

/**
 * Two heaps of sticks, at most 64 positions. Players alternately take up to two or three sticks from one
 * heap. Whoever takes the last stick wins or, in misère play, loses; an impossible move loses. The opponent
 * plays optimally except for random moves. Observation: the number of the position.
 */
export const drawHeaps: Draw<object> = (random) => {
  const sizes = [integerBetween(random, 4, 7), integerBetween(random, 2, 7)] as const;
  const most = integerBetween(random, 2, 3);
  const moves = ([0, 1] as const).flatMap((heap) =>
    Array.from({ length: Math.min(most, sizes[heap]) }, (_, i): Move => ({ heap, take: i + 1 })),
  );
  const misere = chance(random, 0.5);
  const rules: Rules = {
    sizes,
    moves,
    misere,
    errors: random.uniform(0, 0.5),
    anywhere: chance(random, 0.6),
  };
  return { task: new TwoHeaps(rules), maxSteps: sizes[0] + sizes[1] + 1 };
};

class TwoHeaps implements Task<number> {
  readonly observationSpace: DiscreteSpace;
  readonly actionSpace: DiscreteSpace;
  readonly #rules: Rules;
  /** For each position, a winning move or undefined. */
  readonly #winning: readonly (Move | undefined)[];
  readonly #heaps: [number, number] = [0, 0];
  #random!: RandomGenerator;

  constructor(rules: Rules) {
    const [first, second] = rules.sizes;
    this.observationSpace = { kind: 'discrete', n: (first + 1) * (second + 1) };
    this.actionSpace = { kind: 'discrete', n: rules.moves.length };
    this.#rules = rules;
    this.#winning = winningMoves(rules);
  }

  reset(random: RandomGenerator): Observation {
    const { anywhere, sizes } = this.#rules;
    this.#random = random;
    for (const heap of [0, 1] as const)
      this.#heaps[heap] = anywhere ? integerBetween(random, heap === 0 ? 1 : 0, sizes[heap]) : sizes[heap];
    return this.#position();
  }

  step(action: number): TaskStep {
    const { errors, misere, moves } = this.#rules;
    const end = (reward: number): TaskStep => ({ observation: this.#position(), reward, terminated: true });
    if (!this.#take(moves[action]!)) return end(-1);
    if (this.#isEmpty()) return end(misere ? -1 : 1);
    const best = this.#winning[this.#position()];
    const legal = moves.filter(({ heap, take }) => take <= this.#heaps[heap]);
    this.#take(best !== undefined && !chance(this.#random, errors) ? best : this.#random.choice(legal));
    if (this.#isEmpty()) return end(misere ? 1 : -1);
    return { observation: this.#position(), reward: 0, terminated: false };
  }

  #take({ heap, take }: Move): boolean {
    if (take > this.#heaps[heap]) return false;
    this.#heaps[heap] -= take;
    return true;
  }

  #isEmpty(): boolean {
    return this.#heaps[0] === 0 && this.#heaps[1] === 0;
  }

  #position(): number {
    return this.#heaps[0] * (this.#rules.sizes[1] + 1) + this.#heaps[1];
  }
}

function winningMoves({ misere, moves, sizes }: Rules): readonly (Move | undefined)[] {
  const columns = sizes[1] + 1;
  const winning: (Move | undefined)[] = [];
  // The player to move in the empty position has won in misère play, and lost otherwise.
  const wins: boolean[] = [];
  for (let a = 0; a <= sizes[0]; a++) {
    for (let b = 0; b < columns; b++) {
      const heaps = [a, b] as const;
      const best = moves.find(({ heap, take }) => {
        if (take > heaps[heap]) return false;
        return wins[(heap === 0 ? a - take : a) * columns + (heap === 1 ? b - take : b)] === false;
      });
      winning.push(best);
      wins.push(a + b === 0 ? misere : best !== undefined);
    }
  }
  return winning;
}
