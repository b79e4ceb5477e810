import type { Frame, Point, Shape } from '../frame.js';

const axle = 0.25; // m, height of the hinge

/** The cart on its track, m; beyond the marks the episode ends. */
export function drawCartPole(state: {
  readonly x: number;
  /** rad, 0 is upright, positive to the right. */
  readonly angle: number;
  readonly limit: number;
  readonly poleLength: number;
}): Frame {
  const { x, angle, limit, poleLength } = state;
  const reach = limit + 0.6;
  const hinge: Point = [x, axle];
  const tip: Point = [x + poleLength * Math.sin(angle), axle + poleLength * Math.cos(angle)];
  return {
    view: { min: [-reach, -0.4], max: [reach, 1.5] },
    shapes: [
      track([-reach, 0], [reach, 0]),
      ...[-limit, limit].map(
        (end): Shape => ({
          kind: 'line',
          points: [
            [end, -0.15],
            [end, 0.15],
          ],
          width: 0.05,
          role: 'danger',
        }),
      ),
      { kind: 'rectangle', min: [x - 0.3, 0.05], max: [x + 0.3, axle + 0.05], role: 'agent' },
      { kind: 'line', points: [hinge, tip], width: 0.1, role: 'object' },
      { kind: 'circle', centre: hinge, radius: 0.06, role: 'agent-detail' },
    ],
  };
}

function track(from: Point, to: Point): Shape {
  return { kind: 'line', points: [from, to], width: 0.04, role: 'ground' };
}
