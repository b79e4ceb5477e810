/**
 * Covariance matrix adaptation evolution strategy: N. Hansen, “The CMA Evolution Strategy: A Tutorial”
 * (arXiv:1604.00772); equation numbers below refer to the tutorial. With many parameters, only the diagonal is adapted:
 * R. Ros and N. Hansen, “A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity” (PPSN 2008).
 */
import { createGenerator } from '../base/random/generator.js';
import type { CmaEsConfig } from '../config/baselines.js';
import { type ScoredParameters, vectorKey } from '../rollout/replay-buffer.js';
import { largest, sum } from '../statistics/descriptive.js';
import { type Baseline, historyFold, type SearchTask, sampleUnseen } from './baseline.js';
import { type Covariance, createDiagonalCovariance, createFullCovariance } from './covariance.js';
import { createValueGrid, drawPoint, type ValueGrid } from './moves.js';

/** With more parameters than this, only the diagonal of the covariance matrix is adapted. */
const fullCovarianceLimit = 100;
/** A distribution counts as degenerate if its longest axis is at least this many times as long as its shortest. */
const maxAxisRatio = 1e7;

/** Constants derived from the number of parameters and the population size. */
interface Strategy {
  readonly population: number;
  /** Weights of the ranked candidates, best first; the positive ones sum to 1. */
  readonly weights: readonly number[];
  readonly effectiveParents: number;
  /** Learning rates of the two evolution paths and of the rank-one and rank-μ updates. */
  readonly pathRate: number;
  readonly stepPathRate: number;
  readonly rankOneRate: number;
  readonly rankMuRate: number;
  readonly stepDamping: number;
  /** Expected length of a standard normal vector. */
  readonly meanLength: number;
}

/** The search distribution N(mean, sigma² C) and its evolution paths. */
interface Distribution {
  mean: readonly number[];
  sigma: number;
  readonly covariance: Covariance;
  path: readonly number[];
  stepPath: readonly number[];
  generations: number;
  /** The best score of a generation that moved this distribution, and that generation's number. */
  best: number;
  bestGeneration: number;
}

interface SearchState {
  readonly task: SearchTask;
  /** Initial standard deviation. */
  readonly sigma: number;
  readonly grid: ValueGrid;
  readonly strategy: Strategy;
  readonly seen: Set<string>;
  warmupBest: number;
  distribution: Distribution;
  generation: ScoredParameters[];
}

/**
 * Starts at the best point of the warm-up, or at the centre of the range if there is no warm-up or `start` is `centre`.
 * The distribution is updated after every generation, from the samples as rounded to allowed values. A generation
 * consists of whole iterations, because all samples of an iteration come from one distribution. The search restarts
 * from a random point if the distribution is degenerate, or as narrow as the value grid without recent improvement.
 * @param candidates number of proposals per iteration
 */
export function createCmaEs(config: CmaEsConfig, candidates = 1): Baseline {
  const fold = historyFold<SearchState>(
    (task) => startSearch(task, config, candidates),
    (search, entry, index) => {
      search.seen.add(vectorKey(entry.parameters));
      if (index < search.task.warmup) {
        if (config.start !== 'centre' && entry.score > search.warmupBest) {
          search.warmupBest = entry.score;
          search.distribution.mean = entry.parameters;
        }
        return;
      }
      search.generation.push(entry);
      if (search.generation.length < search.strategy.population) return;
      update(search);
      if (isExhausted(search)) {
        const mean = drawPoint(search.grid, search.task.parameters.count, createGenerator(index));
        search.distribution = createDistribution(mean, search.sigma);
      }
      search.generation = [];
    },
  );
  return {
    propose(task, random) {
      const { seen, grid, distribution } = fold(task);
      const { mean, sigma, covariance } = distribution;
      return sampleUnseen(
        seen,
        (widening) => {
          const y = covariance.color(mean.map(() => random.normal()));
          return mean.map((value, i) => grid.value(grid.index(value + sigma * widening * y[i]!)));
        },
        () => drawPoint(grid, mean.length, random),
      );
    },
  };
}

