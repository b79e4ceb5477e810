/**
 * Bayesian optimisation with a Gaussian process and expected improvement, applied to the ranks of returns: D.
 * R. Jones et al., “Efficient Global Optimization of Expensive Black-Box Functions” (1998).
 */
import normalQuantile from '@stdlib/stats-base-dists-normal-quantile';
import { createGenerator, type RandomGenerator, shuffled } from '../base/random/generator.js';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import { type ScoredParameters, vectorKey } from '../rollout/replay-buffer.js';
import { mean, standardDeviation } from '../statistics/descriptive.js';
import { logExpectedImprovement, logMeanExp, maximize } from './acquisition.js';
import type { Baseline, SearchTask } from './baseline.js';
import {
  type Hyperparameters,
  negativeLogPosterior,
  type Observations,
  type Posterior,
  posteriorOf,
  priorOf,
} from './gaussian-process.js';
import { minimize } from './lbfgs.js';
import { createValueGrid, isUnordered } from './moves.js';

/** Number of best points around which to sample. */
const bestCount = 5;
/** Maximum number of parameters for which each gets its own length scale; above this, all share one. */
const maxLengthScales = 24;
const fitIterations = 8;
/** Number of evaluations between refits, for short and for long histories. */
const [refitEvery, refitSeldom] = [3, 10];
/** A history with more than `above` entries is thinned to the best, the latest, and a random sample of the rest. */
const thinning = { above: 200, best: 100, latest: 50 } as const;

/**
 * Each fit starts from the prior's mean, so a resumed run gets the same results. With few parameters and enough points,
 * two processes are averaged: one has a length scale per parameter; the other has a single length scale, which suits
 * rotated problems better.
 */
export function createGp(): Baseline {
  const fitPosteriors = createPosteriorFitter();
  const proposeGroup = async (task: SearchTask, randoms: readonly RandomGenerator[]) =>
    chooseAll(task, await fitPosteriors(task), randoms);
  return {
    propose: async (task, random) => (await proposeGroup(task, [random]))[0]!,
    proposeGroup,
  };
}

/** Creates a function that fits processes to returns; none if all returns are equal or were equal at the last fit. */
function createPosteriorFitter(): (task: SearchTask) => Promise<readonly Posterior[]> {
  let last: { readonly key: string; readonly fits: readonly Hyperparameters[] } | undefined;
  const cachedFits = async (task: SearchTask, count: number) => {
    const entries = thinOut(task.history.slice(0, count));
    const key = JSON.stringify([task.parameters, entries]);
    if (last?.key !== key) last = { key, fits: await fitProcesses(task, entries) };
    return last.fits;
  };
  return async (task) => {
    const { history, warmup } = task;
    const sinceFit = (history.length - warmup) % (history.length > thinning.above ? refitSeldom : refitEvery);
    const entries = thinOut(history);
    if (isFlat(entries)) return [];
    const fits = await cachedFits(task, history.length - sinceFit);
    const observations = observationsOf(task, entries);
    return fits.map((hyperparameters) => posteriorOf(observations, hyperparameters));
  };
}

const isFlat = (all: readonly ScoredParameters[]) => all.every(({ score }) => score === all[0]!.score);

/** Selects the evaluations used for fitting, oldest first. */
function thinOut(history: readonly ScoredParameters[]): readonly ScoredParameters[] {
  const { above, best, latest } = thinning;
  if (history.length <= above) return history;
  const ranked = history.map((_, i) => i).sort((a, b) => history[b]!.score - history[a]!.score || b - a);
  const alwaysKept = new Set([...ranked.slice(0, best), ...history.map((_, i) => i).slice(-latest)]);
  const others = ranked.filter((i) => !alwaysKept.has(i));
  const drawn = shuffled(others, createGenerator(history.length)).slice(0, above - alwaysKept.size);
  const keptIndices = new Set([...alwaysKept, ...drawn]);
  return history.filter((_, i) => keptIndices.has(i));
}

