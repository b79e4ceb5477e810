/**
 * Bayesian optimisation with a Gaussian process and expected improvement: D. R. Jones et al., “Efficient Global
 * Optimization of Expensive Black-Box Functions” (1998), on ranks of returns.
 */
import normalQuantile from '@stdlib/stats-base-dists-normal-quantile';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import { createGenerator, type RandomGenerator, shuffled } from '../random/generator.js';
import type { Evaluated } from '../rollout/replay-buffer.js';
import { mean, standardDeviation } from '../statistics/descriptive.js';
import { logExpectedImprovement, logMean, maximise } from './acquisition.js';
import { type Control, pointKey, type Task } from './control.js';
import {
  type Hyperparameters,
  negativeLogPosterior,
  type Observations,
  type Posterior,
  posteriorOf,
  priorOf,
} from './gaussian-process.js';
import { minimise } from './lbfgs.js';
import { createValueGrid, isTable } from './moves.js';

/** Points around which others are drawn. */
const bestCount = 5;
/** Above this many parameters one length serves all. */
const mostLengths = 24;
const fitIterations = 8;
/** Proposals from one fit to the next, with a short history and with a long one. */
const [refitEvery, refitSeldom] = [3, 10];
/** A longer history is thinned to the best, the latest and others that are drawn. */
const thinning = { above: 200, best: 100, latest: 50 } as const;

/**
 * Hyperparameters are fitted from the prior's mean each time, so that a resumed run finds the same ones. Where there are
 * enough points, a process with a length for each parameter and one with a single length have equal say: the
 * second is the stronger where parameters are rotated.
 */
export function createGp(): Control {
  const believed = createBelief();
  const proposeGroup = async (task: Task, randoms: readonly RandomGenerator[]) =>
    chooseAll(task, await believed(task), randoms);
  return {
    propose: async (task, random) => (await proposeGroup(task, [random]))[0]!,
    proposeGroup,
  };
}

/** What the same processes expect of points. */
export interface ExpectedImprovement {
  /** The logarithm of the expected improvement; 0 everywhere while nothing is known. */
  worth(parameters: ParameterVector): number;
  /** Takes a point for evaluated, with what is expected of it. */
  believe(parameters: ParameterVector): void;
}

export function createExpectedImprovement(): (task: Task) => Promise<ExpectedImprovement> {
  const believed = createBelief();
  return async (task) => {
    const { parameters: spec } = task;
    let processes = await believed(task);
    return {
      worth: (parameters) => worthOf(processes, spec)(parameters),
      believe(parameters) {
        processes = processes.map((one) => one.believing(scaled(parameters, spec)));
      },
    };
  };
}

/** What is believed of a task's returns; nothing while all of them are alike. */
function createBelief(): (task: Task) => Promise<readonly Posterior[]> {
  let last: { readonly key: string; readonly fits: readonly Hyperparameters[] } | undefined;
  const fitOf = async (task: Task, count: number) => {
    const shown = thinned(task.history.slice(0, count));
    const key = JSON.stringify([task.parameters, shown]);
    if (last?.key !== key) last = { key, fits: await fitted(task, shown) };
    return last.fits;
  };
  return async (task) => {
    const { history, warmup } = task;
    const sinceFit = (history.length - warmup) % (history.length > thinning.above ? refitSeldom : refitEvery);
    const shown = thinned(history);
    if (isFlat(shown)) return [];
    const fits = await fitOf(task, history.length - sinceFit);
    const observations = observationsOf(task, shown);
    return fits.map((hyperparameters) => posteriorOf(observations, hyperparameters));
  };
}

const isFlat = (shown: readonly Evaluated[]) => shown.every(({ score }) => score === shown[0]!.score);

/** The evaluations that are reckoned with, the oldest first. */
function thinned(history: readonly Evaluated[]): readonly Evaluated[] {
  const { above, best, latest } = thinning;
  if (history.length <= above) return history;
  const ranked = history.map((_, i) => i).sort((a, b) => history[b]!.score - history[a]!.score || b - a);
  const certain = new Set([...ranked.slice(0, best), ...history.map((_, i) => i).slice(-latest)]);
  const others = ranked.filter((i) => !certain.has(i));
  const drawn = shuffled(others, createGenerator(history.length)).slice(0, above - certain.size);
  const kept = new Set([...certain, ...drawn]);
  return history.filter((_, i) => kept.has(i));
}

