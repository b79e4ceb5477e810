/**
 * Prints the tables of `bench/rows/programs.jsonl.gz`.
 * Run: npx tsx scripts/programs/report.ts [--rows FILE] [--page]   (`--page` writes them into docs/programs.md)
 */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { readRows } from '../controls/rows.js';
import { bootstrapWithin, normalised } from '../embedded/statistics.js';
import type { Row } from '../real-models/figures.js';
import { fillBlock } from '../tiny-improver/model-card.js';
import { arms, baselines, models, tasks } from './plan.js';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: 'bench/rows/programs.jsonl.gz' },
    page: { type: 'boolean', default: false },
  },
});
const rows = readRows<Row>(values.rows);

/** Normalised return, cut at −1; a run without a policy counts as 0. */
const scoreOf = ({ return: value, task }: Row) =>
  value === undefined ? 0 : Math.max(-1, normalised(value, tasks[task]!));

const proposers = [
  ...Object.keys(baselines).map((arm) => ({ arm, with: '-', label: arm })),
  ...models.flatMap((model) =>
    Object.keys(arms).map((arm) => ({ arm, with: model, label: `${model}: ${arm}` })),
  ),
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
  return table(header, lines);
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
  return table(['difference', 'pairs', 'tasks', 'normalised return'], lines);
}

/** What became of the replies. */
function replies(): string {
  const lines = proposers.flatMap((proposer) => {
    const own = rowsOf(proposer);
    if (own.length === 0 || proposer.with === '-') return [];
    const total = (key: 'calls' | 'first' | 'improving' | 'repeats' | 'seconds') =>
      sum(own.map((row) => row[key]));
    const failed = sum(own.map(({ failures }) => sum(Object.values(failures))));
    const share = (part: number) => `${Math.round((100 * part) / total('calls'))} %`;
    const shares = [share(total('repeats')), share(failed)];
    const seconds = (total('seconds') / total('calls')).toFixed(1);
    return [[proposer.label, String(total('calls')), ...shares, String(total('improving')), seconds]];
  });
  return table(['proposer', 'replies', 'repeats', 'unusable', 'improvements', 's a reply'], lines);
}

const table = (header: readonly string[], lines: readonly (readonly string[])[]) =>
  [header, header.map((_, i) => (i === 0 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');

const byModels = `\n### Paired differences\n\n${differences()}\n### Replies\n\n${replies()}`;
const text = `${returns()}${rows.some((row) => row.with !== '-') ? byModels : ''}`;
if (values.page) fillBlock('docs/programs.md', 'figures', text);
process.stdout.write(text);