/** Defaults, tuned as described in docs/results/tasks.md; `share` is sigma as a share of the range. */
const tuningDefaults = { share: 1 / 3, population: 6 } as const;

function startSearch(task: SearchTask, config: CmaEsConfig, candidates: number): SearchState {
  const { count, low, high } = task.parameters;
  const sigma = config.sigma ?? tuningDefaults.share * (high - low);
  const population = candidates * Math.ceil((config.population ?? tuningDefaults.population) / candidates);
  return {
    task,
    sigma,
    grid: createValueGrid(task.parameters),
    strategy: strategyFor(count, population),
    seen: new Set(),
    warmupBest: Number.NEGATIVE_INFINITY,
    distribution: createDistribution(Array<number>(count).fill((low + high) / 2), sigma),
    generation: [],
  };
}

function createDistribution(mean: readonly number[], sigma: number): Distribution {
  const n = mean.length;
  const zeros = mean.map(() => 0);
  return {
    mean,
    sigma,
    covariance: n > fullCovarianceLimit ? createDiagonalCovariance(n) : createFullCovariance(n),
    path: zeros,
    stepPath: zeros,
    generations: 0,
    best: Number.NEGATIVE_INFINITY,
    bestGeneration: 0,
  };
}

/** True if the search should restart: the distribution is degenerate, or narrow without recent improvement. */
function isExhausted({ distribution, grid }: SearchState): boolean {
  const { mean, sigma, covariance, generations, bestGeneration } = distribution;
  const isNarrow = sigma * largest(covariance.deviations) < 2 * grid.step;
  const patience = 10 + mean.length;
  return !(covariance.axisRatio < maxAxisRatio) || (isNarrow && generations - bestGeneration >= patience);
}

/** Processes one generation: ranks the candidates and updates the distribution; on a plateau, only its step size. */
function update({ distribution, strategy, generation, task }: SearchState): void {
  const { low, high } = task.parameters;
  const ranked = generation.toSorted((a, b) => b.score - a.score);
  const { stepPathRate, stepDamping, meanLength } = strategy;
  const widen = (exponent: number) => {
    distribution.sigma = Math.min(distribution.sigma * Math.exp(exponent), high - low);
  };
  if (ranked[0]!.score === ranked.at(-1)!.score) {
    // On a plateau, candidates can't be ranked, so widen the search (the tutorial's advice for flat fitness).
    widen(0.2 + stepPathRate / stepDamping);
    return;
  }
  distribution.generations++;
  if (ranked[0]!.score > distribution.best) {
    distribution.best = ranked[0]!.score;
    distribution.bestGeneration = distribution.generations;
  }
  const ownSteps = ranked.map(({ parameters }) =>
    parameters.map((value, i) => (value - distribution.mean[i]!) / distribution.sigma),
  );
  const steps = task.shared ? ownSteps.map((step) => shortenStep(step, distribution.covariance)) : ownSteps;
  adaptDistribution(distribution, strategy, steps);
  widen((stepPathRate / stepDamping) * (norm(distribution.stepPath) / meanLength - 1));
}

/** Shortens long steps, which may come from another proposer (N. Hansen, arXiv:1110.4181, section 3). */
function shortenStep(step: readonly number[], covariance: Covariance): readonly number[] {
  const n = step.length;
  const longest = Math.sqrt(n) + (2 * n) / (n + 2);
  const length = norm(covariance.whiten(step));
  return length <= longest ? step : step.map((value) => (value * longest) / length);
}

