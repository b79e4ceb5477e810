/** Figures of docs/results/large-model.md: a search that continues from a model's first proposals. */

import { groupBy } from '../../src/base/grouped.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { type Interval, meanInterval95 } from '../../src/statistics/bootstrap.js';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { comparePairs } from '../../src/statistics/paired.js';
import { unpairedTest } from '../../src/statistics/tests.js';
import { readRows, tableOf } from './rows.js';

/** One search: the fresh means of the policies with the best scores after `at` evaluations. */
interface Row {
  readonly environment: string;
  /** The model whose first proposals it continues from, or `random policies`. */
  readonly by: string;
  /** Number of the model's run; 0 for random policies. */
  readonly run: number;
  /** Evaluations before the search: the model's proposals, and the warm-up of `policyloop`'s own runs. */
  readonly calls: number;
  /** `none`: the model alone. */
  readonly search: 'gp' | 'cma-es' | 'hill-climb' | 'none';
  readonly seed: number;
  readonly at: readonly number[];
  readonly means: readonly number[];
  /** Number of the first evaluation in the top 1% of the range of returns; 0 if there is none. */
  readonly solved: number;
  /** For our own runs only: numbers of iterations, of evaluated proposals and of calls. */
  readonly iterations?: number;
  readonly evaluated?: number;
  readonly asked?: number;
}

/**
 * Values of an arm. If each run of a model was continued with several seeds, its mean is one value, because what
 * follows from one run isn't independent; otherwise there is one value per seed.
 */
interface Arm {
  readonly by: 'run' | 'seed';
  readonly values: ReadonlyMap<number, number>;
}

/** Each recorded run starts with this many random policies, which aren't counted; a search alone evaluates as many. */
const randomPolicies = 20;

const searches = { gp: 'Gaussian process', 'cma-es': 'CMA-ES', 'hill-climb': 'hill climbing' } as const;
/** The same evaluations may be in two rows, of a search to 100 and of one to 200. */
function armOf(rows: readonly Row[], at: number): Arm {
  const by = rows.some(({ run, seed }) => run > 0 && run !== seed) ? 'run' : 'seed';
  const units = groupBy(
    rows.filter((row) => row.at.includes(at)),
    (row) => row[by],
  );
  const values = [...units].map(([unit, own]) => {
    const bySeed = new Map(own.map((row) => [row.seed, row.means[row.at.indexOf(at)]!]));
    return [unit, mean([...bySeed.values()])] as const;
  });
  return { by, values: new Map(values) };
}

const shown = (value: number, range: Interval) => number(value, range[1] <= 1 && range[0] >= -1 ? 3 : 1);

/** A figure with its 95% interval; empty without values. */
const cell = (center: number, interval: Interval | null, range: Interval) =>
  interval === null
    ? shown(center, range)
    : `${shown(center, range)} [${interval.map((end) => shown(end, range)).join(', ')}]`;

/** Mean of an arm; empty if there are no rows. */
function meanOf({ values }: Arm, range: Interval): string {
  const own = [...values.values()];
  return own.length === 0 ? '' : cell(mean(own), meanInterval95(own, range), range);
}

/** Mean difference of two arms: paired if both have a value per run or both one per seed. */
function differenceOf(arm: Arm, from: Arm, range: Interval): string {
  const units = [...arm.values.keys()];
  const [own, others] = [[...arm.values.values()], [...from.values.values()]];
  if (own.length === 0 || others.length === 0) return '';
  const { difference, interval } =
    arm.by === from.by
      ? comparePairs(
          own,
          units.map((unit) => from.values.get(unit) ?? null),
          range,
        )!
      : unpairedTest(own, others, range);
  return cell(difference, interval, range);
}

const number = (value: number, digits = 1) =>
  value
    .toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits })
    .replace('-', '−');

const rangeOf = (environment: string) => returnRange({ id: environment, options: {} }, { maxSteps: 1000 });

