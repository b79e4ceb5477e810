import type { Frame, Point, Shape } from '../frame.js';

const [left, right] = [-1.3, 0.7];
const floor = -0.15;

/** The car on the hill of y = sin(3x), drawn at 0.45 of its height above 0.55, with a flag at the goal. */
export function drawMountainCar(x: number, goal: number): Frame {
  return {
    view: { min: [left, floor], max: [right, 1.3] },
    shapes: [hill, ...flag(goal), ...car(x)],
  };
}

const height = (x: number) => 0.55 + 0.45 * Math.sin(3 * x);

const hill: Shape = {
  kind: 'polygon',
  points: [
    [left, floor],
    ...Array.from({ length: 81 }, (_, i): Point => {
      const x = left + (i * (right - left)) / 80;
      return [x, height(x)];
    }),
    [right, floor],
  ],
  role: 'ground',
};

function flag(goal: number): readonly Shape[] {
  const foot = height(goal);
  const cloth: readonly Point[] = [
    [goal, foot + 0.25],
    [goal, foot + 0.15],
    [goal + 0.13, foot + 0.2],
  ];
  return [
    {
      kind: 'line',
      points: [
        [goal, foot],
        [goal, foot + 0.25],
      ],
      width: 0.012,
      role: 'guide',
    },
    { kind: 'polygon', points: cloth, role: 'goal' },
  ];
}

/** A body on two wheels, along the slope. */
function car(x: number): readonly Shape[] {
  const slope = Math.atan(1.35 * Math.cos(3 * x));
  const [cos, sin] = [Math.cos(slope), Math.sin(slope)];
  const at = (along: number, above: number): Point => [
    x + along * cos - above * sin,
    height(x) + along * sin + above * cos,
  ];
  const wheel = (along: number): Shape => ({
    kind: 'circle',
    centre: at(along, 0.03),
    radius: 0.03,
    role: 'agent-detail',
  });
  return [
    { kind: 'line', points: [at(-0.06, 0.07), at(0.06, 0.07)], width: 0.06, role: 'agent' },
    wheel(-0.055),
    wheel(0.055),
  ];
}
