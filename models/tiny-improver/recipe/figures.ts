/**
 * Computes the figures of the model's card from `bench/rows/embedded.jsonl.gz`.
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
  /** Number of a model's first answers, and of the valid ones. */
  readonly asked?: number;
  readonly valid?: number;
  readonly seconds: number;
}

/** Numbers of evaluations (including the warm-up) after which the best policy so far is evaluated again. */
const budgets = [20, 50, 100];
const last = budgets.length - 1;

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

const rows = readRows<Row>('embedded').filter(({ arm }) => arm in arms);

const two = (value: number) => value.toFixed(2).replace('-', '−');
const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(3).replace('-', '−')}`;

/** An arm on a task, whose returns are normalised with the constants of the declared task. */
interface Cell {
  readonly task: string;
  readonly arm: string;
  readonly of?: string;
}

const rowsOf = ({ arm, task }: Cell) => rows.filter((row) => row.arm === arm && row.task === task);

/** Normalised differences of two cells at a budget, paired by seed. */
function pairsOf(cell: Cell, other: Cell, budget: number): readonly number[] {
  const own = constants[cell.of ?? cell.task]!;
  const theirs = new Map(rowsOf(other).map((row) => [row.seed, row]));
  return rowsOf(cell).flatMap((row) => {
    const paired = theirs.get(row.seed);
    return paired === undefined
      ? []
      : [normalised(row.at[budget]!, own) - normalised(paired.at[budget]!, own)];
  });
}

const differenceTable = (first: string, lines: readonly (readonly string[])[]) =>
  tableOf([first, 'tasks', 'pairs', 'difference', 'wins', 'on these tasks', 'p over tasks (Holm)'], lines);

/** All differences of the card, in the order of their lines. */
const tested: Difference[] = [];

/** Fills in which differences are evident, and p over tasks, both corrected for all of the card. */
function withVerdicts(text: string): string {
  const isEvident = evident(tested);
  const overTasks = holmAdjusted(tested.map(({ pOverTasks }) => pOverTasks));
  return text.replaceAll(/\{(\d+)\}/g, (_, number) => {
    const { difference } = tested[Number(number)]!;
    const p = overTasks[Number(number)]!;
    const verdict = isEvident[Number(number)] ? (difference > 0 ? 'above' : 'below') : 'not shown';
    return `${verdict} | ${p < 0.001 ? '< 0.001' : p.toFixed(3)}`;
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

const compared = (arm: string, other: string, budget: number) => {
  const tasks = new Set(
    rows.flatMap((row) => (row.arm === arm && declared.includes(row.task) ? [row.task] : [])),
  );
  return new Map([...tasks].map((task) => [task, pairsOf({ task, arm }, { task, arm: other }, budget)]));
};

/** Normalised returns at each budget, one list per budget. */
const scaled = (cell: Cell, own: Constants) =>
  budgets.map((_, b) => rowsOf(cell).map((row) => normalised(row.at[b]!, own)));

function overall(): string {
  const lines = truthful.map((arm) => {
    const cells = declared.map((task) => scaled({ task, arm }, constants[task]!));
    const lowest = cells.map(([, , at]) => {
      const tenth = Math.max(1, Math.round(at!.length / 10));
      return mean(at!.toSorted((a, b) => a - b).slice(0, tenth));
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
  const header = ['arm', 'proposer', 'tasks × runs', ...budgets.map(String), 'lowest tenth'];
  return `### Over all tasks\n\nMean normalised return over tasks (${scaleText}) after 20, 50 and 100 evaluations, and that of the lowest tenth of the runs after 100.\n\n${tableOf(header, lines)}`;
}

function comparisons(): string {
  const lines = Object.entries(baselines).flatMap(([arm, label]) =>
    budgets.flatMap((budget, b) => differenceLine(`${label}, ${budget}`, compared('model', arm, b))),
  );
  return `### Compared with each baseline\n\nMean normalised difference over tasks with the 95 % interval from the seeds within each task, and the share of pairs won. "Above" and "below": evident on these tasks, that is, the interval excludes 0, and a sign-flip test over the pairs gives p < 0.05 after Holm's correction for all differences of this card. The last column is p of a sign-flip test over the tasks' means, with the same correction: whether the difference would hold for other tasks.\n\n${differenceTable('compared with, evaluations', lines)}`;
}

/** A model that uses scores falls to the level of random search if its history is false. */
function falseHistories(): string {
  const lines = Object.entries({ ...model, ...falsified }).flatMap(([arm, label]) =>
    differenceLine(label, compared(arm, 'random', last)),
  );
  return `### Falsified histories, compared with random search at 100 evaluations\n\n${differenceTable('history', lines)}`;
}

function transformedTasks(): string {
  const shown = ['model', 'hill', 'mix'];
  const lines = shown.flatMap((arm) =>
    transformations.flatMap((transformation) => {
      const pairs = transformed.map((task): [string, readonly number[]] => {
        const changed = { task: `${task}:${transformation}`, arm, of: task };
        return [task, pairsOf(changed, { task, arm }, last)];
      });
      return differenceLine(`${arms[arm]}, ${transformation}`, new Map(pairs));
    }),
  );
  const returns = transformed.flatMap((task) =>
    transformations.map((transformation) => [
      `${task}:${transformation}`,
      ...shown.map((arm) => {
        const changed = { task: `${task}:${transformation}`, arm };
        if (rowsOf(changed).length < fewestRuns) return '–';
        const [now, before] = [changed, { task, arm }].map((cell) =>
          two(mean(scaled(cell, constants[task]!)[last]!)),
        );
        return `${now} (${before})`;
      }),
    ]),
  );
  return `### Transformed tasks, compared with the original task at 100 evaluations\n\n${differenceTable('arm, transformation', lines)}\nMean normalised return, with that of the original task in parentheses.\n\n${tableOf(['task', ...shown], returns)}`;
}

function returnTables(): readonly string[] {
  return budgets.map((budget, b) => {
    const lines = declared.map((task) => [
      task,
      ...truthful.map((arm) => {
        const value = mean(rowsOf({ task, arm }).map(({ at }) => at[b]!));
        return String(Number(value.toPrecision(4))).replace('-', '−');
      }),
    ]);
    return `### Mean return on fresh episodes at ${budget} evaluations\n\n${tableOf(['task', ...truthful], lines)}`;
  });
}

function seconds(): string {
  const lines = Object.entries(arms).map(([arm, label]) => {
    const own = rows.filter((row) => row.arm === arm);
    const taken = own.map((row) => row.seconds).toSorted((a, b) => a - b);
    const asked = own.flatMap((row) => (row.asked === undefined ? [] : [row.valid! / row.asked]));
    const valid = asked.length === 0 ? '–' : `${(100 * mean(asked)).toFixed(2)} %`;
    return [label, String(own.length), quantile(taken, 0.5).toFixed(1), valid];
  });
  return `### Time and validity\n\nMedian seconds per run, confirmations included, and the share of first answers that were accepted.\n\n${tableOf(['arm', 'runs', 'seconds', 'valid'], lines)}`;
}

const tables = [overall(), comparisons(), falseHistories(), transformedTasks(), ...returnTables(), seconds()];
publish('models/tiny-improver/README.md', withVerdicts(tables.join('\n')));