function adaptDistribution(
  distribution: Distribution,
  strategy: Strategy,
  steps: readonly (readonly number[])[],
): void {
  const { mean, sigma, covariance, path, stepPath, generations } = distribution;
  const { weights, effectiveParents, pathRate, stepPathRate, rankOneRate, rankMuRate, meanLength } = strategy;
  const n = mean.length;

  // Equations (41) and (42).
  const step = mean.map((_, i) => sum(steps.map((y, k) => Math.max(weights[k]!, 0) * y[i]!)));
  distribution.mean = mean.map((value, i) => value + sigma * step[i]!);

  // Equation (43).
  const whitened = covariance.whiten(step);
  const stepGain = Math.sqrt(stepPathRate * (2 - stepPathRate) * effectiveParents);
  distribution.stepPath = stepPath.map((value, i) => (1 - stepPathRate) * value + stepGain * whitened[i]!);

  // Equation (45). A long step path stalls the other path, so that C doesn't grow too fast while sigma is too small.
  const expected = Math.sqrt(1 - (1 - stepPathRate) ** (2 * generations)) * (1.4 + 2 / (n + 1)) * meanLength;
  const isMoving = norm(distribution.stepPath) < expected;
  const gain = isMoving ? Math.sqrt(pathRate * (2 - pathRate) * effectiveParents) : 0;
  distribution.path = path.map((value, i) => (1 - pathRate) * value + gain * step[i]!);

  // Equations (46) and (47).
  const rankMu = steps.map((y, k) => {
    const weight = weights[k]!;
    if (weight >= 0) return { weight: rankMuRate * weight, y };
    const length = norm(covariance.whiten(y));
    return { weight: length === 0 ? 0 : (rankMuRate * weight * n) / length ** 2, y };
  });
  const lostVariance = isMoving ? 0 : rankOneRate * pathRate * (2 - pathRate);
  covariance.update(1 + lostVariance - rankOneRate - rankMuRate * sum(weights), [
    { weight: rankOneRate, y: distribution.path },
    ...rankMu,
  ]);
}

/** Returns the tutorial's default parameters (table 1). */
function strategyFor(n: number, population: number): Strategy {
  const firstWeight = Math.log((population + 1) / 2);
  const rawWeights = Array.from({ length: population }, (_, i) => firstWeight - Math.log(i + 1));
  const parentWeights = rawWeights.slice(0, Math.floor(population / 2));
  const restWeights = rawWeights.slice(parentWeights.length);
  const effectiveParents = sum(parentWeights) ** 2 / sum(parentWeights.map((w) => w ** 2));
  const effectiveRest = sum(restWeights) ** 2 / sum(restWeights.map((w) => w ** 2));

  // The diagonal has fewer values, so it can be learned faster (Ros and Hansen).
  const speed = n > fullCovarianceLimit ? (n + 2) / 3 : 1;
  const rankOneRate = speed * (2 / ((n + 1.3) ** 2 + effectiveParents));
  const rankMuRate = Math.min(
    1 - rankOneRate,
    speed * ((2 * (1 / 4 + effectiveParents + 1 / effectiveParents - 2)) / ((n + 2) ** 2 + effectiveParents)),
  );
  const stepPathRate = (effectiveParents + 2) / (n + effectiveParents + 5);

  // Equations (50) to (53).
  const negativeTotal = Math.min(
    1 + rankOneRate / rankMuRate,
    1 + (2 * effectiveRest) / (effectiveRest + 2),
    (1 - rankOneRate - rankMuRate) / (n * rankMuRate),
  );
  const positiveSum = sum(rawWeights.filter((w) => w >= 0));
  const negativeSum = -sum(rawWeights.filter((w) => w < 0));
  return {
    population,
    weights: rawWeights.map((w) => (w >= 0 ? w / positiveSum : (negativeTotal * w) / negativeSum)),
    effectiveParents,
    pathRate: (4 + effectiveParents / n) / (n + 4 + (2 * effectiveParents) / n),
    stepPathRate,
    rankOneRate,
    rankMuRate,
    stepDamping: 1 + 2 * Math.max(0, Math.sqrt((effectiveParents - 1) / (n + 1)) - 1) + stepPathRate,
    meanLength: Math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n ** 2)),
  };
}

const norm = (vector: readonly number[]) => Math.sqrt(sum(vector.map((value) => value ** 2)));
