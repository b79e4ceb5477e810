/** Measures whether training helped: compares runs of the base model, the tuned model and baselines in pairs. */
import { version } from '../../src/base/package.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { type Interval, unbounded } from '../../src/statistics/bootstrap.js';
import { largest, mean, smallest } from '../../src/statistics/descriptive.js';
import { comparePairs, type PairedDifference, summarize } from '../../src/statistics/paired.js';
import { verdicts } from '../../src/statistics/tests.js';
import type { Arm, TrainedOn } from './arms.js';
import {
  type ArmComparison,
  type ArmDifference,
  type EvaluatedRun,
  type Evaluation,
  type Failure,
  type Familiarity,
  type GroupResult,
  type Metric,
  metrics,
  type RunFigures,
} from './evaluation.js';
import type { EvaluationPlan } from './plan.js';

const shares: Interval = [0, 1];

type Measured = Readonly<Record<Metric, number | null>>;
type RunsOf = (arm: Arm['name']) => readonly (Measured | undefined)[];

export function evaluate(
  plan: Pick<EvaluationPlan, 'arms' | 'experiments' | 'seeds'>,
  runs: readonly EvaluatedRun[],
  trainedOn: TrainedOn,
  failures: readonly Failure[] = [],
): Evaluation {
  const { arms, seeds } = plan;
  const begun = plan.experiments.filter(({ name }) =>
    runs.some((run) => run.experiment === name && run.figures !== null),
  );
  const byName = new Map(begun.map(({ name }) => [name, runs.filter((run) => run.experiment === name)]));
  const measured = begun.map(({ name, configs }) => {
    const own = byName.get(name)!;
    const { environment } = own.find(({ figures }) => figures !== null)!.figures!;
    const [config] = Object.values(configs);
    const returns = config === undefined ? unbounded : returnRange(config.environment, config.evaluation);
    return {
      name,
      environment,
      returns: [finiteOrNull(returns[0]), finiteOrNull(returns[1])] as const,
      familiarity: familiarityOf(environment, trainedOn),
      range: rangeOf(own),
      ...compared(arms, returns, (arm) => inRepeats(own, arm, seeds.length)),
    };
  });
  const together = (members: readonly (typeof measured)[number][]) => ({
    experiments: members.map((member) => member.name),
    ...compared(arms, shares, (arm) =>
      bySeed(
        members.map((member) =>
          inRepeats(byName.get(member.name)!, arm, seeds.length).map(
            (run) => run && normalised(run, member.range),
          ),
        ),
        seeds.length,
      ),
    ),
  });
  const all = together(measured);
  const groups = (['all', 'trained', 'transfer'] as const).flatMap((group) => {
    const members = measured.filter(({ familiarity }) => group === 'all' || familiarity === group);
    if (members.length === 0) return [];
    // A group of all experiments reuses the differences of `all`, so that they aren't tested twice.
    return [{ group, ...(members.length === measured.length ? all : together(members)) }];
  });
  return {
    version: 1,
    kind: 'evaluation',
    policyloop: version(),
    status: runs.every(({ figures }) => figures?.isOver === true) ? 'completed' : 'incomplete',
    arms: arms.map(({ name, label, hash }) => ({ name, label, weights: hash })),
    seeds,
    trainedOn,
    experiments: judged(measured),
    groups: judged(groups),
    failures,
    runs,
  };
}

/** Compares environments, not configs: another config of a trained environment doesn't count as transfer. */
function familiarityOf(environment: string, trainedOn: TrainedOn): Familiarity {
  if (trainedOn.kind === 'unknown') return 'unknown';
  return trainedOn.environments.includes(environment) ? 'trained' : 'transfer';
}

/** An arm's figures for each repeat, so that arms can be paired; undefined for runs that aren't over. */
function inRepeats(runs: readonly EvaluatedRun[], arm: Arm['name'], repeats: number) {
  return Array.from({ length: repeats }, (_, repeat) => {
    const figures = runs.find((run) => run.arm === arm && run.repeat === repeat)?.figures;
    return figures?.isOver === true ? figures : undefined;
  });
}

