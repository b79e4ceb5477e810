/**
 * Computes the figures of docs/results/ablations.md: what a critic gains over plain runs and baselines, at equal
 * evaluations.
 * Run: npx tsx scripts/figures/comparisons.ts [--page]
 */
import { publish, readRows, tableOf } from './rows.js';
import {
  bold,
  constants,
  type Difference,
  differenceOf,
  normalised,
  scaleText,
  withBold,
} from './statistics.js';

const tasks = [
  'CartPole',
  'MountainCarContinuous',
  'Pendulum',
  'InvertedPendulum',
  'Acrobot',
  'FrozenLake',
  'Nim',
];

/** The models, and the evaluations of their runs. */
const compared = [
  { name: 'embedded', evaluations: 60 },
  { name: 'scripted', evaluations: 60 },
  { name: 'local', evaluations: 12 },
];
const arms = { plain: 'plain', critic: 'critic', 'critic-control': 'hill climbing in place of the critic' };
const helped = ['critic', 'critic-control'] as const;
const baselines = ['random', 'hill-climb', 'mix', 'cma-es', 'gp'];

interface Row {
  /** The model, or for a baseline the number of evaluations. */
  readonly with: string;
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  /** Missing in rows recorded before evaluations were counted. */
  readonly evaluations?: number;
  /** Mean return of the best policy over 100 fresh episodes. */
  readonly return: number;
}

/** Selects rows: a model and an arm, or the number of evaluations of a baseline and its name. */
type Who = readonly [model: string, arm: string];

function difference(rows: readonly Row[], [model, arm]: Who, [otherModel, otherArm]: Who) {
  const theirs = new Map(
    rows
      .filter((row) => row.with === otherModel && row.arm === otherArm)
      .map((row) => [`${row.task} ${row.seed}`, row]),
  );
  const found = new Map<string, number[]>();
  for (const row of rows) {
    const other = theirs.get(`${row.task} ${row.seed}`);
    if (row.with !== model || row.arm !== arm || other === undefined) continue;
    const own = constants[row.task]!;
    const paired = normalised(row.return, own) - normalised(other.return, own);
    found.set(row.task, [...(found.get(row.task) ?? []), paired]);
  }
  return differenceOf(found);
}

const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(2).replace('-', '−')}`;

/** All differences of the page, in the order in which their cells are made. */
const tested: Difference[] = [];

/**
 * Formats a difference as a cell; see `withBold`.
 * @param of number of tasks that the model plays; a cell with fewer tasks states their number
 */
function cellOf(found: Difference | undefined, of = 1): string {
  if (found === undefined) return '–';
  const [low, high] = found.interval;
  const value = signed(found.difference);
  const part = found.tasks < of ? `; ${found.tasks} of ${of} tasks` : '';
  return `${bold(value, found, tested)} [${signed(low)}, ${signed(high)}]${part}`;
}

const tasksOf = (rows: readonly Row[], model: string) =>
  tasks.filter((name) => rows.some((row) => row.with === model && row.task === name));

/** The difference of each arm from the plain run, task by task. */
function byTask(rows: readonly Row[], model: (typeof compared)[number]): string {
  const own = rows.filter((row) => row.with === model.name);
  const names = tasksOf(rows, model.name);
  const lines = helped.map((arm) => [
    arms[arm],
    ...names.map((name) => {
      const ofTask = own.filter(({ task }) => task === name);
      return cellOf(difference(ofTask, [model.name, arm], [model.name, 'plain']));
    }),
  ]);
  return `### By task, compared with the plain run: ${heading(model)}\n\n${tableOf(['arm', ...names], lines)}`;
}

const heading = ({ name, evaluations }: (typeof compared)[number]) => `${name}, ${evaluations} evaluations`;

/** The effect of each arm on each model; then, for each model, each arm compared with the baselines. */
function comparisonReport(rows: readonly Row[]): string {
  const gains = helped.map((arm) => [
    arms[arm],
    ...compared.map(({ name }) =>
      cellOf(difference(rows, [name, arm], [name, 'plain']), tasksOf(rows, name).length),
    ),
  ]);
  const critics = compared.map(({ name }) =>
    cellOf(difference(rows, [name, 'critic'], [name, 'critic-control']), tasksOf(rows, name).length),
  );
  const counted = compared.map(({ evaluations, name }) => {
    const own = rows.filter((row) => row.with === name);
    const seeds = new Set(own.map(({ seed }) => seed));
    const fewer = own.filter((row) => row.evaluations !== undefined && row.evaluations < evaluations).length;
    const short = fewer === 0 ? '' : ` (${fewer} runs ended with fewer evaluations)`;
    return `${name}: ${tasksOf(rows, name).length} tasks × ${seeds.size} seeds${short}`;
  });
  const withBaselines = compared.map((model) => {
    const lines = Object.entries(arms).map(([arm, label]) => [
      label,
      ...baselines.map((control) =>
        cellOf(
          difference(rows, [model.name, arm], [String(model.evaluations), control]),
          tasksOf(rows, model.name).length,
        ),
      ),
    ]);
    return `### Compared with each baseline: ${heading(model)}\n\n${tableOf(['arm', ...baselines], lines)}`;
  });
  const gained = tableOf(
    ['arm', ...compared.map(heading)],
    [...gains, ['critic, compared with hill climbing in its place', ...critics]],
  );
  const tasksApart = compared.map((model) => byTask(rows, model));
  return [
    `### Compared with the plain run\n\nMean difference in normalised return over tasks (${scaleText(100)}), with the 95 % interval from the seeds within each task. Bold: evident on these tasks (the interval excludes 0, and p < 0.05 after Holm's correction for the ${tested.length} differences of this page). ${counted.join('; ')}.\n\n${gained}`,
    ...withBaselines,
    ...tasksApart,
  ].join('\n');
}

publish('docs/results/ablations.md', withBold(comparisonReport(readRows<Row>('comparisons')), tested));
