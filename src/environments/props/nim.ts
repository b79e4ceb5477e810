import { type Frame, line, type Role, text } from '../frame.js';
import { HeapGame } from '../synthetic/heaps.js';

const allSticks = 10;

/**
 * Nim with a single heap of 10 sticks (the ProPS paper's variant). The agent and an optimal opponent alternately take 1
 * to 3 sticks; whoever takes the last one loses. Observation: number of sticks left. Action: number to take.
 * Reward: 1 for a win; −1 for a loss or for taking more than are left.
 */
export class Nim extends HeapGame {
  override readonly actionSpace = { kind: 'discrete', n: 3, start: 1 } as const;

  constructor() {
    const moves = [1, 2, 3].map((take) => ({ heap: 0, take }));
    super({ sizes: [allSticks], fewest: [allSticks], moves, misere: true, errors: undefined });
  }

  override step(action: number) {
    return super.step(action - 1);
  }

  /** Draws all sticks in a row: first those left, then those that the opponent and the agent took last. */
  frame(): Frame {
    const left = this.position;
    const [taken, answered] = [this.own?.take ?? 0, this.answer?.take ?? 0];
    const caption = (x: number, content: string, role: Role) => text(content, [x, -0.7], 0.5, role);
    const roleOf = (stick: number): Role => {
      if (stick < left) return 'object';
      if (stick < left + answered) return 'opponent';
      return stick < left + answered + taken ? 'agent' : 'guide';
    };
    return {
      view: { min: [-1, -1.2], max: [allSticks, 3] },
      shapes: [
        line([-0.6, -0.2], [allSticks - 0.4, -0.2], 0.06, 'ground'),
        ...Array.from({ length: allSticks }, (_, stick) => {
          const role = roleOf(stick);
          const lift = role === 'agent' || role === 'opponent' ? 0.5 : 0;
          return line([stick, lift], [stick, 2 + lift], role === 'guide' ? 0.06 : 0.25, role);
        }),
        caption(0.6, `agent: ${taken}`, 'agent'),
        caption((allSticks - 1) / 2, `${left} left`, 'object'),
        caption(allSticks - 2, `opponent: ${answered}`, 'opponent'),
      ],
    };
  }
}
