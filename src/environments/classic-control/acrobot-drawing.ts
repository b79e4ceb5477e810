import type { Frame, Point } from '../frame.js';

/** Both links, m, and the bar that the tip is to pass; angles as in the state: 0 hangs down, the second relative to the first. */
export function drawAcrobot(angle1: number, angle2: number): Frame {
  const elbow: Point = [Math.sin(angle1), -Math.cos(angle1)];
  const tip: Point = [elbow[0] + Math.sin(angle1 + angle2), elbow[1] - Math.cos(angle1 + angle2)];
  return {
    view: { min: [-2.2, -2.2], max: [2.2, 2.2] },
    shapes: [
      {
        kind: 'line',
        points: [
          [-2.2, 1],
          [2.2, 1],
        ],
        width: 0.04,
        role: 'goal',
      },
      { kind: 'line', points: [[0, 0], elbow], width: 0.2, role: 'agent' },
      { kind: 'line', points: [elbow, tip], width: 0.2, role: 'agent' },
      { kind: 'circle', centre: [0, 0], radius: 0.08, role: 'agent-detail' },
      { kind: 'circle', centre: elbow, radius: 0.08, role: 'agent-detail' },
      { kind: 'circle', centre: tip, radius: 0.08, role: 'object' },
    ],
  };
}
