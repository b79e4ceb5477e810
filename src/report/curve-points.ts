import type { BufferEntry } from '../replay-buffer.js';
import { quantile, standardDeviation } from '../statistics.js';
import type { RunData } from './run-data.js';

/** The horizontal axis: one slot an evaluation, the warm-up first, then the candidates of each iteration. */
export interface Timeline {
  readonly warmup: number;
  readonly iterations: number;
  /** Slots an iteration. */
  readonly candidates: number;
  readonly slots: number;
  /** Left edge of a candidate's slot. */
  slot(place: { readonly iteration: number; readonly candidate: number }): number;
}

export function timelineOf(data: RunData): Timeline {
  const warmup = data.entries.filter((entry) => entry.source !== 'proposal').length;
  let iterations = data.manifest.iterations.done;
  let candidates = 1;
  for (const { iteration, candidate } of [...data.calls, ...data.entries.filter(isProposal)]) {
    iterations = Math.max(iterations, iteration);
    candidates = Math.max(candidates, candidate + 1);
  }
  return {
    warmup,
    iterations,
    candidates,
    slots: Math.max(1, warmup + iterations * candidates),
    slot: ({ iteration, candidate }) => warmup + (iteration - 1) * candidates + candidate,
  };
}

/** One evaluation of the learning curve. */
export interface Point {
  readonly entry: BufferEntry;
  /** Left edge of its slot. */
  readonly at: number;
  /** The highest score up to here. */
  readonly best: number;
  /** Whether this is a proposal that passed everything before it. */
  readonly improved: boolean;
  readonly spread: Spread;
}

/** Outer and inner ends of a whisker, ascending. */
type Spread = readonly [number, number, number, number];

/** The evaluations of a run, oldest first. */
export function curvePoints(data: RunData, timeline: Timeline): Point[] {
  const spread = isBinary(data.entries) ? standardError : quartiles;
  let warmup = 0;
  let best = Number.NEGATIVE_INFINITY;
  return data.entries.map((entry) => {
    const improved = isProposal(entry) && entry.score > best;
    best = Math.max(best, entry.score);
    const at = isProposal(entry) ? timeline.slot(entry) : warmup++;
    return { entry, at, best, improved, spread: spread(entry) };
  });
}

/** Whether every episode ended in one of two returns (success or not): quartiles would then tell nothing. */
export function isBinary(entries: readonly BufferEntry[]): boolean {
  const values = new Set<number>();
  for (const entry of entries) {
    for (const value of entry.returns) {
      values.add(value);
      if (values.size > 2) return false;
    }
  }
  return true;
}

function quartiles({ returns, score }: BufferEntry): Spread {
  if (returns.length === 0) return [score, score, score, score];
  const sorted = returns.toSorted((a, b) => a - b);
  return [sorted[0]!, quantile(sorted, 0.25), quantile(sorted, 0.75), sorted.at(-1)!];
}

function standardError({ returns, score }: BufferEntry): Spread {
  const error = returns.length < 2 ? 0 : standardDeviation(returns) / Math.sqrt(returns.length);
  return [score - error, score - error, score + error, score + error];
}

export function isProposal(entry: BufferEntry): boolean {
  return entry.source === 'proposal';
}
