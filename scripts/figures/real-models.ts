/**
 * Computes the figures of docs/results/real-models.md: models that run on a laptop, as proposers.
 * Run: npx tsx scripts/figures/real-models.ts [--page]
 */
import { mean, sum } from '../../src/statistics/descriptive.js';
import { proportionInterval95 } from '../../src/statistics/distributions.js';
import { publish, readRows, tableOf } from './rows.js';

const models = ['smollm2', 'qwen0.5', 'qwen1.5'];
const sets = ['semantic', 'numeric', 'compact'];
const arms = ['default', 'labels', 'cold', 'conversation'];
const baselines = ['random', 'hill-climb', 'gp'];

/** A finished run. */
interface Row {
  /** The model, or the baseline. */
  readonly with: string;
  /** The prompt set; `-` for a baseline. */
  readonly set: string;
  readonly task: string;
  readonly arm: string;
  readonly iterations: number;
  /** Iterations that evaluated a proposal. */
  readonly evaluated: number;
  readonly calls: number;
  /** Iterations whose first reply was accepted. */
  readonly first: number;
  /** Replies that repeat known parameters. */
  readonly repeats: number;
  /** Replies rejected for any other reason, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** Proposals that beat the best evaluation before them. */
  readonly improving: number;
  /** Share of the random policies that a proposal beats, averaged over proposals; absent without proposals. */
  readonly beaten?: number;
  /** Wall time of all calls. */
  readonly seconds: number;
}

const percent = (value: number) => `${Math.round(100 * value)} %`;

function shareText(part: number, whole: number): string {
  if (whole === 0) return '–';
  const [low, high] = proportionInterval95(part, whole);
  return `${percent(part / whole)} [${Math.round(100 * low)}, ${Math.round(100 * high)}]`;
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
    calls === 0 ? '–' : (total(rows, 'seconds') / calls!).toFixed(1),
  ];
};

const columns = [
  'runs',
  'iterations that evaluate',
  'valid at once',
  'replies that repeat',
  'proposals that improve',
  's a call',
];

/** Each model with each prompt set and the defaults, below the baselines on the same tasks and seeds. */
function defaults(rows: readonly Row[]): string {
  const own = rows.filter(({ arm }) => arm === 'default');
  const lines = [
    ...baselines.map((control) => [control, ...figures(own.filter((row) => row.with === control))]),
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
      arms.map((arm) => {
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

const rows = readRows<Row>('real-models');
const names = [...new Set(rows.map(({ task }) => task))];
const note = `Tasks: ${names.join(', ')}. Shares with exact 95 % intervals over iterations or replies (Clopper and Pearson). Tasks have one or two seeds, too few for intervals of returns, so the table has none.`;
const text = `${note}\n\n${defaults(rows)}\n### Settings compared\n\nEight proposals for one prompt after ten random policies, twice, without corrections.\n\n${comparedArms(readRows<Row>('real-models-groups'))}`;
publish('docs/results/real-models.md', text);
