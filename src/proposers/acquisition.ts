/** Acquisition function: expected improvement, and a search for the point that maximises it. */

import normalCdf from '@stdlib/stats-base-dists-normal-cdf';
import type { RandomGenerator } from '../base/random/generator.js';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import { largest } from '../statistics/descriptive.js';
import { drawOther, drawPoint, drawPositions, isUnordered, type ValueGrid } from './moves.js';

/**
 * Computes log E max(0, Y − best) for a normal Y. Ranks points even if the improvement itself underflows (S.
 * Ament et al., “Unexpected Improvements to Expected Improvement for Bayesian Optimization”, NeurIPS 2023).
 * @param variance may be 0; the improvement is then positive only if the mean is above `best`
 */
export function logExpectedImprovement(mean: number, variance: number, best: number): number {
  const deviation = Math.sqrt(variance);
  if (deviation === 0) return Math.log(Math.max(0, mean - best));
  const u = (mean - best) / deviation;
  const logDensity = -(u * u) / 2 - Math.log(2 * Math.PI) / 2;
  if (u > -10) return Math.log(deviation) + Math.log(Math.exp(logDensity) + u * normalCdf(u, 0, 1));
  // φ(u) + u·Φ(u) = φ(u)·(1/u² − 3/u⁴ + 15/u⁶ − 105/u⁸ …)
  const w = 1 / (u * u);
  return Math.log(deviation) + logDensity + Math.log(w * (1 - w * (3 - w * (15 - w * 105))));
}

/** Computes the logarithm of the mean of exp(x) without overflow. */
export function logMeanExp(logarithms: readonly number[]): number {
  const maximum = largest(logarithms);
  if (maximum === Number.NEGATIVE_INFINITY) return maximum;
  const sum = logarithms.reduce((total, one) => total + Math.exp(one - maximum), 0);
  return maximum + Math.log(sum / logarithms.length);
}

export interface AcquisitionTask {
  readonly spec: ParameterSpec;
  readonly grid: ValueGrid;
  /** The best points so far, around which to sample. */
  readonly best: readonly ParameterVector[];
  /** Keys of points to avoid: evaluated, or already chosen for the same group. */
  readonly seen: ReadonlySet<string>;
  acquisition(parameters: ParameterVector): number;
}

/** Numbers of uniform samples, of steps per best point and step size, and of redrawn samples per best point. */
const [uniformCount, countPerStep, redrawnCount] = [600, 100, 150];
/** Standard deviations of steps, as a share of half the range: around the best points, and in each refinement round. */
const deviations = [0.05, 0.15, 0.4];
const finerDeviations = [0.1, 0.05, 0.03];
const redrawProbability = 0.3;
/** Number of points kept for refinement, and number of neighbours sampled per point and round. */
const [keptCount, neighborCount] = [10, 40];

/** Returns the unseen sample with the highest acquisition value; a random point if all have been seen. */
export function maximize(task: AcquisitionTask, random: RandomGenerator): ParameterVector {
  const { best, grid, spec } = task;
  const drawAnywhere = () => drawPoint(grid, spec.count, random);
  const moves = isUnordered(spec) ? tableMoves(task, random) : pointMoves(task, random);
  const drawn = [
    ...Array.from({ length: uniformCount }, drawAnywhere),
    ...best.flatMap((from) => moves.coarse.flatMap(({ count, move }) => repeat(count, () => move(from)))),
  ];
  let points = keepBest(task, drawn, new Map());
  for (const move of moves.fine) {
    const neighbors = points.flatMap(({ parameters }) => repeat(neighborCount, () => move(parameters)));
    points = keepBest(task, neighbors, new Map(points.map((one) => [vectorKey(one.parameters), one])));
  }
  return points[0]?.parameters ?? drawAnywhere();
}

type PointMove = (from: ParameterVector) => ParameterVector;
interface Moves {
  readonly coarse: readonly { readonly count: number; readonly move: PointMove }[];
  readonly fine: readonly PointMove[];
}

function pointMoves({ grid, spec }: AcquisitionTask, random: RandomGenerator): Moves {
  const halfWidth = (spec.high - spec.low) / 2;
  const step =
    (deviation: number): PointMove =>
    (from) =>
      from.map((value) => grid.value(grid.index(value + deviation * halfWidth * random.normal())));
  return {
    coarse: [
      ...deviations.map((deviation) => ({ count: countPerStep, move: step(deviation) })),
      { count: redrawnCount, move: redrawMove(grid, random) },
    ],
    fine: finerDeviations.map(step),
  };
}

function tableMoves({ grid, spec }: AcquisitionTask, random: RandomGenerator): Moves {
  const redraw =
    (maxCount: number): PointMove =>
    (from) => {
      const chosen = drawPositions(spec.count, random.integers(1, maxCount + 1), random);
      return from.map((value, i) => (chosen.has(i) ? drawOther(value, grid, random) : value));
    };
  return {
    coarse: [
      { count: deviations.length * countPerStep, move: redraw(3) },
      { count: redrawnCount, move: redrawMove(grid, random) },
    ],
    fine: finerDeviations.map(() => redraw(1)),
  };
}

const redrawMove =
  (grid: ValueGrid, random: RandomGenerator): PointMove =>
  (from) =>
    from.map((value) =>
      random.random() < redrawProbability ? grid.value(random.integers(0, grid.size)) : value,
    );

interface ValuedPoint {
  readonly parameters: ParameterVector;
  readonly value: number;
}

/** Adds the unseen points to the known ones and returns the `keptCount` best; earlier ones win ties. */
function keepBest(
  { seen, acquisition }: AcquisitionTask,
  points: readonly ParameterVector[],
  known: Map<string, ValuedPoint>,
): readonly ValuedPoint[] {
  for (const parameters of points) {
    const key = vectorKey(parameters);
    if (!seen.has(key) && !known.has(key)) known.set(key, { parameters, value: acquisition(parameters) });
  }
  return [...known.values()].sort((a, b) => b.value - a.value).slice(0, keptCount);
}

const repeat = <T>(count: number, make: () => T): readonly T[] => Array.from({ length: count }, make);
