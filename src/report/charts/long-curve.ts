/** The learning curve of a run with too many evaluations to draw individually; each column combines several. */

import { apart, formatCount, formatScore, plural } from '../../format/numbers.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { largest } from '../../statistics/descriptive.js';
import type { LoggedProposal } from '../data/proposals.js';
import type { ShownCalls } from '../data/shown-calls.js';
import type { PlotColumn } from './plot.js';

/** The horizontal axis: one slot per evaluation, the warm-up first, then the candidates of each iteration. */
export interface Timeline {
  readonly warmup: number;
  readonly iterations: number;
  readonly candidates: number;
  readonly slots: number;
  slot(place: { readonly iteration: number; readonly candidate: number }): number;
}

/** One evaluation of the learning curve. */
export interface Point {
  readonly entry: BufferEntry;
  readonly at: number;
  readonly best: number;
  /** True for a proposal that beat everything before it. */
  readonly improved: boolean;
  readonly spread: Spread;
}

/** Ends of a whisker in ascending order: outer, inner, inner, outer. */
export type Spread = readonly [number, number, number, number];

/** Maximum number of evaluations drawn individually, each with a mark and a column of its own. */
const mostPoints = 1500;
const mostStretches = 500;

/** Number of slots per column; 1 if each evaluation has its own. */
export function stretchOf({ slots }: Timeline, points: number): number {
  return points <= mostPoints ? 1 : Math.ceil(slots / mostStretches);
}

/** The highest and the lowest evaluation in each column, from left to right. */
export function extremes(points: readonly Point[], stretch: number): readonly Point[] {
  const kept = new Map<number, { low: Point; high: Point }>();
  for (const point of points) {
    const own = kept.get(Math.floor(point.at / stretch));
    if (own === undefined) kept.set(Math.floor(point.at / stretch), { low: point, high: point });
    else if (point.entry.score > own.high.entry.score) own.high = point;
    else if (point.entry.score < own.low.entry.score) own.low = point;
  }
  return [...kept.values()].flatMap(({ low, high }) =>
    low === high ? [low] : low.at < high.at ? [low, high] : [high, low],
  );
}

/** The first item for each key. */
export function firstOfEach<T>(items: readonly T[], keyOf: (item: T) => number): readonly T[] {
  const found = new Map<number, T>();
  for (const item of items) if (!found.has(keyOf(item))) found.set(keyOf(item), item);
  return [...found.values()];
}

/**
 * One column per stretch: lowest and highest score, best so far, and the number of proposals without a result.
 */
export function stretchColumns(
  drawn: readonly Point[],
  curve: {
    readonly lost: readonly LoggedProposal[];
    readonly timeline: Timeline;
    readonly stretch: number;
    readonly link: ShownCalls['link'];
  },
): PlotColumn[] {
  const { link, lost, stretch, timeline } = curve;
  const lostIn = new Map<number, number>();
  for (const proposal of lost) {
    const at = Math.floor(timeline.slot(proposal) / stretch);
    lostIn.set(at, (lostIn.get(at) ?? 0) + 1);
  }
  const columns = new Map<number, Point[]>();
  for (const point of drawn) {
    const at = Math.floor(point.at / stretch);
    columns.set(at, [...(columns.get(at) ?? []), point]);
  }
  return [...columns].map(([at, points]): PlotColumn => {
    const scores = [...new Set(points.map(({ entry }) => entry.score))].toSorted((a, b) => a - b);
    const best = largest(points.map((point) => point.best));
    const asText = apart([...scores, best], formatScore);
    const nothing = lostIn.get(at) ?? 0;
    const href = points.map(({ entry }) => link(entry)).find((found) => found !== undefined);
    return {
      at: at * stretch,
      width: stretch,
      text: `${stretchName(timeline, at * stretch, stretch)}: scores ${[...new Set(scores.map(asText))].join(' to ')}; best so far ${asText(best)}${nothing > 0 ? `; ${plural(nothing, 'proposal')} failed` : ''}`,
      ...(href !== undefined && { href }),
    };
  });
}

function stretchName({ candidates, iterations, warmup }: Timeline, from: number, stretch: number): string {
  const iterationAt = (slot: number) =>
    Math.min(iterations, Math.max(0, Math.floor((slot - warmup) / candidates) + 1));
  const [first, last] = [iterationAt(from), iterationAt(from + stretch - 1)];
  if (last === 0) return 'Warm-up';
  return first === last
    ? `Iteration ${formatCount(first)}`
    : `Iterations ${formatCount(first)} to ${formatCount(last)}`;
}
