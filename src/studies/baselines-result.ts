/** The results of a study of baselines, for comparison with runs of language models. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { version } from '../base/package.js';
import { differenceColumns } from '../comparison/table.js';
import { verdictRule } from '../comparison/words.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { formatCount, plural } from '../format/numbers.js';
import {
  type Column,
  csvTable,
  estimate,
  forMachines,
  markdownTable,
  number,
  terminalTable,
  text,
} from '../format/table.js';
import { readEvaluations, runFiles } from '../runs/reader.js';
import { type RunSummary, summaryOf } from '../runs/summary.js';
import { type BaselineName, findBaseline } from '../search/baselines.js';
import { type Interval, unbounded } from '../statistics/bootstrap.js';
import { mean } from '../statistics/descriptive.js';
import { comparePairs, type PairedComparison, type Summary, summarize } from '../statistics/paired.js';
import { verdicts } from '../statistics/tests.js';
import type { StudyArm, StudyPlan, StudyRun } from './study.js';

export type BaselineArm = StudyArm & { readonly name: BaselineName; readonly label: string };
export type BaselinesPlan = StudyPlan<BaselineArm>;

export interface Budget {
  readonly iterations: number;
  /** Proposals per iteration. */
  readonly candidates: number;
  /** Episodes per evaluation. */
  readonly episodes: number;
}

/** The current state of one run of the study. */
export interface BaselineRun {
  readonly experiment: string;
  readonly control: BaselineName;
  readonly seed: number;
  /** Path relative to the study's directory. */
  readonly path: string;
  readonly status: RunSummary['status'] | 'not begun';
  readonly environment: string | null;
  /** Number of parameters; null before the first evaluation, and if policies are programs. */
  readonly parameters: number | null;
  /** Mean return of the chosen policy on unseen episodes; null if the run is not complete. */
  readonly confirmed: number | null;
  /** Highest observed mean return; biased upwards, because it is the maximum of noisy means. */
  readonly observed: number | null;
  /** Number of evaluations so far, including the warm-up. */
  readonly evaluations: number;
}

/** The results of one baseline on one task. */
export interface BaselineRow {
  readonly experiment: string;
  readonly environment: string | null;
  readonly parameters: number | null;
  readonly control: BaselineName;
  /** Number of complete runs. */
  readonly runs: number;
  /** Null if no run is complete. Intervals are 95%, and null for a single run. */
  readonly confirmed: Summary | null;
  /** Mean number of evaluations per complete run, including the warm-up; null if no run is complete. */
  readonly evaluations: number | null;
}

/** The difference between the confirmed returns of two baselines, paired by seed. */
interface BaselineDifference extends PairedComparison {
  readonly experiment: string;
  readonly of: BaselineName;
  readonly against: BaselineName;
}

export interface BaselineFailure {
  readonly experiment: string;
  /** Path relative to the study's directory. */
  readonly run: string;
  readonly message: string;
}

/** Content of `controls.json`. */
export interface BaselinesResult {
  readonly version: 1;
  readonly kind: 'controls';
  readonly policyloop: string;
  /** Time of writing, ISO 8601. */
  readonly date: string;
  /** `incomplete` until all runs are complete. */
  readonly status: 'completed' | 'incomplete';
  readonly budget: Budget;
  readonly seeds: readonly number[];
  readonly rows: readonly BaselineRow[];
  /** Differences between all pairs of baselines on each task: the later one minus the earlier one. */
  readonly differences: readonly BaselineDifference[];
  readonly failures: readonly BaselineFailure[];
  readonly runs: readonly BaselineRun[];
}

/** Returns a function that reads the runs of the study in `directory` and caches complete ones. */
export function runReader(directory: string): (run: StudyRun<BaselineName>) => BaselineRun {
  const complete = new Map<string, BaselineRun>();
  return (run) => {
    const known = complete.get(run.path);
    if (known !== undefined) return known;
    const read = readBaselineRun(run, join(directory, run.path));
    if (read.status === 'completed') complete.set(run.path, read);
    return read;
  };
}

function readBaselineRun({ experiment, arm, config, path }: StudyRun<BaselineName>, at: string): BaselineRun {
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
    parameters: entries[0]?.program === undefined ? (entries[0]?.parameters.length ?? null) : null,
    confirmed: status === 'completed' ? (confirmed?.mean ?? null) : null,
    observed,
    evaluations: entries.length,
  };
}

