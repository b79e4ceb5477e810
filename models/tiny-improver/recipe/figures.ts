/**
 * Computes the figures of the model's card from `bench/rows/embedded.jsonl.gz` and `new-tasks.jsonl.gz`.
 * Run: npx tsx models/tiny-improver/recipe/figures.ts [--page]   (`--page` writes them into the card)
 */
import { publish, readRows, tableOf } from '../../../scripts/figures/rows.js';
import {
  type Constants,
  constants,
  type Difference,
  differenceOf,
  evident,
  fewestRuns,
  normalised,
  scalesOf,
  scaleText,
} from '../../../scripts/figures/statistics.js';
import { mean, quantile, sortAscending } from '../../../src/statistics/descriptive.js';
import { holmAdjusted } from '../../../src/statistics/tests.js';

interface Row {
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  /** Mean returns on fresh episodes, one per budget. */
  readonly at: readonly number[];
  /** Number of a model's first replies, and of the valid ones. */
  readonly asked?: number;
  readonly valid?: number;
  readonly seconds: number;
}

/** Overall figures are means over these tasks. The card says which of them had been played before. */
const declared = [
  ...['CartPole', 'MountainCarContinuous', 'Pendulum', 'Acrobot', 'InvertedPendulum'],
  ...[
    'InvertedDoublePendulum',
    'Reacher',
    'Swimmer',
    'Hopper',
    'FrozenLake',
    'Nim',
    'Pong',
    'NavigationTrack',
  ],
];

const baselines = {
  random: 'random search',
  hill: 'hill climbing',
  mix: 'boundary and Gaussian steps',
  cma: 'CMA-ES',
  gp: 'Gaussian process',
};
const falsified = {
  'false-permuted': 'embedded model, history permuted',
  'false-random': 'embedded model, history random',
  'false-constant': 'embedded model, history constant',
  'false-negated': 'embedded model, history negated',
};
const model = { model: 'embedded model' };
const arms: Readonly<Record<string, string>> = {
  ...{ ...model, plain: 'embedded model, plain sampling' },
  ...{ ...falsified, ...baselines },
};
/** The arms with the true history, on all tasks. */
const truthful = Object.keys({ ...model, ...baselines });

const transformations = ['permuted', 'rotated', 'bias-first', 'mixed', 'box-1', 'box-3'];
const transformed = ['CartPole', 'MountainCarContinuous', 'InvertedPendulum'];

/** An arm on a task, whose returns are normalised with the scale of the task `of`. */
interface Cell {
  readonly task: string;
  readonly arm: string;
  readonly of?: string;
}

