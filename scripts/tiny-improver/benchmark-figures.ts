/** What the results of the benchmark say: what each arm reaches on each task, and how the model differs from the controls. */

import { mean, quantile } from '../../src/statistics/descriptive.js';
import { comparePairs, type PairedDifference, type Summary, summarize } from '../../src/statistics/paired.js';
import { fewestForVerdict } from '../../src/statistics/verdict.js';
import { type Arm, arms as allArms, tasks as allTasks, budgets, type Result } from './benchmark-plan.js';

export interface Reached extends Summary {
  readonly task: string;
  readonly arm: string;
  /** Evaluations. */
  readonly budget: number;
}

export interface Difference extends PairedDifference {
  readonly task: string;
  /** The arm that it is compared with. */
  readonly control: string;
  readonly budget: number;
  /** Where the interval of the IQM's difference leaves out 0, from enough pairs. */
  readonly evidence: 'higher' | 'lower' | null;
}

export interface ArmFacts {
  readonly arm: string;
  readonly label: string;
  readonly runs: number;
  /** First answers, and those of them that were valid; of models, since a control can't answer wrongly. */
  readonly answers: { readonly asked: number; readonly valid: number } | null;
  /** Median of a run with its confirmations. */
  readonly seconds: number;
}

export interface BenchmarkFigures {
  /** Those that have results, in the order of the plan. */
  readonly tasks: readonly string[];
  readonly arms: readonly ArmFacts[];
  /** The arm that is compared with the controls. */
  readonly improver: string;
  readonly reached: readonly Reached[];
  readonly differences: readonly Difference[];
}

/**
 * @param results lines of `results.jsonl`; the last one of the same task, arm and seed counts
 * @param improver the arm that is compared with every arm that another model, or none, plays
 * @throws Error when there are no results of it, or of a task or an arm that the plan has not
 */
export function benchmarkFigures(results: readonly Result[], improver = 'improver'): BenchmarkFigures {
  const last = new Map(results.map((result) => [`${result.task} ${result.arm} ${result.seed}`, result]));
  const distinct = [...last.values()];
  const present = (names: readonly string[], of: (result: Result) => string) => {
    const found = new Set(distinct.map(of));
    const unknown = [...found].find((name) => !names.includes(name));
    if (unknown !== undefined) throw new Error(`results of ${unknown}, which the plan has not`);
    return names.filter((name) => found.has(name));
  };
  const tasks = present(Object.keys(allTasks), ({ task }) => task);
  const arms = present(Object.keys(allArms), ({ arm }) => arm);
  if (!arms.includes(improver)) throw new Error(`no results of the arm ${improver}`);
  const bySeed = (task: string, arm: string) =>
    new Map(distinct.flatMap((one) => (one.task === task && one.arm === arm ? [[one.seed, one]] : [])));
  const controls = arms.filter((arm) => allArms[arm]!.model !== allArms[improver]!.model);
  return {
    tasks,
    improver,
    arms: arms.map((arm) => factsOf(arm, allArms[arm]!, distinct)),
    reached: tasks.flatMap((task) =>
      arms.flatMap((arm) => {
        const own = [...bySeed(task, arm).values()];
        return budgets.flatMap((budget): Reached[] => {
          const summary = summarize(own.map(({ at }) => at[budget]!));
          return summary === undefined ? [] : [{ task, arm, budget, ...summary }];
        });
      }),
    ),
    differences: tasks.flatMap((task) => {
      const ours = bySeed(task, improver);
      return controls.flatMap((control) => {
        const theirs = bySeed(task, control);
        const seeds = [...ours.keys()].filter((seed) => theirs.has(seed));
        return budgets.flatMap((budget): Difference[] => {
          const of = (runs: ReadonlyMap<number, Result>) => seeds.map((seed) => runs.get(seed)!.at[budget]!);
          const compared = comparePairs(of(ours), of(theirs));
          return compared === undefined
            ? []
            : [{ task, control, budget, ...compared, evidence: evidenceOf(compared) }];
        });
      });
    }),
  };
}

function evidenceOf({ pairs, iqmInterval }: PairedDifference): Difference['evidence'] {
  if (iqmInterval === null || pairs < fewestForVerdict) return null;
  if (iqmInterval[0] > 0) return 'higher';
  return iqmInterval[1] < 0 ? 'lower' : null;
}

function factsOf(arm: string, { label, model }: Arm, results: readonly Result[]): ArmFacts {
  const own = results.filter((result) => result.arm === arm);
  const asked = own.reduce((sum, result) => sum + result.asked, 0);
  const refused = own.flatMap(({ failures }) => Object.values(failures)).reduce((sum, n) => sum + n, 0);
  const seconds = own.map((result) => result.seconds).toSorted((a, b) => a - b);
  return {
    arm,
    label,
    runs: own.length,
    answers: model === undefined ? null : { asked, valid: asked - refused },
    seconds: quantile(seconds, 0.5),
  };
}

/** Mean share of paired runs, over tasks, in which the improver ends higher, ties half. */
export function winRate({ differences }: BenchmarkFigures, control: string, budget: number): number {
  return mean(
    differences.filter((one) => one.control === control && one.budget === budget).map((one) => one.winRate),
  );
}