function ofRecord(environment: string, rows: readonly Row[]): string {
  const range = rangeOf(environment);
  const alone = rows.filter(({ search }) => search === 'none');
  const first = [...new Set(rows.filter(({ search }) => search !== 'none').map(({ calls }) => calls))];
  const calls = first.sort((a, b) => a - b);
  const of = (search: string, count: number) =>
    rows.filter((row) => row.search === search && row.calls === count);
  const header = (text: string) => [
    text,
    ...calls.map((count) => (count === 0 ? 'no call' : `${count} calls first`)),
    'the model alone',
  ];
  const runs = new Set(alone.map(({ run }) => run));
  /** Shows nothing until all runs of the model have been continued. */
  const armAt = (search: string, count: number, at: number): Arm => {
    const arm = armOf(of(search, count), count === 0 ? at + randomPolicies : at);
    return arm.by === 'run' && arm.values.size < runs.size ? { ...arm, values: new Map() } : arm;
  };
  const tables = [100, 200].map((at) => {
    const lines = Object.entries(searches).map(([search, label], i) => [
      label,
      ...calls.map((count) => meanOf(armAt(search, count, at), range)),
      i === 0 ? meanOf(armOf(alone, at), range) : '',
    ]);
    return tableOf(header(`after ${at} evaluations`), lines);
  });
  const differences = Object.entries(searches).map(([search, label]) => [
    `20 calls, then ${label}`,
    ...[100, 200].flatMap((at) => {
      const arm = armAt(search, 20, at);
      return [armAt(search, 0, at), armOf(alone, at)].map((from) => differenceOf(arm, from, range));
    }),
  ]);
  const against = [100, 200].flatMap((at) => [`less the search alone, ${at}`, `less the model alone, ${at}`]);
  return [...tables, tableOf(['difference', ...against], differences)].join('\n');
}

function ofModels(rows: readonly Row[]): string {
  const models = [...new Set(rows.map(({ by }) => by))].filter((by) => by !== 'random policies');
  const lines = models.flatMap((model) =>
    [...groupBy(rows, ({ environment }) => environment)].flatMap(([environment, all]) => {
      const range = rangeOf(environment);
      const of = (by: string, search: string) =>
        all.filter((row) => row.by === by && row.search === search).map((row) => ({ ...row, run: 0 }));
      const [own, random, alone] = [of(model, 'gp'), of('random policies', 'gp'), of(model, 'none')];
      if (own.length === 0) return [];
      const seeds = own.map(({ seed }) => seed);
      const base = armOf(
        random.filter(({ seed }) => seeds.includes(seed)),
        100,
      );
      return [
        [
          `${model}, ${environment}`,
          String(own.length),
          `${sum(alone.map(({ evaluated = 0 }) => evaluated))} of ${sum(alone.map(({ iterations = 0 }) => iterations))}`,
          String(sum(alone.map(({ asked = 0 }) => asked))),
          meanOf(armOf(alone, 25), range),
          meanOf(armOf(own, 100), range),
          meanOf(base, range),
          differenceOf(armOf(own, 100), base, range),
        ],
      ];
    }),
  );
  const header = [
    'model, task',
    'seeds',
    'iterations that evaluated a proposal',
    'calls',
    'the model alone, 25 evaluations',
    'then the Gaussian process, 100',
    'random policies, then it, 100',
    'difference',
  ];
  return tableOf(header, lines);
}

/** Mean fresh return after 100 evaluations of the record: `none` for the model alone, otherwise after `calls` calls. */
export function reachedByRelay(environment: string, search: Row['search'], calls?: number): number {
  const rows = readRows<Row>('relay').filter(
    (row) =>
      row.environment === environment && row.search === search && (search === 'none' || row.calls === calls),
  );
  return mean([...armOf(rows, calls === 0 ? 100 + randomPolicies : 100).values.values()]);
}

/** Number of iterations in which a small model evaluated a proposal, e.g. `20 of 24`. */
export function evaluatedBy(model: string): string {
  const own = readRows<Row>('relay-small').filter(({ by, search }) => by === model && search === 'none');
  return `${sum(own.map(({ evaluated = 0 }) => evaluated))} of ${sum(own.map(({ iterations = 0 }) => iterations))}`;
}

export function relayFigures(): string {
  const tasks = [...groupBy(readRows<Row>('relay'), ({ environment }) => environment)];
  const record = tasks.map(([environment, rows]) => `#### ${environment}\n\n${ofRecord(environment, rows)}`);
  return `### Ask, then search\n\n${record.join('\n')}\n### Small models ask, then search\n\n${ofModels(readRows<Row>('relay-small'))}`;
}
