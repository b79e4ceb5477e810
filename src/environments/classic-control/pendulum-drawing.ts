import type { Frame, Point } from '../frame.js';

/** The rod, m; the angle 0 is upright and positive to the left, as a positive torque turns it. */
export function drawPendulum(angle: number): Frame {
  const tip: Point = [-Math.sin(angle), Math.cos(angle)];
  return {
    view: { min: [-1.3, -1.3], max: [1.3, 1.3] },
    shapes: [
      { kind: 'circle', centre: [0, 1], radius: 0.16, role: 'goal' },
      { kind: 'line', points: [[0, 0], tip], width: 0.18, role: 'agent' },
      { kind: 'circle', centre: [0, 0], radius: 0.05, role: 'agent-detail' },
    ],
  };
}
