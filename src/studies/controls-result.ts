/** The results of a study of baselines, to which a language model's runs are compared. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../base/package.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { readEvaluations, runFiles } from '../runs/reader.js';
import { summaryOf, type RunSummary } from '../runs/summary.js';
import type { ControlName } from '../search/controls.js';
import { type Interval, unbounded } from '../statistics/bootstrap.js';
import { mean } from '../statistics/descriptive.js';
import { comparePairs, type PairedComparison, type Summary, summarize } from '../statistics/paired.js';
import { verdicts } from '../statistics/verdict.js';
import type { StudyArm, StudyPlan, StudyRun } from './study.js';

export type ControlArm = StudyArm & { readonly name: ControlName; readonly label: string };
export type ControlsPlan = StudyPlan<ControlArm>;

export interface Budget {
  readonly iterations: number;
  /** Proposals per iteration. */
  readonly candidates: number;
  /** Episodes per evaluation. */
  readonly episodes: number;
}

/** The current state of a run of the study. */
export interface ControlRun {
  readonly experiment: string;
  readonly control: ControlName;
  readonly seed: number;
  /** Path below the study's directory. */
  readonly path: string;
  readonly status: RunSummary['status'] | 'not begun';
  readonly environment: string | null;
  /** Number of parameters; null before the first evaluation. */
  readonly parameters: number | null;
  /** Mean return of the chosen policy on untouched seeds; null if the run is not complete. */
  readonly confirmed: number | null;
  /** Highest observed mean return, which is selected on noise. */
  readonly observed: number | null;
  /** Number of evaluations so far, including the warm-up. */
  readonly evaluations: number;
}

/** One baseline on one task. */
export interface ControlRow {
  readonly experiment: string;
  readonly environment: string | null;
  readonly parameters: number | null;
  readonly control: ControlName;
  /** Number of complete runs. */
  readonly runs: number;
  /** Statistics of their confirmed returns; intervals are 95%, null for a single run. */
  readonly confirmed: Summary | null;
  /** Mean number of evaluations of a complete run, including the warm-up. */
  readonly evaluations: number | null;
}

/** The confirmed returns of one baseline compared with another's, paired by seed. */
interface ControlDifference extends PairedComparison {
  readonly experiment: string;
  readonly of: ControlName;
  readonly against: ControlName;
}

/** A run that could not be played. */
export interface ControlFailure {
  readonly experiment: string;
  /** Path below the study's directory. */
  readonly run: string;
  readonly message: string;
}

/** Content of `controls.json`. */
export interface ControlsResult {
  readonly version: 1;
  readonly kind: 'controls';
  readonly policyloop: string;
  /** Time of writing, ISO 8601. */
  readonly date: string;
  /** `incomplete` while runs are missing. */
  readonly status: 'completed' | 'incomplete';
  readonly budget: Budget;
  readonly seeds: readonly number[];
  readonly rows: readonly ControlRow[];
  /** Compares each pair of baselines of a task, the later one against the earlier. */
  readonly differences: readonly ControlDifference[];
  readonly failures: readonly ControlFailure[];
  readonly runs: readonly ControlRun[];
}

/** Reads the runs of a study below `directory` and caches complete ones. */
export function runReader(directory: string): (run: StudyRun<ControlName>) => ControlRun {
  const complete = new Map<string, ControlRun>();
  return (run) => {
    const known = complete.get(run.path);
    if (known !== undefined) return known;
    const read = readControlRun(run, join(directory, run.path));
    if (read.status === 'completed') complete.set(run.path, read);
    return read;
  };
}

function readControlRun({ experiment, arm, config, path }: StudyRun<ControlName>, at: string): ControlRun {
  const named = { experiment, control: arm, seed: config.seed, path };
  if (!existsSync(join(at, runFiles.manifest))) {
    const nothing = { environment: null, parameters: null, confirmed: null, observed: null, evaluations: 0 };
    return { ...named, status: 'not begun', ...nothing };
  }
  const { confirmed, manifest, observed, status } = summaryOf(at);
  const entries = readEvaluations(at, manifest);
  return {
    ...named,
    status,
    environment: manifest.environment,
    parameters: entries[0]?.parameters.length ?? null,
    confirmed: status === 'completed' ? (confirmed?.mean ?? null) : null,
    observed,
    evaluations: entries.length,
  };
}

export function controlsResult(
  plan: ControlsPlan,
  facts: {
    readonly budget: Budget;
    readonly failures: readonly ControlFailure[];
    readonly now: Date;
    readonly read: (run: StudyRun<ControlName>) => ControlRun;
  },
): ControlsResult {
  const runs = plan.entries.map(facts.read);
  return {
    version: 1,
    kind: 'controls',
    policyloop: version(),
    date: facts.now.toISOString(),
    status: runs.every(({ status }) => status === 'completed') ? 'completed' : 'incomplete',
    budget: facts.budget,
    seeds: plan.seeds,
    rows: plan.experiments.flatMap(({ name }) => {
      const own = runs.filter(({ experiment }) => experiment === name);
      return plan.arms.map((arm) => rowOf(name, arm.name, own, rangeIn(plan, name)));
    }),
    differences: differencesOf(plan, runs),
    failures: facts.failures,
    runs,
  };
}

/** Range of an episode's return in an experiment, whose configs differ only in the model. */
function rangeIn({ experiments }: ControlsPlan, experiment: string): Interval {
  const [config] = Object.values(experiments.find(({ name }) => name === experiment)?.configs ?? {});
  return config === undefined ? unbounded : returnRange(config.environment, config.evaluation);
}

function rowOf(
  experiment: string,
  control: ControlName,
  runs: readonly ControlRun[],
  range: Interval,
): ControlRow {
  const complete = runs.filter((run) => run.control === control && run.status === 'completed');
  return {
    experiment,
    environment: runs.find(({ environment }) => environment !== null)?.environment ?? null,
    parameters: runs.find(({ parameters }) => parameters !== null)?.parameters ?? null,
    control,
    runs: complete.length,
    confirmed:
      summarize(
        complete.flatMap(({ confirmed }) => confirmed ?? []),
        range,
      ) ?? null,
    evaluations: complete.length === 0 ? null : mean(complete.map(({ evaluations }) => evaluations)),
  };
}

function differencesOf(plan: ControlsPlan, runs: readonly ControlRun[]): readonly ControlDifference[] {
  const { arms, experiments, seeds } = plan;
  const confirmed = new Map(
    runs.map((run) => [`${run.experiment} ${run.control} ${run.seed}`, run.confirmed]),
  );
  return verdicts(
    experiments.flatMap(({ name: experiment }) => {
      const bySeed = ({ name }: ControlArm) =>
        seeds.map((seed) => confirmed.get(`${experiment} ${name} ${seed}`) ?? null);
      return arms.flatMap((of, i) =>
        arms.slice(0, i).flatMap((against) => {
          const difference = comparePairs(bySeed(of), bySeed(against), rangeIn(plan, experiment));
          return difference ? [{ experiment, of: of.name, against: against.name, ...difference }] : [];
        }),
      );
    }),
  );
}
