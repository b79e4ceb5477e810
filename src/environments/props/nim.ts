import type { RandomGenerator } from '../../random/generator.js';
import type { DiscreteSpace, Observation } from '../environment.js';
import type { Frame, Role, Shape } from '../frame.js';
import type { OpenStep, Task } from '../task.js';

const allSticks = 10;
const mostTaken = 3;

/**
 * Nim with one heap of 10 sticks (the ProPS paper's variant): the agent and a strong opponent take 1 to 3 sticks in turn,
 * and whoever takes the last one loses. The opponent leaves a number that is 1 more than a multiple of 4 where it can,
 * and takes a random number where it cannot.
 * Observation: sticks left when it is the agent's turn. Action: how many to take. Reward: 1 for a win, −1 for a loss and
 * for taking more than there are.
 */
export class Nim implements Task<number> {
  readonly observationSpace: DiscreteSpace = { kind: 'discrete', n: allSticks + 1 };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: mostTaken, start: 1 };
  #random!: RandomGenerator;
  #sticks = allSticks;
  /** What was taken in the last turn, by the agent and then by the opponent. */
  #taken = 0;
  #answered = 0;

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#sticks = allSticks;
    this.#taken = 0;
    this.#answered = 0;
    return this.#sticks;
  }

  step(action: number): OpenStep {
    this.#answered = 0;
    this.#taken = 0;
    if (action > this.#sticks) return this.#result(-1, true);
    this.#taken = action;
    this.#sticks -= action;
    if (this.#sticks === 0) return this.#result(-1, true);
    this.#answered = this.#answer();
    this.#sticks -= this.#answered;
    return this.#sticks === 0 ? this.#result(1, true) : this.#result(0, false);
  }

  frame(): Frame {
    return drawNim({ all: allSticks, left: this.#sticks, taken: this.#taken, answered: this.#answered });
  }

  #answer(): number {
    const surplus = (this.#sticks - 1) % (mostTaken + 1);
    if (surplus > 0) return surplus;
    const most = Math.min(mostTaken, this.#sticks);
    return this.#random.choice(Array.from({ length: most }, (_, i) => i + 1));
  }

  #result(reward: number, terminated: boolean): OpenStep {
    return { observation: this.#sticks, reward, terminated, truncated: false };
  }
}

/** The heap as a row of sticks: those left on the left, and what the last turn took, told apart by who took it. */
export function drawNim(game: {
  readonly all: number;
  readonly left: number;
  /** By the agent in the last turn, and by the opponent after it; 0 for none. */
  readonly taken: number;
  readonly answered: number;
}): Frame {
  const { all, left, taken, answered } = game;
  const roleOf = (stick: number): Role => {
    if (stick < left) return 'object';
    if (stick < left + answered) return 'opponent';
    return stick < left + answered + taken ? 'agent' : 'guide';
  };
  const sticks = Array.from({ length: all }, (_, stick): Shape => {
    const role = roleOf(stick);
    const lift = role === 'agent' || role === 'opponent' ? 0.5 : 0;
    return {
      kind: 'line',
      points: [
        [stick, lift],
        [stick, 2 + lift],
      ],
      width: role === 'guide' ? 0.06 : 0.25,
      role,
    };
  });
  const caption = (x: number, text: string, role: Role): Shape => ({
    kind: 'text',
    centre: [x, -0.7],
    height: 0.5,
    text,
    role,
  });
  const middle = (all - 1) / 2;
  return {
    view: { min: [-1, -1.2], max: [all, 3] },
    shapes: [
      {
        kind: 'line',
        points: [
          [-0.6, -0.2],
          [all - 0.4, -0.2],
        ],
        width: 0.06,
        role: 'ground',
      },
      ...sticks,
      caption(0.6, `agent: ${taken}`, 'agent'),
      caption(middle, `${left} left`, 'object'),
      caption(all - 2, `opponent: ${answered}`, 'opponent'),
    ],
  };
}
