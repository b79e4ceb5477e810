/** Grid search: visits the points of a grid one after another, regardless of their returns. */
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import type { RandomGenerator } from '../random/generator.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import { type Baseline, evaluatedKeys, sampleUnseen, type Task } from './baseline.js';
import { createValueGrid, drawPoint, isTable, type ValueGrid } from './moves.js';
import type { GridConfig } from './settings.js';

/** Maximum number of points in the default first grid, unless two values per parameter already exceed it. */
const mostPoints = 1000;

/** After skipping this many evaluated points in a row, proposes a random point instead. */
const mostSkipped = 10_000;

/**
 * Proposes the points of a grid with `points` values per parameter: the n-th proposal is the n-th point, or the
 * next unevaluated one. Each further grid halves the spacing; when no new values are left, random points
 * follow.
 */
export function createGridSearch(config: GridConfig): Baseline {
  const evaluated = evaluatedKeys();
  const walks = new WeakMap<ParameterSpec, Walk>();
  const walkOf = (spec: ParameterSpec) => {
    const walk = walks.get(spec) ?? createWalk(spec, config);
    walks.set(spec, walk);
    return walk;
  };
  const proposeOne = (task: Task, seen: ReadonlySet<string>, offset: number, random: RandomGenerator) => {
    const walk = walkOf(task.parameters);
    const first = (task.proposed ?? task.history.length - task.warmup) + offset;
    let point = walk(first);
    for (let n = first; point !== undefined && n < first + mostSkipped; point = walk(++n))
      if (!seen.has(vectorKey(point))) return point;
    const draw = () => drawPoint(createValueGrid(task.parameters), task.parameters.count, random);
    return sampleUnseen(seen, draw, draw);
  };
  return {
    propose: (task, random) => proposeOne(task, evaluated(task), 0, random),
    async proposeGroup(task, randoms) {
      const seen = new Set(evaluated(task));
      return randoms.map((random, k) => {
        const point = proposeOne(task, seen, k, random);
        seen.add(vectorKey(point));
        return point;
      });
    },
  };
}

/** Returns the n-th point, 0-based and without duplicates; undefined after the last one. */
type Walk = (n: number) => ParameterVector | undefined;

function createWalk(spec: ParameterSpec, { order, points }: GridConfig): Walk {
  const grid = createValueGrid(spec);
  const first = Math.min(grid.size, isTable(spec) ? grid.size : (points ?? defaultPoints(spec.count)));
  const levels: Level[] = [];
  const levelAt = (depth: number): Level | undefined => {
    const known = levels[depth];
    if (known !== undefined) return known;
    const before = levels[depth - 1];
    // The previous grid already contains all values.
    if (before !== undefined && before.indices.length === grid.size) return undefined;
    const size = before === undefined ? first : Math.max(2, 2 * before.indices.length - 1);
    const level = createLevel(spec.count, indicesOf(grid, size), before, order);
    levels.push(level);
    return level;
  };
  return (n) => {
    let left = n;
    for (let depth = 0; ; depth++) {
      const level = levelAt(depth);
      if (level === undefined) return undefined;
      if (BigInt(left) < level.size) return level.point(left).map((index) => grid.value(index));
      left -= Number(level.size);
    }
  };
}

/** The largest number of values per parameter for which the grid stays within `mostPoints`; at least 2. */
function defaultPoints(count: number): number {
  let points = 2;
  while ((points + 1) ** count <= mostPoints) points++;
  return points;
}

/** Grid indices of `wanted` values, evenly spaced from lowest to highest; all values if there are fewer. */
function indicesOf({ size }: ValueGrid, wanted: number): readonly number[] {
  if (wanted >= size) return Array.from({ length: size }, (_, i) => i);
  if (wanted === 1) return [0];
  return Array.from({ length: wanted }, (_, i) => Math.round((i * (size - 1)) / (wanted - 1)));
}

/** The points of a grid that aren't in the previous, coarser grid. */
interface Level {
  /** Values of each parameter, as indices into the full grid. */
  readonly indices: readonly number[];
  readonly size: bigint;
  point(n: number): readonly number[];
}

function createLevel(
  count: number,
  indices: readonly number[],
  before: Level | undefined,
  order: GridConfig['order'],
): Level {
  const base = BigInt(indices.length);
  const all = base ** BigInt(count);
  const coarse = new Set(before?.indices);
  const known =
    before === undefined ? 0n : BigInt(indices.filter((i) => coarse.has(i)).length) ** BigInt(count);
  const stride = order === 'rows' ? 1n : spreadStride(all);
  const start = order === 'rows' ? 0n : stride / 2n;
  const at = (step: bigint): readonly number[] => {
    let rest = (start + step * stride) % all;
    const digits = new Array<number>(count);
    for (let d = count - 1; d >= 0; d--) {
      digits[d] = indices[Number(rest % base)]!;
      rest /= base;
    }
    return digits;
  };
  const isNew = (point: readonly number[]) => before === undefined || point.some((i) => !coarse.has(i));
  /** Offsets of the new points that have been found so far. */
  const steps: bigint[] = [];
  let next = 0n;
  return {
    indices,
    size: all - known,
    point(n) {
      if (before === undefined) return at(BigInt(n));
      for (; steps.length <= n; next++) if (isNew(at(next))) steps.push(next);
      return at(steps[n]!);
    },
  };
}

/**
 * A number near 0.618·`all` and coprime to it. Its multiples modulo `all` visit every point once, and the first ones
 * are far apart.
 */
function spreadStride(all: bigint): bigint {
  let stride = (all * 618_034n) / 1_000_000n || 1n;
  while (greatestCommonDivisor(stride, all) !== 1n) stride++;
  return stride;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}
