import type { RandomGenerator } from '../../base/random/generator.js';
import {
  type DiscreteSpace,
  type Observation,
  symmetricBox,
  type Task,
  type TaskStep,
} from '../environment.js';
import { circle, type Frame, line, type Point, polygon, polyline } from '../frame.js';

/** A position in m and a heading in rad: 0 points along y, clockwise is positive. */
interface Pose {
  readonly x: number;
  readonly y: number;
  readonly yaw: number;
}

/** The closed walls on both sides of the corridor, in m. */
const outerWall = closedLine([0, 0, 20, 20, 11.5, 11.5], [0, 20, 20, 8.5, 8.5, 0]);
const innerWall = closedLine([3, 3, 17, 17, 8.5, 8.5], [3, 17, 17, 11.5, 11.5, 3]);

const maxDistance = 30; // m, maximum range of the range finders
const segments = [outerWall, innerWall].flatMap((wall) =>
  wall.slice(1).map((to, i): readonly [Point, Point] => [wall[i]!, to]),
);

function distanceToWall({ x, y, yaw }: Pose): number {
  const [dx, dy] = [Math.sin(yaw), Math.cos(yaw)];
  let nearest = maxDistance;
  for (const [[x1, y1], [x2, y2]] of segments) {
    const [sx, sy] = [x2 - x1, y2 - y1];
    const cross = dx * sy - dy * sx; // 0 if parallel
    const along = ((x1 - x) * sy - (y1 - y) * sx) / cross;
    const share = ((x1 - x) * dy - (y1 - y) * dx) / cross; // fraction along the segment
    if (along >= 0 && along < nearest && share >= 0 && share <= 1) nearest = along;
  }
  return nearest;
}

function closedLine(xs: readonly number[], ys: readonly number[]): readonly Point[] {
  const points = xs.map((x, i): Point => [x, ys[i]!]);
  return [...points, points[0]!];
}

const { PI } = Math;
const noise = 0.02; // standard deviation of turns (rad), moves (m) and ranges (m)
const collisionRange = 0.4; // m

/** Directions of the range finders relative to the heading, in rad, from left to right. */
const rayAngles = [-PI / 2, -PI / 4, 0, PI / 4, PI / 2] as const;

type Range = readonly [number, number];

/** Start positions: the centre line of each stretch of the corridor, as ranges of x and y. */
const starts: readonly { readonly x: Range; readonly y: Range }[] = [
  { x: [1.5, 1.5], y: [1.5, 18.5] },
  { x: [1.5, 18.5], y: [18.5, 18.5] },
  { x: [18.5, 18.5], y: [10, 18.5] },
  { x: [10, 18.5], y: [10, 10] },
  { x: [10, 10], y: [1.5, 10] },
  { x: [1.5, 10], y: [1.5, 1.5] },
];

/** The actions forward, right and left: distance (m), turn (rad) and reward. */
const moves = [
  { distance: 0.2, turn: 0, reward: 5 },
  { distance: 0.04, turn: 0.2, reward: -0.5 },
  { distance: 0.04, turn: -0.2, reward: -0.5 },
] as const;

/**
 * A robot with five range finders in a 3 m wide corridor around an L-shaped block (track 1 of gym-navigation,
 * written from its description). Moves, turns and ranges are noisy. Observation: distance to the nearest wall
 * at −90, −45, 0, 45 and 90 degrees (negative is left), in m. Action: 0 moves forward 0.2 m; 1 turns right
 * and 2 turns left by 0.2 rad while moving 0.04 m. Reward: 5 for moving forward, −0.5 for turning; a range
 * below 0.4 m gives −200 instead and ends the episode.
 */
export class NavigationTrack implements Task<number> {
  /** Unbounded, because noise is added to the ranges of 0 to 30 m. */
  readonly observationSpace = symmetricBox(rayAngles.length, Number.POSITIVE_INFINITY, 'float64');
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: moves.length };
  #random!: RandomGenerator;
  #pose: Pose = { x: 0, y: 0, yaw: 0 };
  #ranges: readonly number[] = [];

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    const { x, y } = random.choice(starts);
    this.#pose = { x: random.uniform(...x), y: random.uniform(...y), yaw: random.uniform(-PI, PI) };
    return this.#measure();
  }

  step(action: number): TaskStep {
    const { distance, turn, reward } = moves[action]!;
    const noisyTurn = turn + this.#random.normal(0, noise);
    const noisyDistance = Math.abs(distance + this.#random.normal(0, noise));
    const { x, y, yaw } = this.#pose;
    this.#pose = {
      x: x + noisyDistance * Math.sin(yaw),
      y: y + noisyDistance * Math.cos(yaw),
      yaw: wrapAngle(yaw + noisyTurn),
    };
    const observation = this.#measure();
    const collided = observation.some((range) => range < collisionRange);
    return { observation, reward: collided ? -200 : reward, terminated: collided };
  }

  frame(): Frame {
    const { x, y, yaw } = this.#pose;
    const center: Point = [x, y];
    const pointAt = (angle: number, distance: number): Point => [
      x + distance * Math.sin(yaw + angle),
      y + distance * Math.cos(yaw + angle),
    ];
    const beams = this.#ranges.flatMap((range, i) => {
      const end = pointAt(rayAngles[i]!, Math.max(0, range));
      return [line(center, end, 0.09, 'guide'), circle(end, 0.18, 'object')];
    });
    return {
      view: { min: [-0.5, -0.5], max: [20.5, 20.5] },
      shapes: [
        polygon(innerWall, 'ground'),
        polyline(outerWall, 0.25, 'ground'),
        ...beams,
        circle(center, collisionRange, 'agent'),
        line(center, pointAt(0, 1.6 * collisionRange), 0.2, 'agent-detail'),
      ],
    };
  }

  #measure(): number[] {
    const { x, y, yaw } = this.#pose;
    const ranges = rayAngles.map((angle) => distanceToWall({ x, y, yaw: yaw + angle }));
    const noisyRanges = ranges.map((range) => range + this.#random.normal(0, noise));
    this.#ranges = noisyRanges;
    return [...noisyRanges];
  }
}

/** Wraps an angle to [-π, π]. */
function wrapAngle(angle: number): number {
  if (angle > PI) return angle - 2 * PI;
  return angle < -PI ? angle + 2 * PI : angle;
}