/** Fits a process with a shared length scale and, with few parameters and enough points, one with a scale for each. */
async function fitProcesses(
  task: SearchTask,
  entries: readonly ScoredParameters[],
): Promise<Hyperparameters[]> {
  // All returns may still have been equal when the last fit was due.
  if (isFlat(entries)) return [];
  const observations = observationsOf(task, entries);
  const { count } = task.parameters;
  const prior = priorOf(count, task.noisy === true);
  const scaleCounts = count <= maxLengthScales && entries.length >= 2 * count && count > 1 ? [1, count] : [1];
  const fits: Hyperparameters[] = [];
  const evaluate = async (x: Float64Array) => negativeLogPosterior(observations, x, prior);
  for (const scaleCount of scaleCounts) {
    const scales = Array<number>(scaleCount).fill(prior.length.mean);
    const start = Float64Array.from([...scales, prior.noise.mean]);
    fits.push((await minimize(evaluate, start, fitIterations)).x);
  }
  return fits;
}

/** Chooses each point of a group as if the earlier ones had returned their expected results. */
function chooseAll(
  task: SearchTask,
  initialPosteriors: readonly Posterior[],
  randoms: readonly RandomGenerator[],
): readonly ParameterVector[] {
  const { history, parameters: spec, noisy } = task;
  const grid = createValueGrid(spec);
  const seen = new Set(history.map(({ parameters }) => vectorKey(parameters)));
  let posteriors = initialPosteriors;
  const estimate = noisy
    ? ({ parameters }: ScoredParameters) =>
        mean(initialPosteriors.map((one) => one.predict(scalePoint(parameters, spec)).mean))
    : ({ score }: ScoredParameters) => score;
  const best = bestPoints(history, estimate);
  return randoms.map((random) => {
    const improvement = improvementOf(posteriors, spec);
    const parameters = maximize({ spec, grid, best, seen, acquisition: improvement }, random);
    seen.add(vectorKey(parameters));
    posteriors = posteriors.map((one) => one.withBelief(scalePoint(parameters, spec)));
    return parameters;
  });
}

/** Creates a function for the log of the mean expected improvement over the processes; 0 if there are none. */
function improvementOf(processes: readonly Posterior[], spec: ParameterSpec) {
  if (processes.length === 0) return () => 0;
  return (parameters: ParameterVector) => {
    const point = scalePoint(parameters, spec);
    return logMeanExp(
      processes.map((one) => {
        const { mean: expected, variance } = one.predict(point);
        return logExpectedImprovement(expected, variance, one.highestMean);
      }),
    );
  };
}

/** Finds the `bestCount` best distinct points; the newest wins ties. */
function bestPoints(
  history: readonly ScoredParameters[],
  estimate: (entry: ScoredParameters) => number,
): readonly ParameterVector[] {
  const points = new Map<string, { readonly parameters: ParameterVector; readonly value: number }>();
  for (const entry of history.toReversed()) {
    const key = vectorKey(entry.parameters);
    if (!points.has(key)) points.set(key, { parameters: entry.parameters, value: estimate(entry) });
  }
  const ranked = [...points.values()].sort((a, b) => b.value - a.value);
  return ranked.slice(0, bestCount).map(({ parameters }) => parameters);
}

/** Returns the points scaled to [−1, 1] (unscaled for tables), and the normal scores of their returns. */
function observationsOf(
  { parameters: spec }: SearchTask,
  entries: readonly ScoredParameters[],
): Observations {
  return {
    rows: entries.map(({ parameters }) => scalePoint(parameters, spec)),
    targets: normalScores(entries.map(({ score }) => score)),
    metric: isUnordered(spec) ? 'equality' : 'distance',
  };
}

function scalePoint(parameters: ParameterVector, spec: ParameterSpec): Float64Array {
  const { low, high } = spec;
  if (isUnordered(spec)) return Float64Array.from(parameters);
  return Float64Array.from(parameters, (value) => (2 * value - low - high) / (high - low));
}

/** Computes Φ⁻¹((rank − ½)/n), standardised; ties share their mean rank. The values must not all be equal. */
export function normalScores(values: readonly number[]): Float64Array {
  const sorted = Float64Array.from(values).sort();
  const scores = values.map((value) => {
    const [first, after] = [sorted.indexOf(value), sorted.lastIndexOf(value) + 1];
    return normalQuantile((first + after) / 2 / values.length, 0, 1);
  });
  const [center, deviation] = [mean(scores), standardDeviation(scores)];
  return Float64Array.from(scores, (score) => (score - center) / deviation);
}
