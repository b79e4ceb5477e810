import type { Point } from '../frame.js';

/** A place in m and a direction in rad: 0 along y, positive clockwise. */
export interface Pose {
  readonly x: number;
  readonly y: number;
  readonly yaw: number;
}

/** The closed lines on both sides of the corridor, m. */
export const outerWall: readonly Point[] = closed([
  [0, 0],
  [0, 20],
  [20, 20],
  [20, 8.5],
  [11.5, 8.5],
  [11.5, 0],
]);
export const innerWall: readonly Point[] = closed([
  [3, 3],
  [3, 17],
  [17, 17],
  [17, 11.5],
  [8.5, 11.5],
  [8.5, 3],
]);

const farthest = 30; // m, what the range finders see
const segments = [outerWall, innerWall].flatMap((wall) =>
  wall.slice(1).map((to, i): readonly [Point, Point] => [wall[i]!, to]),
);

/** How far the nearest wall is straight ahead, at most 30 m. */
export function distanceToWall({ x, y, yaw }: Pose): number {
  const [dx, dy] = [Math.sin(yaw), Math.cos(yaw)];
  let nearest = farthest;
  for (const [[x1, y1], [x2, y2]] of segments) {
    const [sx, sy] = [x2 - x1, y2 - y1];
    const cross = dx * sy - dy * sx; // 0 where they are parallel
    const along = ((x1 - x) * sy - (y1 - y) * sx) / cross;
    const share = ((x1 - x) * dy - (y1 - y) * dx) / cross; // of the segment
    if (along >= 0 && along < nearest && share >= 0 && share <= 1) nearest = along;
  }
  return nearest;
}

function closed(points: readonly Point[]): readonly Point[] {
  return [...points, points[0]!];
}
