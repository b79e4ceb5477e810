/** A teacher: a mixture of moves from evolutionary search, whose best proposals become training data. */

import type { RandomGenerator } from '../../../src/base/random/generator.js';
import type { ParameterSpec, ParameterVector } from '../../../src/policies/policy.js';
import { type Baseline, historyFold, sampleUnseen } from '../../../src/proposers/baseline.js';
import {
  createValueGrid,
  drawOther,
  drawPoint,
  drawPositions,
  isUnordered,
  type ValueGrid,
} from '../../../src/proposers/moves.js';
import { type ScoredParameters, vectorKey } from '../../../src/rollout/replay-buffer.js';
import { mean, standardDeviation } from '../../../src/statistics/descriptive.js';

/** The moves and their probabilities. */
const moves = [
  ['best', 0.28],
  ['sparse', 0.12],
  ['good', 0.12],
  ['direction', 0.14],
  ['away', 0.1],
  ['distribution', 0.1],
  ['crossover', 0.08],
  ['uniform', 0.06],
] as const;
type Move = (typeof moves)[number][0];
const probabilities = moves.map(([, probability]) => probability);

/** Numbers of good points, of best points to fit the distribution to, and of recent points. */
const [goodCount, eliteCount, recentCount] = [8, 5, 4];

interface Past {
  readonly all: ScoredParameters[];
  readonly seen: Set<string>;
  /** The points with the highest scores, best first. The newest wins ties, so the search drifts across plateaus. */
  good: readonly ScoredParameters[];
}

/** The input of a move; `good` is never empty. */
interface Situation extends Omit<Past, 'seen'> {
  readonly spec: ParameterSpec;
  readonly grid: ValueGrid;
  readonly random: RandomGenerator;
}

/**
 * Draws uniformly if there is no history. Each proposal draws its own standard deviation, log-uniformly between a 120th
 * and a quarter of the range (0.1 to 3 for a range of ±6). For tables, a Gaussian step redraws between one and half of
 * the entries (log-uniform), and a direction move copies entries.
 */
export function createTeacher(): Baseline {
  const fold = historyFold<Past>(
    () => ({ all: [], seen: new Set(), good: [] }),
    (past, evaluated) => {
      past.all.push(evaluated);
      past.seen.add(vectorKey(evaluated.parameters));
      past.good = [evaluated, ...past.good].sort((a, b) => b.score - a.score).slice(0, goodCount);
    },
  );
  return {
    propose(task, random) {
      const { all, seen, good } = fold(task);
      const spec = task.parameters;
      const grid = createValueGrid(spec);
      const anywhere = () => drawPoint(grid, spec.count, random);
      if (good.length === 0) return anywhere();
      const situation = { all, good, spec, grid, random };
      const propose = isUnordered(spec) ? proposeTable : proposePoint;
      return sampleUnseen(
        seen,
        (widening) => propose(moves[random.categorical(probabilities)]![0], situation, widening),
        anywhere,
      );
    },
  };
}

function proposePoint(move: Move, situation: Situation, widening: number): ParameterVector {
  const { spec, grid, random, good, all } = situation;
  const unit = (spec.high - spec.low) / 12;
  const best = good[0]!.parameters;
  const onGrid = (values: readonly number[]) => values.map((value) => grid.value(grid.index(value)));
  const sigma = logUniform(0.1, 3, random) * unit * widening;
  const near = (center: ParameterVector, deviation: number) =>
    onGrid(center.map((value) => value + deviation * random.normal()));
  switch (move) {
    case 'best':
      return near(best, sigma);
    case 'good':
      return near(random.choice(good).parameters, sigma);
    case 'sparse': {
      const chosen = drawPositions(spec.count, random.integers(1, 4), random);
      const anew = random.random() < 0.5;
      return onGrid(
        best.map((value, i) => {
          if (!chosen.has(i)) return value;
          return anew ? drawOther(value, grid, random) : value + sigma * random.normal();
        }),
      );
    }
    case 'direction': {
      const { better, worse } = pair(situation);
      const factor = random.uniform(0.3, 1.2) * widening;
      return onGrid(best.map((value, i) => value + factor * (better[i]! - worse[i]!)));
    }
    case 'away': {
      const past = random.choice(all).parameters;
      const factor = random.uniform(0.1, 0.6) * widening;
      return onGrid(best.map((value, i) => value + factor * (value - past[i]!)));
    }
    case 'distribution': {
      const elite = good.slice(0, eliteCount);
      return onGrid(
        best.map((_, i) => {
          const values = elite.map(({ parameters }) => parameters[i]!);
          const deviation = Math.max(standardDeviation(values), 0.2 * unit);
          return mean(values) + deviation * widening * random.normal();
        }),
      );
    }
    case 'crossover':
      return near(cross(situation), 0.2 * unit * widening);
    case 'uniform':
      return drawPoint(grid, spec.count, random);
  }
}

function proposeTable(move: Move, situation: Situation): ParameterVector {
  const { spec, grid, random, good, all } = situation;
  const best = good[0]!.parameters;
  const redraw = (parameters: ParameterVector, chosen: ReadonlySet<number>) =>
    parameters.map((value, i) => (chosen.has(i) ? drawOther(value, grid, random) : value));
  const some = () => Math.round(logUniform(1, Math.max(1, spec.count / 2), random));
  switch (move) {
    case 'best':
      return redraw(best, drawPositions(spec.count, some(), random));
    case 'good':
      return redraw(random.choice(good).parameters, drawPositions(spec.count, some(), random));
    case 'sparse':
      return redraw(best, drawPositions(spec.count, random.integers(1, 4), random));
    case 'direction': {
      const { better, worse } = pair(situation);
      const share = Math.min(1, random.uniform(0.3, 1.2));
      return best.map((value, i) => (better[i] !== worse[i] && random.random() < share ? better[i]! : value));
    }
    case 'away': {
      const past = random.choice(all).parameters;
      const common = best.flatMap((value, i) => (value === past[i] ? [i] : []));
      const chosen = drawPositions(common.length, some(), random);
      return redraw(best, new Set([...chosen].map((position) => common[position]!)));
    }
    case 'distribution': {
      const elite = good.slice(0, eliteCount);
      return best.map((_, i) =>
        random.random() < 0.05
          ? grid.value(random.integers(0, grid.size))
          : random.choice(elite).parameters[i]!,
      );
    }
    case 'crossover': {
      const child = cross(situation);
      return random.random() < 0.5 ? child : redraw(child, drawPositions(spec.count, 1, random));
    }
    case 'uniform':
      return drawPoint(grid, spec.count, random);
  }
}

/** Draws two of the good or recent points, better one first; the same point twice if there is only one. */
function pair({ all, good, random }: Situation) {
  const shown = [...new Set([...good, ...all.slice(-recentCount)])];
  const [a, b] = two(shown, random);
  const [better, worse] = a.score >= b.score ? [a, b] : [b, a];
  return { better: better.parameters, worse: worse.parameters };
}

/** Takes each entry from one of two good points. */
function cross({ good, random }: Situation): ParameterVector {
  const [a, b] = two(good, random);
  return a.parameters.map((value, i) => (random.random() < 0.5 ? value : b.parameters[i]!));
}

function two<T>(items: readonly T[], random: RandomGenerator): readonly [T, T] {
  const first = random.integers(0, items.length);
  const shift = items.length === 1 ? 0 : random.integers(1, items.length);
  return [items[first]!, items[(first + shift) % items.length]!];
}

function logUniform(low: number, high: number, random: RandomGenerator): number {
  return Math.exp(random.uniform(Math.log(low), Math.log(high)));
}
