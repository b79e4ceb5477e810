import type { Frame, Role, Shape } from '../frame.js';

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
