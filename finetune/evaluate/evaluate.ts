/** Measures whether training helped: compares runs of the base model, the tuned model and baselines in pairs. */
import { packageVersion } from '../../src/base/package.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { type Interval, realLine } from '../../src/statistics/bootstrap.js';
import { largest, mean } from '../../src/statistics/descriptive.js';
import { summarizeMean } from '../../src/statistics/paired.js';
import { judgeDifferences, pairedDifference } from '../../src/studies/comparison/comparability.js';
import { failureCaution, worstReturn } from '../../src/studies/comparison/failures.js';
import type { Arm, TrainedEnvironments } from './arms.js';
import {
  type ArmSummaries,
  type EvaluatedRun,
  type Evaluation,
  type Familiarity,
  type Metric,
  metrics,
} from './evaluation.js';
import type { EvaluationPlan } from './plan.js';

const unitInterval: Interval = [0, 1];

/** A failed run gets the lowest confirmed return of its experiment. */
type ArmFigures = Readonly<Record<Metric, number | null>> & { readonly failed: boolean };
/** An arm's figures for each repeat, so that arms can be paired; undefined for runs that aren't over. */
type GetFigures = (arm: Arm['name']) => readonly (ArmFigures | undefined)[];

export function evaluate(
  plan: Pick<EvaluationPlan, 'arms' | 'experiments' | 'seeds'>,
  runs: readonly EvaluatedRun[],
  trainedOn: TrainedEnvironments,
  failures: Evaluation['failures'] = [],
): Evaluation {
  const { arms, seeds } = plan;
  const outcomes = plan.experiments.flatMap(({ name, configs }) => {
    const ownRuns = runs.filter((run) => run.experiment === name);
    const startedRun = ownRuns.find(({ figures }) => figures !== null);
    if (startedRun === undefined) return [];
    const { environment } = startedRun.figures!;
    const [config] = Object.values(configs);
    const returns = config === undefined ? realLine : returnRange(config.environment, config.evaluation);
    const confirmed = ownRuns.flatMap(({ figures }) => figures?.confirmed ?? []);
    const worst = worstReturn(confirmed);
    const range = worst === null ? null : ([worst, largest(confirmed)] as const);
    const figuresOf: GetFigures = (arm) =>
      seeds.map((_, repeat) => {
        const figures = ownRuns.find((run) => run.arm === arm && run.repeat === repeat)?.figures;
        if (figures?.isOver !== true) return undefined;
        return {
          ...figures,
          failed: figures.confirmed === null && worst !== null,
          confirmed: figures.confirmed ?? worst,
        };
      });
    const result = {
      name,
      environment,
      returns: [finiteOrNull(returns[0]), finiteOrNull(returns[1])] as const,
      familiarity: familiarityOf(environment, trainedOn),
      range,
      ...compareArms(arms, returns, figuresOf),
    };
    const normalized = (arm: Arm['name']) => figuresOf(arm).map((run) => run && rescale(run, range));
    return [{ result, normalized }];
  });
  const summarizeGroup = (members: typeof outcomes) => ({
    experiments: members.map(({ result }) => result.name),
    ...compareArms(arms, unitInterval, (arm) => {
      const normalizedRuns = members.map(({ normalized }) => normalized(arm));
      return meansBySeed(normalizedRuns, seeds.length);
    }),
  });
  const overall = summarizeGroup(outcomes);
  const groups = (['all', 'trained', 'transfer'] as const).flatMap((group) => {
    const members = outcomes.filter(({ result }) => group === 'all' || result.familiarity === group);
    if (members.length === 0) return [];
    // A group of all experiments reuses the differences of `all`, so that they aren't tested twice.
    return [{ group, ...(members.length === outcomes.length ? overall : summarizeGroup(members)) }];
  });
  return {
    version: 1,
    kind: 'evaluation',
    policyloop: packageVersion(),
    status: runs.every(({ figures }) => figures?.isOver === true) ? 'completed' : 'incomplete',
    arms: arms.map(({ name, label, hash }) => ({ name, label, weights: hash })),
    seeds,
    trainedOn,
    experiments: addVerdicts(outcomes.map(({ result }) => result)),
    groups: addVerdicts(groups),
    failures,
    runs,
  };
}

/** Compares environments, not configs: another config of a trained environment doesn't count as transfer. */
function familiarityOf(environment: string, trainedOn: TrainedEnvironments): Familiarity {
  if (trainedOn.kind === 'unknown') return 'unknown';
  return trainedOn.environments.includes(environment) ? 'trained' : 'transfer';
}

/** Means over the experiments, one per seed (runs with the same seed aren't independent); undefined if incomplete. */
function meansBySeed(figures: readonly ReturnType<GetFigures>[], repeats: number): ReturnType<GetFigures> {
  return Array.from({ length: repeats }, (_, repeat) => {
    const runs = figures.flatMap((own) => own[repeat] ?? []);
    if (runs.length === 0 || runs.length < figures.length) return undefined;
    const means = mapMetrics((metric) => {
      const values = runs.flatMap((run) => run[metric] ?? []);
      return values.length < runs.length ? null : mean(values);
    });
    return { ...means, failed: runs.some(({ failed }) => failed) };
  });
}

/** Returns null for infinity, which JSON can't represent. */
const finiteOrNull = (value: number) => (Number.isFinite(value) ? value : null);

/** Rescales the confirmed return from the experiment's range to [0, 1]; 0.5 if all runs had the same return. */
function rescale(run: ArmFigures, range: readonly [number, number] | null): ArmFigures {
  if (run.confirmed === null || range === null) return { ...run, confirmed: null };
  const [low, high] = range;
  return { ...run, confirmed: high > low ? (run.confirmed - low) / (high - low) : 0.5 };
}

/** @param returns the range of possible returns */
function compareArms(arms: readonly Arm[], returns: Interval, figuresOf: GetFigures) {
  const names = arms.map(({ name }) => name);
  const order = ['tuned' as const, ...names.filter((name) => name !== 'tuned')];
  const valuesOf = (arm: Arm['name'], metric: Metric) => figuresOf(arm).map((run) => run?.[metric] ?? null);
  const returnsOf = (arm: Arm['name']) => valuesOf(arm, 'confirmed');
  const failuresOf = (name: Arm['name']) => {
    const finishedRuns = figuresOf(name).filter((run) => run !== undefined);
    return { name, failed: finishedRuns.filter(({ failed }) => failed).length, over: finishedRuns.length };
  };
  return {
    arms: Object.fromEntries(
      names.map((name): [string, ArmSummaries] => [
        name,
        mapMetrics((metric) => {
          const values = valuesOf(name, metric).filter((value) => value !== null);
          return summarizeMean(values, metric === 'confirmed' ? returns : unitInterval) ?? null;
        }),
      ]),
    ),
    differences: order.flatMap((of, i) =>
      order.slice(i + 1).flatMap((against) => {
        const reason = failureCaution(failuresOf(of), failuresOf(against));
        return pairedDifference({ of, against, reason }, returnsOf(of), returnsOf(against), returns);
      }),
    ),
  };
}

/** Adds verdicts to the differences, corrected for multiple tests across all results. */
function addVerdicts<R extends Pick<ReturnType<typeof compareArms>, 'differences'>>(results: readonly R[]) {
  const judged = judgeDifferences(results.map(({ differences }) => differences));
  return results.map((result, i) => ({ ...result, differences: judged[i]! }));
}

function mapMetrics<T>(valueFor: (metric: Metric) => T): Readonly<Record<Metric, T>> {
  return Object.fromEntries(metrics.map((metric) => [metric, valueFor(metric)])) as Record<Metric, T>;
}
