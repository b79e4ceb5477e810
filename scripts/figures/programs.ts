/**
 * Computes the figures of docs/results/programs.md: programs by language models, compared with parameters and baselines.
 * Run: npx tsx scripts/figures/programs.ts [--page]
 */
import { mean, sum } from '../../src/statistics/descriptive.js';
import { publish, readRows, tableOf } from './rows.js';
import { bootstrapWithin, type Constants, normalised } from './statistics.js';

/**
 * Constants that normalise returns. `low`: random search over linear policies or tables with 100 evaluations
 * (MountainCar: a car that never arrives). `high`: the best known policy of any form.
 */
const tasks: Readonly<Record<string, Constants>> = {
  CartPole: { low: 207.78, high: 500 },
  MountainCar: { low: -200, high: -105 },
  MountainCarContinuous: { low: 18.735, high: 94 },
  Pendulum: { low: -1184.5, high: -150 },
  Acrobot: { low: -92.2, high: -80 },
  InvertedPendulum: { low: 75.513, high: 1000 },
  FrozenLake: { low: 0.16765, high: 0.74 },
  Nim: { low: 0.12471, high: 1 },
};
const models = ['qwen0.5', 'qwen1.5'];
/** What a language model proposes. */
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

/** Normalised return, cut at −1; a run without a policy counts as 0. */
const scoreOf = ({ return: value, task }: Row) =>
  value === undefined ? 0 : Math.max(-1, normalised(value, tasks[task]!));

const proposers = [
  ...baselines.map((arm) => ({ arm, with: '-', label: arm })),
  ...models.flatMap((model) => arms.map((arm) => ({ arm, with: model, label: `${model}: ${arm}` }))),
];
type Proposer = (typeof proposers)[number];
const rowsOf = (proposer: Proposer) =>
  rows.filter((row) => row.arm === proposer.arm && row.with === proposer.with);

/** Resamples runs within tasks; where some task has a single run, tasks. */
const interval = (lists: readonly (readonly number[])[]): string => {
  const isRepeated = lists.every(({ length }) => length >= 2);
  const [low, high] = bootstrapWithin(isRepeated ? lists : [lists.map(mean)]);
  return ` [${low.toFixed(2)}, ${high.toFixed(2)}]`;
};

const byTask = <T>(items: readonly T[], taskOf: (item: T) => string, numberOf: (item: T) => number) => {
  const lists = new Map<string, number[]>();
  for (const item of items) lists.set(taskOf(item), [...(lists.get(taskOf(item)) ?? []), numberOf(item)]);
  return [...lists.values()];
};

/** Mean return by task, and the normalised mean over tasks. */
function returns(): string {
  const header = ['proposer', 'runs', ...Object.keys(tasks), 'normalised'];
  const lines = proposers.flatMap((proposer) => {
    const own = rowsOf(proposer);
    if (own.length === 0) return [];
    const cells = Object.keys(tasks).map((task) => {
      const confirmed = own.flatMap((row) =>
        row.task === task && row.return !== undefined ? [row.return] : [],
      );
      return confirmed.length === 0 ? '–' : String(Number(mean(confirmed).toPrecision(3)));
    });
    const lists = byTask(own, ({ task }) => task, scoreOf);
    return [
      [proposer.label, String(own.length), ...cells, `${mean(lists.map(mean)).toFixed(2)}${interval(lists)}`],
    ];
  });
  return tableOf(header, lines);
}

/** Paired differences of each proposer to programs by the same model, or to genetic programming. */
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
      const other = theirs.get(`${row.task} ${row.seed}`);
      return other === undefined ? [] : [{ task: row.task, difference: scoreOf(row) - scoreOf(other) }];
    });
    if (matched.length === 0) return [];
    const lists = byTask(
      matched,
      ({ task }) => task,
      ({ difference }) => difference,
    );
    const value = `${mean(lists.map(mean)).toFixed(2)}${interval(lists)}`;
    return [[`${a.label} − ${b.label}`, String(matched.length), String(lists.length), value]];
  });
  return tableOf(['difference', 'pairs', 'tasks', 'normalised return'], lines);
}

/** What became of the replies. */
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

const byModels = `\n### Paired differences\n\n${differences()}\n### Replies\n\n${replies()}`;
publish('docs/results/programs.md', returns() + byModels);