export function baselinesResult(
  plan: BaselinesPlan,
  facts: {
    readonly budget: Budget;
    readonly failures: readonly BaselineFailure[];
    readonly now: Date;
    readonly read: (run: StudyRun<BaselineName>) => BaselineRun;
  },
): BaselinesResult {
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

/** Range of an episode's return. It is the same for all configs of an experiment, which differ only in the model. */
function rangeIn({ experiments }: BaselinesPlan, experiment: string): Interval {
  const [config] = Object.values(experiments.find(({ name }) => name === experiment)?.configs ?? {});
  return config === undefined ? unbounded : returnRange(config.environment, config.evaluation);
}

function rowOf(
  experiment: string,
  control: BaselineName,
  runs: readonly BaselineRun[],
  range: Interval,
): BaselineRow {
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

function differencesOf(plan: BaselinesPlan, runs: readonly BaselineRun[]): readonly BaselineDifference[] {
  const { arms, experiments, seeds } = plan;
  const confirmed = new Map(
    runs.map((run) => [`${run.experiment} ${run.control} ${run.seed}`, run.confirmed]),
  );
  return verdicts(
    experiments.flatMap(({ name: experiment }) => {
      const bySeed = ({ name }: BaselineArm) =>
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

/** @param width see `CommandContext.columns` */
export const baselinesOnTerminal = (result: BaselinesResult, width?: number): string =>
  [
    terminalTable(result.rows, baselineColumns(result), width),
    ...differences(result, width),
    budgetText(result),
  ].join('\n\n');

/** The differences as table rows, and how many of them were tested. */
export function testedDifferences({ differences }: BaselinesResult) {
  const rows = differences.map((difference) => {
    const of = `${difference.experiment}: ${difference.of}`;
    return { ...difference, of, test: 'paired', counts: [difference.pairs] } as const;
  });
  return { rows, tested: differences.filter(({ p }) => p !== null).length };
}

/** The table of differences and the rule for verdicts; empty if there are too few repeats for any verdict. */
function differences(result: BaselinesResult, width: number | undefined): readonly string[] {
  const { rows, tested } = testedDifferences(result);
  if (tested === 0) return [];
  return [terminalTable(rows, differenceColumns, width), styleText('dim', verdictRule(tested).join('\n'))];
}

/** The results as a Markdown table, followed by the budget and the seeds. */
export const baselinesMarkdown = (result: BaselinesResult): string =>
  `${markdownTable(result.rows, baselineColumns(result))}\n\n${budgetText(result)}\n`;

export const baselinesCsv = (result: BaselinesResult): string =>
  csvTable(result.rows, baselineColumns(result));

export function baselineColumns({
  budget,
  seeds,
  date,
  policyloop,
}: BaselinesResult): readonly Column<BaselineRow>[] {
  const code = (text: string | null) => text && { text, code: true };
  return [
    text('task', ({ experiment }) => code(experiment), { name: 'task', grouped: true }),
    text('environment', ({ environment }) => code(environment), { name: 'environment', grouped: true }),
    number('parameters', ({ parameters }) => parameters, { name: 'parameters' }),
    text('baseline', ({ control }) => findBaseline(control)?.label ?? control),
    forMachines('control', ({ control }) => control),
    number('runs', ({ runs }) => runs, { name: 'runs' }),
    estimate(
      'mean',
      ({ confirmed }) => confirmed && { value: confirmed.mean, interval: confirmed.meanInterval },
      { name: 'mean' },
    ),
    estimate(
      'IQM',
      ({ confirmed }) => confirmed && { value: confirmed.iqm, interval: confirmed.iqmInterval },
      { name: 'iqm' },
    ),
    number('evaluations', ({ evaluations }) => evaluations, { name: 'evaluations', format: formatCount }),
    forMachines('iterations', () => budget.iterations),
    forMachines('candidates', () => budget.candidates),
    forMachines('episodes', () => budget.episodes),
    forMachines('seeds', () => seeds.join(' ')),
    forMachines('date', () => date),
    forMachines('policyloop', () => policyloop),
  ];
}

function budgetText({ budget, seeds, date, policyloop, status }: BaselinesResult): string {
  const missing = status === 'completed' ? '' : ' Not all runs are complete.';
  return `Confirmed returns, on seeds that weren't used to choose policies, over ${plural(seeds.length, 'repeat')}. Budget: ${budgetWords(budget)}. ${seeds.length === 1 ? 'Seed' : 'Seeds'}: ${seeds.join(', ')}. policyloop ${policyloop}, ${date.slice(0, 10)}.${missing}`;
}

export const budgetWords = ({ iterations, candidates, episodes }: Budget) =>
  `${plural(iterations, 'iteration')}${candidates > 1 ? ` × ${candidates} candidates` : ''} after the warm-up, ${plural(episodes, 'episode')} per evaluation`;
