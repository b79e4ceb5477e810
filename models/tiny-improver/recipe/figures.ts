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
import { mean, quantile } from '../../../src/statistics/descriptive.js';
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

/** Runs on some tasks, with their scales, and the differences that are tested together. */
interface Study {
  readonly rows: readonly Row[];
  readonly tasks: readonly string[];
  readonly constants: Readonly<Record<string, Constants>>;
  /** Numbers of evaluations (including the warm-up) after which the best policy so far is evaluated again. */
  readonly budgets: readonly number[];
  /** All differences of the study, in the order of their lines. */
  readonly tested: Difference[];
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
  mix: 'corners and steps',
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

const known: Study = {
  rows: readRows<Row>('embedded').filter(({ arm }) => arm in arms),
  tasks: declared,
  constants,
  budgets: [20, 50, 100],
  tested: [],
};
const fresh = readRows<Row>('new-tasks');
/** The tasks that the model had never been played on, by the protocol of docs/results/tasks.md. */
const unknown: Study = {
  rows: fresh,
  tasks: [...new Set(fresh.map(({ task }) => task))],
  constants: scalesOf(fresh, 1),
  budgets: [20, 50],
  tested: [],
};
const last = known.budgets.length - 1;

const two = (value: number) => value.toFixed(2).replace('-', '−');
const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(3).replace('-', '−')}`;

/** An arm on a task, whose returns are normalised with the constants of the declared task. */
interface Cell {
  readonly task: string;
  readonly arm: string;
  readonly of?: string;
}

const rowsOf = ({ rows }: Study, { arm, task }: Cell) =>
  rows.filter((row) => row.arm === arm && row.task === task);

/** Normalised differences of two cells at a budget, paired by seed. */
function pairsOf(study: Study, cell: Cell, other: Cell, budget: number): readonly number[] {
  const own = study.constants[cell.of ?? cell.task]!;
  const theirs = new Map(rowsOf(study, other).map((row) => [row.seed, row]));
  return rowsOf(study, cell).flatMap((row) => {
    const paired = theirs.get(row.seed);
    return paired === undefined
      ? []
      : [normalised(row.at[budget]!, own) - normalised(paired.at[budget]!, own)];
  });
}

const differenceTable = (first: string, lines: readonly (readonly string[])[]) =>
  tableOf([first, 'tasks', 'pairs', 'difference', 'wins', 'on these tasks', 'p over tasks (Holm)'], lines);

/** Fills in which differences are evident, and p over tasks, both corrected for all of the study. */
function withVerdicts(text: string, { tested }: Study): string {
  const isEvident = evident(tested);
  const overTasks = holmAdjusted(tested.map(({ pOverTasks }) => pOverTasks));
  return text.replaceAll(/\{(\d+)\}/g, (_, number) => {
    const { difference } = tested[Number(number)]!;
    const p = overTasks[Number(number)]!;
    const verdict = isEvident[Number(number)] ? (difference > 0 ? 'above' : 'below') : 'not shown';
    return `${verdict} | ${p < 0.001 ? '< 0.001' : p.toFixed(3)}`;
  });
}

function differenceLine({ tested }: Study, name: string, pairs: ReadonlyMap<string, readonly number[]>) {
  const found = differenceOf(pairs);
  if (found === undefined) return [];
  const { difference, interval, tasks, wins } = found;
  const shown = `${signed(difference)} [${signed(interval[0])}, ${signed(interval[1])}]`;
  const verdict = `{${tested.push(found) - 1}}`;
  const share = `${Math.round(100 * wins)} %`;
  return [[name, String(tasks), String(found.pairs), shown, share, verdict]];
}

const compared = (study: Study, arm: string, other: string, budget: number) => {
  const tasks = study.tasks.filter((task) => rowsOf(study, { task, arm }).length > 0);
  return new Map(
    tasks.map((task) => [task, pairsOf(study, { task, arm }, { task, arm: other }, budget)] as const),
  );
};

/** Normalised returns at each budget, one list per budget. */
const scaled = (study: Study, cell: Cell, own: Constants) =>
  study.budgets.map((_, b) => rowsOf(study, cell).map((row) => normalised(row.at[b]!, own)));

function overall(study: Study): string {
  const { budgets } = study;
  const lines = truthful.map((arm) => {
    const cells = study.tasks.map((task) => scaled(study, { task, arm }, study.constants[task]!));
    const lowest = cells.map((at) => {
      const tenth = Math.max(1, Math.round(at.at(-1)!.length / 10));
      return mean(
        at
          .at(-1)!
          .toSorted((a, b) => a - b)
          .slice(0, tenth),
      );
    });
    const means = budgets.map((_, b) => two(mean(cells.map((at) => mean(at[b]!)))));
    return [
      `\`${arm}\``,
      arms[arm]!,
      `${cells.length} × ${cells[0]![0]!.length}`,
      ...means,
      two(mean(lowest)),
    ];
  });
  const most = budgets.at(-1)!;
  const header = ['arm', 'proposer', 'tasks × runs', ...budgets.map(String), 'lowest tenth'];
  return `Mean normalised return over tasks (${scaleText(most)}) after ${budgets.slice(0, -1).join(', ')} and ${most} evaluations, and that of the lowest tenth of the runs after ${most}.\n\n${tableOf(header, lines)}`;
}

