import type { Frame, Point, Shape } from '../frame.js';
import { innerWall, outerWall, type Pose } from './navigation-walls.js';

/** The corridor from above, the robot with the way it looks, and what its range finders measure. */
export function drawNavigation(scene: {
  readonly pose: Pose;
  readonly rays: readonly { readonly range: number; readonly yaw: number }[];
  /** Of the robot, m. */
  readonly radius: number;
}): Frame {
  const { pose, rays, radius } = scene;
  const at = (yaw: number, distance: number): Point => [
    pose.x + distance * Math.sin(yaw),
    pose.y + distance * Math.cos(yaw),
  ];
  const centre: Point = [pose.x, pose.y];
  const beams = rays.flatMap(({ range, yaw }): readonly Shape[] => {
    const end = at(yaw, Math.max(0, range));
    return [
      { kind: 'line', points: [centre, end], width: 0.09, role: 'guide' },
      { kind: 'circle', centre: end, radius: 0.18, role: 'object' },
    ];
  });
  return {
    view: { min: [-0.5, -0.5], max: [20.5, 20.5] },
    shapes: [
      { kind: 'polygon', points: innerWall, role: 'ground' },
      { kind: 'line', points: outerWall, width: 0.25, role: 'ground' },
      ...beams,
      { kind: 'circle', centre, radius, role: 'agent' },
      { kind: 'line', points: [centre, at(pose.yaw, 1.6 * radius)], width: 0.2, role: 'agent-detail' },
    ],
  };
}
