/**
 * Prints tables of `bench/rows/real-models.jsonl.gz`.
 * Run: npx tsx scripts/real-models/report.ts [--rows FILE] [--groups FILE] [--page]   (`--page` writes them into docs/real-models.md)
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/base/package.js';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { shareInterval95 } from '../../src/statistics/distributions.js';
import { readRows } from '../controls/rows.js';
import { bootstrapWithin, type Constants, normalised } from '../embedded/statistics.js';
import { fillBlock } from '../tiny-improver/model-card.js';
import type { Row } from './figures.js';
import { arms, controls, models, sets, tasks } from './plan.js';

const constants = JSON.parse(
  readFileSync(join(packageRoot(), 'bench', 'embedded-constants.json'), 'utf8'),
) as Readonly<Record<string, Constants>>;

const tableOf = (header: readonly string[], lines: readonly (readonly string[])[]) =>
  [header, header.map((_, i) => (i === 0 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');

/** Normalised return, clipped at −1, so that one policy that never moves doesn't decide the mean. */
const scoreOf = ({ return: value, task }: Row) =>
  value === undefined ? undefined : Math.max(-1, normalised(value, constants[task]!));

const percent = (value: number) => `${Math.round(100 * value)} %`;

function shareText(part: number, whole: number): string {
  if (whole === 0) return '–';
  const [low, high] = shareInterval95(part, whole);
  return `${percent(part / whole)} [${Math.round(100 * low)}, ${Math.round(100 * high)}]`;
}

function returnText(rows: readonly Row[]): string {
  const byTask = new Map<string, number[]>();
  for (const row of rows) {
    const score = scoreOf(row);
    if (score !== undefined) byTask.set(row.task, [...(byTask.get(row.task) ?? []), score]);
  }
  const lists = [...byTask.values()];
  if (lists.length === 0) return '–';
  const value = mean(lists.map(mean)).toFixed(2);
  if (lists.every(({ length }) => length < 2)) return value;
  const [low, high] = bootstrapWithin(lists);
  return `${value} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
}

const total = (
  rows: readonly Row[],
  key: 'calls' | 'evaluated' | 'first' | 'improving' | 'iterations' | 'repeats' | 'seconds',
) => sum(rows.map((row) => row[key]));

const figures = (rows: readonly Row[]): readonly string[] => {
  const [calls, evaluated, iterations] = (['calls', 'evaluated', 'iterations'] as const).map((key) =>
    total(rows, key),
  );
  return [
    String(rows.length),
    shareText(evaluated!, iterations!),
    shareText(total(rows, 'first'), iterations!),
    shareText(total(rows, 'repeats'), calls!),
    shareText(total(rows, 'improving'), evaluated!),
    returnText(rows),
    calls === 0 ? '–' : (total(rows, 'seconds') / calls!).toFixed(1),
  ];
};

const columns = [
  'runs',
  'iterations that evaluate',
  'valid at once',
  'replies that repeat',
  'proposals that improve',
  'return',
  's a call',
];

/** Each model with each prompt set and the defaults, below the baselines on the same tasks and seeds. */
function defaults(rows: readonly Row[]): string {
  const own = rows.filter(({ arm }) => arm === 'default');
  const lines = [
    ...controls.map((control) => [control, ...figures(own.filter((row) => row.with === control))]),
    ...models.flatMap((model) =>
      sets.map((set) => [
        `${model}, ${set}`,
        ...figures(own.filter((row) => row.with === model && row.set === set)),
      ]),
    ),
  ];
  return tableOf(
    ['proposer', ...columns],
    lines.filter(([, runs]) => runs !== '0'),
  );
}

/** Proposals of each arm for the same prompts. */
function comparedArms(rows: readonly Row[]): string {
  const lines = models.flatMap((model) =>
    sets.flatMap((set) =>
      Object.keys(arms).map((arm) => {
        const own = rows.filter((row) => row.with === model && row.set === set && row.arm === arm);
        const [calls, evaluations] = [total(own, 'calls'), sum(own.map((row) => row.calls - failed(row)))];
        return [
          `${model}, ${set}: ${arm}`,
          [...new Set(own.map(({ task }) => task))].join(', '),
          String(calls),
          shareText(total(own, 'repeats'), calls),
          shareText(total(own, 'improving'), evaluations),
          own.length === 0 ? '–' : percent(mean(own.map(({ beaten = 0 }) => beaten))),
          (total(own, 'seconds') / calls).toFixed(1),
        ];
      }),
    ),
  );
  return tableOf(
    ['settings', 'tasks', 'replies', 'repeat', 'improve on the best', 'random policies beaten', 's a reply'],
    lines.filter(([, , replies]) => replies !== '0'),
  );
}

const failed = ({ failures, repeats }: Row) => repeats + sum(Object.values(failures));

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: 'bench/rows/real-models.jsonl.gz' },
    groups: { type: 'string', default: 'bench/rows/real-models-groups.jsonl.gz' },
    page: { type: 'boolean', default: false },
  },
});
const rows = readRows<Row>(values.rows);
const names = [...new Set(rows.map(({ task }) => task))].filter((task) => tasks[task] !== undefined);
const note = `Tasks: ${names.join(', ')}. Shares with exact 95 % intervals. Return: mean over tasks of the best policy on 100 fresh episodes, normalised (0: random search with 100 evaluations; 1: the best known; cut at −1), with a 95 % interval from seeds resampled within tasks.`;
const text = `${note}\n\n${defaults(rows)}\n### Settings compared\n\nEight proposals for one prompt after ten random policies, twice, without corrections.\n\n${comparedArms(readRows<Row>(values.groups))}`;
if (values.page) fillBlock('docs/real-models.md', 'figures', text);
process.stdout.write(text);
