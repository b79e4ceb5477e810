/** Figures of docs/results/large-model.md: a search that continues from a model's first proposals. */

import { groupBy } from '../../src/base/grouped.js';
import { createGenerator } from '../../src/base/random/generator.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import {
  clipped,
  differenceRange,
  hiddenIn,
  hiddenInPairs,
  type Interval,
  interval95,
} from '../../src/statistics/bootstrap.js';
import { ascending, mean, quantile, sum } from '../../src/statistics/descriptive.js';
import { normalTail, studentQuantile975 } from '../../src/statistics/distributions.js';
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
  /** Number of the first evaluation with 99% of the highest possible return; 0 if there is none. */
  readonly solved: number;
  /** Of a run of `policyloop`: its iterations, those that evaluated a proposal, and the calls. */
  readonly iterations?: number;
  readonly evaluated?: number;
  readonly asked?: number;
}

/** Values of an arm by run of the model and seed. */
type Arm = ReadonlyMap<number, ReadonlyMap<number, number>>;

const searches = { gp: 'Gaussian process', 'cma-es': 'CMA-ES', 'hill-climb': 'hill climbing' } as const;
const resamples = 4000;

function armOf(rows: readonly Row[], at: number): Arm {
  const own = groupBy(
    rows.filter((row) => row.at.includes(at)),
    ({ run }) => run,
  );
  const byRun = [...own].map(
    ([run, some]) => [run, new Map(some.map((row) => [row.seed, row.means[row.at.indexOf(at)]!]))] as const,
  );
  return new Map(byRun);
}

/**
 * Mean of an arm, or its mean difference from another, with the 95% interval of all pages. If the model's runs were each
 * continued with several seeds, values of a run depend on each other: then runs and seeds are drawn with replacement, the
 * same ones for both arms, and tails are widened as in Student's t with as many runs.
 */
function estimate(arm: Arm, range: Interval, from?: Arm): string {
  const returnOf = (own: Arm, run: number, seed: number) => (own.get(run) ?? own.get(0))?.get(seed);
  const runs = [...arm.keys()];
  const seeds = [...new Set([...arm.values()].flatMap((own) => [...own.keys()]))];
  const values = new Map(
    runs.flatMap((run) =>
      seeds.flatMap((seed) => {
        const [value, base] = [returnOf(arm, run, seed), from ? returnOf(from, run, seed) : 0];
        return value === undefined || base === undefined ? [] : [[`${run} ${seed}`, [value, base]] as const];
      }),
    ),
  );
  const isCrossed = runs.length > 1 && values.size > runs.length;
  if (values.size === 0) return '';
  const [own, others] = [0, 1].map((i) => [...values.values()].map((pair) => pair[i]!));
  const differences = own!.map((value, i) => value - others![i]!);
  const center = mean(differences);
  const shown = (value: number) => number(value, range[1] <= 1 && range[0] >= -1 ? 3 : 1);
  const hidden = from ? hiddenInPairs(own!, others!, range) : hiddenIn(own!, range);
  const found = isCrossed ? crossed95(runs, seeds, values) : interval95([{ values: differences, hidden }]);
  const interval = clipped(found, from ? differenceRange(range) : range, center);
  return interval === null ? shown(center) : `${shown(center)} [${interval.map(shown).join(', ')}]`;
}

function crossed95(
  runs: readonly number[],
  seeds: readonly number[],
  values: ReadonlyMap<string, readonly number[]>,
): Interval | null {
  const count = runs.length;
  if (count < 3) return null;
  const generator = createGenerator(0);
  const drawn = (all: readonly number[]) => all.map(() => all[generator.integers(0, all.length)]!);
  const resampled = () => {
    const [someRuns, someSeeds] = [drawn(runs), drawn(seeds)];
    const pairs = someRuns.flatMap((run) =>
      someSeeds.flatMap((seed) => [values.get(`${run} ${seed}`) ?? []]),
    );
    return mean(pairs.filter((pair) => pair.length > 0).map(([value, base]) => value! - base!));
  };
  const means = ascending(
    Array.from({ length: resamples }, resampled).filter((value) => !Number.isNaN(value)),
  );
  const tail = normalTail(Math.sqrt(count / (count - 1)) * studentQuantile975(count - 1));
  return [quantile(means, tail), quantile(means, 1 - tail)];
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
  const tables = [100, 200].map((at) => {
    const lines = Object.entries(searches).map(([search, label], i) => [
      label,
      ...calls.map((count) => estimate(armOf(of(search, count), at), range)),
      i === 0 ? estimate(armOf(alone, at), range) : '',
    ]);
    return tableOf(header(`after ${at} evaluations`), lines);
  });
  const differences = Object.entries(searches).map(([search, label]) => [
    `20 calls, then ${label}`,
    ...[100, 200].flatMap((at) => {
      const arm = armOf(of(search, 20), at);
      return [armOf(of(search, 0), at), armOf(alone, at)].map((from) => estimate(arm, range, from));
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
          estimate(armOf(alone, 25), range),
          estimate(armOf(own, 100), range),
          estimate(base, range),
          estimate(armOf(own, 100), range, base),
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

/** Mean fresh return after 100 evaluations of the record: `none` for the model alone, otherwise after so many calls. */
export function reachedByRelay(environment: string, search: Row['search'], calls?: number): string {
  const rows = readRows<Row>('relay').filter(
    (row) =>
      row.environment === environment &&
      row.search === search &&
      row.at.includes(100) &&
      (search === 'none' || row.calls === calls),
  );
  const own = new Map(rows.map((row) => [`${row.run} ${row.seed}`, row.means[row.at.indexOf(100)]!]));
  return number(mean([...own.values()]));
}

/** In how many of their iterations the small models evaluated a proposal. */
export function evaluatedBy(model: string): string {
  const own = readRows<Row>('relay-small').filter(({ by, search }) => by === model && search === 'none');
  return `${sum(own.map(({ evaluated = 0 }) => evaluated))} of ${sum(own.map(({ iterations = 0 }) => iterations))}`;
}

export function relayFigures(): string {
  const tasks = [...groupBy(readRows<Row>('relay'), ({ environment }) => environment)];
  const record = tasks.map(([environment, rows]) => `#### ${environment}\n\n${ofRecord(environment, rows)}`);
  return `### Ask, then search\n\n${record.join('\n')}\n### Small models ask, then search\n\n${ofModels(readRows<Row>('relay-small'))}`;
}
