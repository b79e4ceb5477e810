import type { RandomGenerator } from '../../base/random/generator.js';
import type { DiscreteSpace, Task, TaskStep } from '../environment.js';
import { type Frame, line, type Role, text } from '../frame.js';

const stickCount = 10;

/**
 * Nim with a single heap of 10 sticks (the ProPS paper's variant). The agent and an optimal opponent alternately take 1
 * to 3 sticks; whoever takes the last one loses. Observation: number of sticks left. Action: number to take.
 * Reward: 1 for a win; −1 for a loss or for taking more than are left.
 */
export class Nim implements Task<number> {
  readonly observationSpace: DiscreteSpace = { kind: 'discrete', n: stickCount + 1 };
  readonly actionSpace = { kind: 'discrete', n: 3, start: 1 } as const;
  #sticks = stickCount;
  /** Numbers of sticks that the agent, then the opponent, took in the last step; 0 if a player took none. */
  #sticksTaken = 0;
  #opponentTaken = 0;
  #random!: RandomGenerator;

  reset(random: RandomGenerator): number {
    this.#random = random;
    this.#sticks = stickCount;
    this.#sticksTaken = this.#opponentTaken = 0;
    return this.#sticks;
  }

  step(take: number): TaskStep {
    const end = (won: boolean) => ({ observation: this.#sticks, reward: won ? 1 : -1, terminated: true });
    this.#sticksTaken = this.#opponentTaken = 0;
    if (take > this.#sticks) return end(false);
    this.#sticks -= this.#sticksTaken = take;
    if (this.#sticks === 0) return end(false);
    this.#sticks -= this.#opponentTaken = this.#opponentMove();
    return this.#sticks === 0 ? end(true) : { observation: this.#sticks, reward: 0, terminated: false };
  }

  /** Chooses the move that leaves 1 more than a multiple of 4, which wins, or if there is none, a random move. */
  #opponentMove(): number {
    const best = (this.#sticks - 1) % 4;
    return best > 0 ? best : this.#random.choice([1, 2, 3].filter((take) => take <= this.#sticks));
  }

  /** Draws all sticks in a row: those left, those that the opponent and the agent took last, then earlier ones. */
  frame(): Frame {
    const [left, taken, opponentTaken] = [this.#sticks, this.#sticksTaken, this.#opponentTaken];
    const caption = (x: number, content: string, role: Role) => text(content, [x, -0.7], 0.5, role);
    const roleOf = (stick: number): Role => {
      if (stick < left) return 'object';
      if (stick < left + opponentTaken) return 'opponent';
      return stick < left + opponentTaken + taken ? 'agent' : 'guide';
    };
    return {
      view: { min: [-1, -1.2], max: [stickCount, 3] },
      shapes: [
        line([-0.6, -0.2], [stickCount - 0.4, -0.2], 0.06, 'ground'),
        ...Array.from({ length: stickCount }, (_, stick) => {
          const role = roleOf(stick);
          const lift = role === 'agent' || role === 'opponent' ? 0.5 : 0;
          return line([stick, lift], [stick, 2 + lift], role === 'guide' ? 0.06 : 0.25, role);
        }),
        caption(0.6, `agent: ${taken}`, 'agent'),
        caption((stickCount - 1) / 2, `${left} left`, 'object'),
        caption(stickCount - 2, `opponent: ${opponentTaken}`, 'opponent'),
      ],
    };
  }
}