function comparisons(study: Study): string {
  const lines = Object.entries(baselines).flatMap(([arm, label]) =>
    study.budgets.flatMap((budget, b) =>
      differenceLine(study, `${label}, ${budget}`, compared(study, 'model', arm, b)),
    ),
  );
  return differenceTable('compared with, evaluations', lines);
}

const comparisonText =
  'Mean normalised difference over tasks with the 95 % interval from the seeds within each task, and the share of pairs won. "Above" and "below": evident on these tasks, that is, the interval excludes 0, and a sign-flip test over the pairs gives p < 0.05 after Holm\'s correction for all differences of this part. The last column is p of a sign-flip test over the tasks\' means, with the same correction: whether the difference would hold for other tasks.';

/** A model that uses scores falls to the level of random search if its history is false. */
function falseHistories(study: Study): string {
  const lines = Object.entries({ ...model, ...falsified }).flatMap(([arm, label]) =>
    differenceLine(study, label, compared(study, arm, 'random', last)),
  );
  return `### Falsified histories, compared with random search at 100 evaluations\n\n${differenceTable('history', lines)}`;
}

function transformedTasks(study: Study): string {
  const shown = ['model', 'hill', 'mix'];
  const lines = shown.flatMap((arm) =>
    transformations.flatMap((transformation) => {
      const pairs = transformed.map((task): [string, readonly number[]] => {
        const changed = { task: `${task}:${transformation}`, arm, of: task };
        return [task, pairsOf(study, changed, { task, arm }, last)];
      });
      return differenceLine(study, `${arms[arm]}, ${transformation}`, new Map(pairs));
    }),
  );
  const returns = transformed.flatMap((task) =>
    transformations.map((transformation) => [
      `${task}:${transformation}`,
      ...shown.map((arm) => {
        const changed = { task: `${task}:${transformation}`, arm };
        if (rowsOf(study, changed).length < fewestRuns) return '–';
        const [now, before] = [changed, { task, arm }].map((cell) =>
          two(mean(scaled(study, cell, constants[task]!)[last]!)),
        );
        return `${now} (${before})`;
      }),
    ]),
  );
  return `### Transformed tasks, compared with the original task at 100 evaluations\n\n${differenceTable('arm, transformation', lines)}\nMean normalised return, with that of the original task in parentheses.\n\n${tableOf(['task', ...shown], returns)}`;
}

function returnTables(study: Study, heading: string): readonly string[] {
  return study.budgets.map((budget, b) => {
    const lines = study.tasks.map((task) => [
      task,
      ...truthful.map((arm) => {
        const value = mean(rowsOf(study, { task, arm }).map(({ at }) => at[b]!));
        return String(Number(value.toPrecision(4))).replace('-', '−');
      }),
    ]);
    return `${heading} ${budget} evaluations\n\n${tableOf(['task', ...truthful], lines)}`;
  });
}

function seconds({ rows }: Study): string {
  const lines = Object.entries(arms).map(([arm, label]) => {
    const own = rows.filter((row) => row.arm === arm);
    const taken = own.map((row) => row.seconds).toSorted((a, b) => a - b);
    const asked = own.flatMap((row) => (row.asked === undefined ? [] : [row.valid! / row.asked]));
    const valid = asked.length === 0 ? '–' : `${(100 * mean(asked)).toFixed(2)} %`;
    return [label, String(own.length), quantile(taken, 0.5).toFixed(1), valid];
  });
  return `### Time and validity\n\nMedian seconds per run, confirmations included, and the share of first replies that were accepted.\n\n${tableOf(['arm', 'runs', 'seconds', 'valid'], lines)}`;
}

/** Nothing is shown before all runs of the protocol have ended. */
const onNew =
  unknown.rows.length < 8 * 6 * 40
    ? []
    : [
        `### On eight new tasks\n\n${overall(unknown)}`,
        `${comparisonText}\n\n${comparisons(unknown)}`,
        ...returnTables(unknown, 'Mean return on 100 fresh episodes at'),
        '',
      ];
const onKnown = [
  `### Over all tasks\n\n${overall(known)}`,
  `### Compared with each baseline\n\n${comparisonText}\n\n${comparisons(known)}`,
  falseHistories(known),
  transformedTasks(known),
  ...returnTables(known, '### Mean return on fresh episodes at'),
  seconds(known),
];
publish(
  'models/tiny-improver/README.md',
  `${withVerdicts(onNew.join('\n'), unknown)}${withVerdicts(onKnown.join('\n'), known)}`,
);