const two = (value: number) => value.toFixed(2).replace('-', '−');
const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(3).replace('-', '−')}`;

const differenceTable = (first: string, lines: readonly (readonly string[])[]) =>
  tableOf([first, 'tasks', 'pairs', 'difference', 'wins', 'on these tasks', 'p over tasks (Holm)'], lines);

const comparisonText =
  'Mean normalised difference over tasks with the 95 % interval from the seeds within each task, and the share of pairs won. "Above" and "below": evident on these tasks, that is, the interval excludes 0, and a sign-flip test over the pairs gives p < 0.05 after Holm\'s correction for all differences of this part. The last column is p of a sign-flip test over the tasks\' means, with the same correction: whether the difference would hold for other tasks.';

/**
 * Tables of runs on some tasks, whose differences are tested together.
 * @param budgets numbers of evaluations (including the warm-up) after which the best policy so far is evaluated again
 */
function tablesOf(
  rows: readonly Row[],
  tasks: readonly string[],
  scales: Readonly<Record<string, Constants>>,
  budgets: readonly number[],
) {
  /** In the order of their lines. */
  const tested: Difference[] = [];
  const last = budgets.length - 1;

  const rowsOf = ({ arm, task }: Cell) => rows.filter((row) => row.arm === arm && row.task === task);
  const scaled = ({ of, task }: Cell, { at }: Row, budget: number) =>
    normalised(at[budget]!, scales[of ?? task]!);
  const meanOf = (cell: Cell, budget: number) => mean(rowsOf(cell).map((row) => scaled(cell, row, budget)));

  /** Normalised differences of two cells at a budget, paired by seed. */
  function pairsOf(cell: Cell, other: Cell, budget: number): readonly number[] {
    const theirs = new Map(rowsOf(other).map((row) => [row.seed, row]));
    return rowsOf(cell).flatMap((row) => {
      const paired = theirs.get(row.seed);
      return paired === undefined ? [] : [scaled(cell, row, budget) - scaled(cell, paired, budget)];
    });
  }

  function differenceLine(name: string, pairs: ReadonlyMap<string, readonly number[]>) {
    const found = differenceOf(pairs);
    if (found === undefined) return [];
    const { difference, interval, tasks, wins } = found;
    const shown = `${signed(difference)} [${signed(interval[0])}, ${signed(interval[1])}]`;
    const verdict = `{${tested.push(found) - 1}}`;
    const share = `${Math.round(100 * wins)} %`;
    return [[name, String(tasks), String(found.pairs), shown, share, verdict]];
  }

  const compared = (arm: string, other: string, budget: number) =>
    new Map(
      tasks
        .filter((task) => rowsOf({ task, arm }).length > 0)
        .map((task) => [task, pairsOf({ task, arm }, { task, arm: other }, budget)]),
    );

  return {
    overall() {
      const lines = truthful.map((arm) => {
        const cells = tasks.map((task) => ({ task, arm }));
        const runs = rowsOf(cells[0]!).length;
        const lowest = cells.map((cell) => {
          const returns = rowsOf(cell).map((row) => scaled(cell, row, last));
          return mean(
            returns.toSorted((a, b) => a - b).slice(0, Math.max(1, Math.round(returns.length / 10))),
          );
        });
        const means = budgets.map((_, b) => two(mean(cells.map((cell) => meanOf(cell, b)))));
        return [`\`${arm}\``, arms[arm]!, `${cells.length} × ${runs}`, ...means, two(mean(lowest))];
      });
      const header = ['arm', 'proposer', 'tasks × runs', ...budgets.map(String), 'lowest tenth'];
      const most = budgets[last]!;
      return `Mean normalised return over tasks (${scaleText(most)}) after ${budgets.slice(0, -1).join(', ')} and ${most} evaluations, and that of the lowest tenth of the runs after ${most}.\n\n${tableOf(header, lines)}`;
    },

    comparisons() {
      const lines = Object.entries(baselines).flatMap(([arm, label]) =>
        budgets.flatMap((budget, b) => differenceLine(`${label}, ${budget}`, compared('model', arm, b))),
      );
      return `${comparisonText}\n\n${differenceTable('compared with, evaluations', lines)}`;
    },

    /** A model that uses scores falls to the level of random search if its history is false. */
    falseHistories() {
      const lines = Object.entries({ ...model, ...falsified }).flatMap(([arm, label]) =>
        differenceLine(label, compared(arm, 'random', last)),
      );
      return differenceTable('history', lines);
    },

    transformed() {
      const shown = ['model', 'hill', 'mix'];
      const changed = (task: string, transformation: string, arm: string): Cell => ({
        ...{ task: `${task}:${transformation}`, arm, of: task },
      });
      const lines = shown.flatMap((arm) =>
        transformations.flatMap((transformation) => {
          const pairs = transformed.map((task): [string, readonly number[]] => [
            task,
            pairsOf(changed(task, transformation, arm), { task, arm }, last),
          ]);
          return differenceLine(`${arms[arm]}, ${transformation}`, new Map(pairs));
        }),
      );
      const returns = transformed.flatMap((task) =>
        transformations.map((transformation) => [
          `${task}:${transformation}`,
          ...shown.map((arm) => {
            const cell = changed(task, transformation, arm);
            if (rowsOf(cell).length < fewestRuns) return '–';
            return `${two(meanOf(cell, last))} (${two(meanOf({ task, arm }, last))})`;
          }),
        ]),
      );
      return `${differenceTable('arm, transformation', lines)}\nMean normalised return, with that of the original task in parentheses.\n\n${tableOf(['task', ...shown], returns)}`;
    },

    returns: (heading: string) =>
      budgets.map((budget, b) => {
        const lines = tasks.map((task) => [
          task,
          ...truthful.map((arm) => {
            const value = mean(rowsOf({ task, arm }).map(({ at }) => at[b]!));
            return String(Number(value.toPrecision(4))).replace('-', '−');
          }),
        ]);
        return `${heading} ${budget} evaluations\n\n${tableOf(['task', ...truthful], lines)}`;
      }),

    /** Fills in which differences are evident, and p over tasks, both corrected for all of `tested`. */
    withVerdicts(text: string) {
      const isEvident = evident(tested);
      const overTasks = holmAdjusted(tested.map(({ pOverTasks }) => pOverTasks));
      return text.replaceAll(/\{(\d+)\}/g, (_, number) => {
        const p = overTasks[number]!;
        const verdict = isEvident[number]
          ? tested[number]!.difference > 0
            ? 'above'
            : 'below'
          : 'not shown';
        return `${verdict} | ${p < 0.001 ? '< 0.001' : p.toFixed(3)}`;
      });
    },
  };
}

function seconds(rows: readonly Row[]): string {
  const lines = Object.entries(arms).map(([arm, label]) => {
    const own = rows.filter((row) => row.arm === arm);
    const taken = sortAscending(own.map((row) => row.seconds));
    const asked = own.flatMap((row) => (row.asked === undefined ? [] : [row.valid! / row.asked]));
    const valid = asked.length === 0 ? '–' : `${(100 * mean(asked)).toFixed(2)} %`;
    return [label, String(own.length), quantile(taken, 0.5).toFixed(1), valid];
  });
  return `Median seconds per run, confirmations included, and the share of first replies that were accepted.\n\n${tableOf(['arm', 'runs', 'seconds', 'valid'], lines)}`;
}

const rows = readRows<Row>('embedded').filter(({ arm }) => arm in arms);
const benchmark = tablesOf(rows, declared, constants, [20, 50, 100]);
const benchmarkPart = [
  `### Over all tasks\n\n${benchmark.overall()}`,
  `### Compared with each baseline\n\n${benchmark.comparisons()}`,
  `### Falsified histories, compared with random search at 100 evaluations\n\n${benchmark.falseHistories()}`,
  `### Transformed tasks, compared with the original task at 100 evaluations\n\n${benchmark.transformed()}`,
  ...benchmark.returns('### Mean return on fresh episodes at'),
  `### Time and validity\n\n${seconds(rows)}`,
];

/** Runs on tasks that the model had never been played on, by the protocol of docs/results/tasks.md. */
const newRows = readRows<Row>('new-tasks');
const newTasks = tablesOf(
  newRows,
  [...new Set(newRows.map(({ task }) => task))],
  scalesOf(newRows, 1),
  [20, 50],
);
/** Nothing is shown before all runs of the protocol have ended. */
const newPart =
  newRows.length < 8 * 6 * 40
    ? []
    : [
        `### On eight new tasks\n\n${newTasks.overall()}`,
        newTasks.comparisons(),
        ...newTasks.returns('Mean return on 100 fresh episodes at'),
        '',
      ];
publish(
  'models/tiny-improver/README.md',
  newTasks.withVerdicts(newPart.join('\n')) + benchmark.withVerdicts(benchmarkPart.join('\n')),
);
