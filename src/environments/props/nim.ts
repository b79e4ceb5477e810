import type { RandomGenerator } from '../../random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { type Frame, line, type Role, text } from '../frame.js';

const allSticks = 10;
const mostTaken = 3;

/**
 * Nim with a single heap of 10 sticks (the ProPS paper's variant). The agent and a strong opponent alternately take 1
 * to 3 sticks; whoever takes the last one loses. If possible, the opponent leaves a number that is 1 more than a
 * multiple of 4; otherwise it takes a random number. Observation: sticks left on the agent's turn. Action: how many to
 * take. Reward: 1 for a win; −1 for a loss or for taking more than there are.
 */
export class Nim implements Task<number> {
  readonly observationSpace: DiscreteSpace = { kind: 'discrete', n: allSticks + 1 };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: mostTaken, start: 1 };
  #random!: RandomGenerator;
  #sticks = allSticks;
  /** What the agent took on the last turn, and then the opponent. */
  #taken = 0;
  #answered = 0;

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#sticks = allSticks;
    this.#taken = 0;
    this.#answered = 0;
    return this.#sticks;
  }

  step(action: number): TaskStep {
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
    const [left, taken, answered] = [this.#sticks, this.#taken, this.#answered];
    const caption = (x: number, content: string, role: Role) => text(content, [x, -0.7], 0.5, role);
    return {
      view: { min: [-1, -1.2], max: [allSticks, 3] },
      shapes: [
        line([-0.6, -0.2], [allSticks - 0.4, -0.2], 0.06, 'ground'),
        ...Array.from({ length: allSticks }, (_, stick) => {
          const role = roleOf(stick, left, answered, taken);
          const lift = role === 'agent' || role === 'opponent' ? 0.5 : 0;
          return line([stick, lift], [stick, 2 + lift], role === 'guide' ? 0.06 : 0.25, role);
        }),
        caption(0.6, `agent: ${taken}`, 'agent'),
        caption((allSticks - 1) / 2, `${left} left`, 'object'),
        caption(allSticks - 2, `opponent: ${answered}`, 'opponent'),
      ],
    };
  }

  #answer(): number {
    const surplus = (this.#sticks - 1) % (mostTaken + 1);
    if (surplus > 0) return surplus;
    const most = Math.min(mostTaken, this.#sticks);
    return this.#random.choice(Array.from({ length: most }, (_, i) => i + 1));
  }

  #result(reward: number, terminated: boolean): TaskStep {
    return { observation: this.#sticks, reward, terminated };
  }
}

/**
 * The heap is drawn as a row: the remaining sticks, then those the opponent took on the last turn, then those
 * the agent took.
 */
function roleOf(stick: number, left: number, answered: number, taken: number): Role {
  if (stick < left) return 'object';
  if (stick < left + answered) return 'opponent';
  return stick < left + answered + taken ? 'agent' : 'guide';
}