/** One process with a length for all parameters and, where there is enough to tell them apart, one with a length each. */
async function fitted(task: Task, shown: readonly Evaluated[]): Promise<readonly Hyperparameters[]> {
  // Before the second proposal of a run, say, nothing may be known yet of what is fitted to.
  if (isFlat(shown)) return [];
  const observations = observationsOf(task, shown);
  const { count } = task.parameters;
  const prior = priorOf(count, task.noisy === true);
  const lengths = count <= mostLengths && shown.length >= 2 * count && count > 1 ? [1, count] : [1];
  const fits: Hyperparameters[] = [];
  for (const several of lengths) {
    const start = Float64Array.from([
      ...Array<number>(several).fill(prior.length.mean),
      prior.roughness.mean,
    ]);
    const found = await minimise(
      async (x) => negativeLogPosterior(observations, x, prior),
      start,
      fitIterations,
    );
    fits.push(found.x);
  }
  return fits;
}

/** Each point of a group is chosen as if those before it had brought what is expected of them. */
function chooseAll(
  task: Task,
  believed: readonly Posterior[],
  randoms: readonly RandomGenerator[],
): readonly ParameterVector[] {
  const { history, parameters: spec, noisy } = task;
  const grid = createValueGrid(spec);
  const seen = new Set(history.map(({ parameters }) => pointKey(parameters)));
  let processes = believed;
  const worthAlone = noisy
    ? ({ parameters }: Evaluated) => mean(believed.map((one) => one.at(scaled(parameters, spec)).mean))
    : ({ score }: Evaluated) => score;
  const best = bestPoints(history, worthAlone);
  return randoms.map((random) => {
    const worth = worthOf(processes, spec);
    const parameters = maximise({ spec, grid, best, seen, worth }, random);
    seen.add(pointKey(parameters));
    processes = processes.map((one) => one.believing(scaled(parameters, spec)));
    return parameters;
  });
}

/** The mean of the improvements that the processes expect; alike everywhere while nothing is known. */
function worthOf(processes: readonly Posterior[], spec: ParameterSpec) {
  if (processes.length === 0) return () => 0;
  return (parameters: ParameterVector) => {
    const point = scaled(parameters, spec);
    return logMean(
      processes.map((one) => {
        const { mean: expected, variance } = one.at(point);
        return logExpectedImprovement(expected, variance, one.highest);
      }),
    );
  };
}

/** The highest few, each point once, the newest of equals first. */
function bestPoints(
  history: readonly Evaluated[],
  worthAlone: (evaluated: Evaluated) => number,
): readonly ParameterVector[] {
  const points = new Map<string, { readonly parameters: ParameterVector; readonly value: number }>();
  for (const evaluated of history.toReversed()) {
    const key = pointKey(evaluated.parameters);
    if (!points.has(key)) points.set(key, { parameters: evaluated.parameters, value: worthAlone(evaluated) });
  }
  const ranked = [...points.values()].sort((a, b) => b.value - a.value);
  return ranked.slice(0, bestCount).map(({ parameters }) => parameters);
}

/** Points scaled to [−1, 1] (entries of tables as they are), and normal scores of their returns. */
function observationsOf({ parameters: spec }: Task, shown: readonly Evaluated[]): Observations {
  return {
    rows: shown.map(({ parameters }) => scaled(parameters, spec)),
    targets: normalScores(shown.map(({ score }) => score)),
    apart: isTable(spec) ? 'equality' : 'distance',
  };
}

function scaled(parameters: ParameterVector, spec: ParameterSpec): Float64Array {
  const { low, high } = spec;
  if (isTable(spec)) return Float64Array.from(parameters);
  return Float64Array.from(parameters, (value) => (2 * value - low - high) / (high - low));
}

/** Φ⁻¹((rank − ½)/n), equals at their mean rank, brought to mean 0 and standard deviation 1; not for values all alike. */
export function normalScores(values: readonly number[]): Float64Array {
  const sorted = Float64Array.from(values).sort();
  const scores = values.map((value) => {
    const [first, after] = [sorted.indexOf(value), sorted.lastIndexOf(value) + 1];
    return normalQuantile((first + after) / 2 / values.length, 0, 1);
  });
  const [centre, deviation] = [mean(scores), standardDeviation(scores)];
  return Float64Array.from(scores, (score) => (score - centre) / deviation);
}
