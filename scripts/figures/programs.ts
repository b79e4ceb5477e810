/**
 * Computes the figures of docs/results/programs.md: programs by language models, compared with parameters and
 * baselines.
 * Run: npx tsx scripts/figures/programs.ts [--page]
 */
import { groupBy } from '../../src/base/grouped.js';
import { type Interval, interval95 } from '../../src/statistics/bootstrap.js';
import { mean, quantile, sortAscending, sum } from '../../src/statistics/descriptive.js';
import { signFlipTest } from '../../src/statistics/tests.js';
import { publish, readRows, tableOf } from './rows.js';
import {
  bold,
  type Constants,
  constants,
  type Difference,
  meanOverTasks95,
  normalised,
  scaleText,
  withBold,
} from './statistics.js';

const models = ['qwen0.5', 'qwen1.5'];
/** Kinds of proposals by language models. */
const arms = ['programs', 'tuned', 'best of N', 'parameters'];
/** Searches without a language model. */
const baselines = ['random programs', 'genetic programming', 'random parameters', 'Gaussian process'];

/** A finished run. */
interface Row {
  /** The model; `-` for a baseline. */
  readonly with: string;
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  readonly calls: number;
  /** Replies that repeat known parameters. */
  readonly repeats: number;
  /** Replies rejected for any other reason, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** Proposals that beat the best evaluation before them. */
  readonly improving: number;
  /** Wall time of all calls. */
  readonly seconds: number;
  /** Mean return of the best policy on 100 fresh episodes; absent if no proposal was accepted. */
  readonly return?: number;
}

const rows = readRows<Row>('programs');

/** The scales of the tasks. MountainCar, which random search never solves, gets its own scale from these rows. */
const tasks: Readonly<Record<string, Constants>> = {
  CartPole: constants.CartPole!,
  MountainCar: {
    low: -200,
    high: quantile(
      sortAscending(rows.flatMap((row) => (row.task === 'MountainCar' ? (row.return ?? []) : []))),
      0.95,
    ),
  },
  ...Object.fromEntries(
    ['MountainCarContinuous', 'Pendulum', 'Acrobot', 'InvertedPendulum', 'FrozenLake', 'Nim'].map((name) => [
      name,
      constants[name]!,
    ]),
  ),
};

/** Normalised return; undefined for a run without a policy, which evaluated nothing. */
const scoreOf = ({ return: value, task }: Row) =>
  value === undefined ? undefined : normalised(value, tasks[task]!);

const proposers = [
  ...baselines.map((arm) => ({ arm, with: '-', label: arm })),
  ...models.flatMap((model) => arms.map((arm) => ({ arm, with: model, label: `${model}: ${arm}` }))),
];
type Proposer = (typeof proposers)[number];
const rowsOf = (proposer: Proposer) =>
  rows.filter((row) => row.arm === proposer.arm && row.with === proposer.with);

const between = (interval: Interval | null): string =>
  interval === null ? '' : ` [${interval.map((end) => end.toFixed(2)).join(', ')}]`;

/** The values of each task, without missing ones. */
const byTask = <T extends { readonly task: string }>(
  items: readonly T[],
  of: (item: T) => number | undefined,
) =>
  [...groupBy(items, ({ task }) => task).values()]
    .map((own) => own.flatMap((item) => of(item) ?? []))
    .filter((values) => values.length > 0);

/** Mean return of the baselines by task, and the normalised mean over tasks. */
function returns(): string {
  const header = ['proposer', 'runs', ...Object.keys(tasks), 'normalised'];
  const lines = proposers.flatMap((proposer) => {
    const own = rowsOf(proposer).filter((row) => row.return !== undefined);
    if (own.length === 0 || proposer.with !== '-') return [];
    const cells = Object.keys(tasks).map((task) => {
      const confirmed = own.flatMap((row) =>
        row.task === task && row.return !== undefined ? [row.return] : [],
      );
      return confirmed.length === 0 ? '–' : String(Number(mean(confirmed).toPrecision(3)));
    });
    const lists = byTask(own, scoreOf);
    const shown = `${mean(lists.map(mean)).toFixed(2)}${between(meanOverTasks95(lists))}`;
    return [[proposer.label, String(own.length), ...cells, shown]];
  });
  return tableOf(header, lines);
}

const tested: Pick<Difference, 'interval' | 'p'>[] = [];

/** Paired differences between a model's programs and its other arms, and between them and the baselines. */
function differences(): string {
  const pairs = models.flatMap((model) => {
    const own = (arm: string): Proposer => ({ arm, with: model, label: `${model}: ${arm}` });
    const others = [
      ...['tuned', 'best of N', 'parameters'].map(own),
      ...proposers.filter(({ with: name }) => name === '-'),
    ];
    return others.map((other) => [own('programs'), other] as const);
  });
  const lines = pairs.flatMap(([a, b]) => {
    const theirs = new Map(rowsOf(b).map((row) => [`${row.task} ${row.seed}`, row]));
    const matched = rowsOf(a).flatMap((row) => {
      const [own, other] = [row, theirs.get(`${row.task} ${row.seed}`)].map((one) => one && scoreOf(one));
      return own === undefined || other === undefined ? [] : [{ task: row.task, difference: own - other }];
    });
    // A task has one pair, or two, so the tasks are the sample.
    const values = byTask(matched, ({ difference }) => difference).map(mean);
    const interval = interval95([{ values }]);
    if (interval === null) return [];
    const value = bold(mean(values).toFixed(2), { interval, p: signFlipTest(values) }, tested);
    const name = `${a.label} − ${b.label}`;
    return [[name, String(matched.length), String(values.length), `${value}${between(interval)}`]];
  });
  return tableOf(['difference', 'pairs', 'tasks', 'normalised return'], lines);
}

/** Counts of replies by model and arm, with the shares of repeats and unusable ones. */
function replies(): string {
  const lines = proposers.flatMap((proposer) => {
    const own = rowsOf(proposer);
    if (own.length === 0 || proposer.with === '-') return [];
    const total = (key: 'calls' | 'improving' | 'repeats' | 'seconds') => sum(own.map((row) => row[key]));
    const failed = sum(own.map(({ failures }) => sum(Object.values(failures))));
    const share = (part: number) => `${Math.round((100 * part) / total('calls'))} %`;
    const shares = [share(total('repeats')), share(failed)];
    const seconds = (total('seconds') / total('calls')).toFixed(1);
    return [[proposer.label, String(total('calls')), ...shares, String(total('improving')), seconds]];
  });
  return tableOf(['proposer', 'replies', 'repeats', 'unusable', 'improvements', 's a reply'], lines);
}

const baselineText = `Mean return on 100 fresh episodes, and the mean over tasks of the normalised return (${scaleText(100)}; MountainCar: 0 is −200, 1 what one in twenty of its runs here exceeds), with the 95 % interval from the seeds within each task.`;
const pairsText =
  "The 95 % intervals treat the tasks as the sample, because each has a pair or two. Bold: evident (the interval excludes 0, and p < 0.05 after Holm's correction for all differences of this table).";
publish(
  'docs/results/programs.md',
  withBold(
    `${baselineText}\n\n${returns()}\n### Paired differences\n\n${pairsText}\n\n${differences()}\n### Replies\n\n${replies()}`,
    tested,
  ),
);