/** Means over the experiments, one per seed (runs with the same seed aren't independent); undefined if incomplete. */
function bySeed(experiments: readonly (readonly (Measured | undefined)[])[], repeats: number) {
  return Array.from({ length: repeats }, (_, repeat): Measured | undefined => {
    const runs = experiments.flatMap((own) => own[repeat] ?? []);
    if (runs.length === 0 || runs.length < experiments.length) return undefined;
    return forMetrics((metric) => {
      const values = runs.flatMap((run) => run[metric] ?? []);
      return values.length < runs.length ? null : mean(values);
    });
  });
}

/** Null for infinity, which JSON can't represent. */
const finiteOrNull = (value: number) => (Number.isFinite(value) ? value : null);

function rangeOf(runs: readonly EvaluatedRun[]): readonly [number, number] | null {
  const returns = runs.flatMap(({ figures }) => figures?.confirmed ?? []);
  return returns.length === 0 ? null : [smallest(returns), largest(returns)];
}

/** Rescales the confirmed return from the experiment's range to [0, 1]; 0.5 if all runs had the same return. */
function normalised(run: RunFigures, range: readonly [number, number] | null): Measured {
  if (run.confirmed === null || range === null) return { ...run, confirmed: null };
  const [low, high] = range;
  return { ...run, confirmed: high > low ? (run.confirmed - low) / (high - low) : 0.5 };
}

/** @param returns the range of possible returns */
function compared(
  arms: readonly Arm[],
  returns: Interval,
  runsOf: RunsOf,
): Pick<GroupResult, 'arms'> & { readonly comparisons: readonly ArmDifference<PairedDifference>[] } {
  const rangeOfMetric = (metric: Metric) => (metric === 'confirmed' ? returns : shares);
  const names = arms.map(({ name }) => name);
  const order = ['tuned' as const, ...names.filter((name) => name !== 'tuned')];
  const valuesOf = (arm: Arm['name'], metric: Metric) => runsOf(arm).map((run) => run?.[metric] ?? null);
  return {
    arms: Object.fromEntries(
      names.map((name) => [
        name,
        forMetrics((metric) => {
          const values = valuesOf(name, metric).filter((value) => value !== null);
          return summarize(values, rangeOfMetric(metric)) ?? null;
        }),
      ]),
    ),
    comparisons: order.flatMap((of, i) =>
      order.slice(i + 1).map((against) => ({
        of,
        against,
        metrics: forMetrics(
          (metric) =>
            comparePairs(valuesOf(of, metric), valuesOf(against, metric), rangeOfMetric(metric)) ?? null,
        ),
      })),
    ),
  };
}

/** Adds verdicts to the differences. For each metric, they are corrected for multiple tests across all results. */
function judged<R extends { readonly comparisons: readonly ArmDifference<PairedDifference>[] }>(
  results: readonly R[],
) {
  const corrected = forMetrics((metric) => {
    const own = results.flatMap(({ comparisons }) =>
      comparisons.flatMap(({ metrics }) => metrics[metric] ?? []),
    );
    const distinct = [...new Set(own)];
    const found = verdicts(distinct);
    return new Map(distinct.map((difference, i) => [difference, found[i]!]));
  });
  const verdictOf = (metric: Metric, difference: PairedDifference | null) =>
    difference === null ? null : corrected[metric].get(difference)!;
  return results.map((result) => ({
    ...result,
    comparisons: result.comparisons.map(
      (comparison): ArmComparison => ({
        ...comparison,
        metrics: forMetrics((metric) => verdictOf(metric, comparison.metrics[metric])),
      }),
    ),
  }));
}

function forMetrics<T>(of: (metric: Metric) => T): Readonly<Record<Metric, T>> {
  return Object.fromEntries(
    (Object.keys(metrics) as Metric[]).map((metric) => [metric, of(metric)]),
  ) as Record<Metric, T>;
}
