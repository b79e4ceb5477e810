/** Figures of docs/large-model.md: a search that continues from a model's first proposals. */

import { groupedBy } from '../../src/base/grouped.js';
import { createGenerator } from '../../src/base/random/generator.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { clipped, differenceRange, type Interval } from '../../src/statistics/bootstrap.js';
import { ascending, mean, quantile } from '../../src/statistics/descriptive.js';
import { normalTail, studentQuantile975 } from '../../src/statistics/distributions.js';
import { readRows, tableOf } from './rows.js';

/** One search: the fresh means of the policies with the best scores after `at` evaluations. */
interface Row {
  readonly environment: string;
  /** The model whose first proposals it continues from, or `random policies`. */
  readonly by: string;
  /** Number of the model's run; 0 for random policies. */
  readonly run: number;
  readonly calls: number;
  /** `none`: the model alone. */
  readonly search: 'gp' | 'cma-es' | 'hill-climb' | 'none';
  readonly seed: number;
  readonly at: readonly number[];
  readonly means: readonly number[];
  /** Number of the first evaluation with 99% of the highest possible return; 0 if there is none. */
  readonly solved: number;
}

interface Estimate {
  readonly centre: number;
  readonly interval: Interval | undefined;
}

/** Values of an arm by run of the model and seed. */
type Arm = ReadonlyMap<number, ReadonlyMap<number, number>>;

const searches = { gp: 'Gaussian process', 'cma-es': 'CMA-ES', 'hill-climb': 'hill climbing' } as const;
const resamples = 4000;

const armOf = (rows: readonly Row[], at: number): Arm =>
  new Map(
    [...groupedBy(rows, ({ run }) => run)].map(([run, own]) => [
      run,
      new Map(own.map((row) => [row.seed, row.means[row.at.indexOf(at)]!])),
    ]),
  );

/**
 * Mean of an arm, or its mean difference from another, with a 95% interval: the model's runs and the seeds are drawn with
 * replacement, the same ones for both arms. Tails are widened as Student's t with as many runs, or seeds if there is one.
 */
function estimate(arm: Arm, range: Interval, from?: Arm): Estimate {
  const runs = [...arm.keys()];
  const seeds = [...arm.values().next().value!.keys()].filter((seed) =>
    [...arm.values(), ...(from?.values() ?? [])].every((own) => own.has(seed)),
  );
  const returnOf = (own: Arm, run: number, seed: number) => (own.get(run) ?? own.get(0)!).get(seed)!;
  const meanOver = (someRuns: readonly number[], someSeeds: readonly number[]) =>
    mean(
      someRuns.flatMap((run) =>
        someSeeds.map((seed) => returnOf(arm, run, seed) - (from ? returnOf(from, run, seed) : 0)),
      ),
    );
  const centre = meanOver(runs, seeds);
  const count = runs.length > 1 ? runs.length : seeds.length;
  if (count < 3) return { centre, interval: undefined };
  const generator = createGenerator(0);
  const drawn = (values: readonly number[]) =>
    values.map(() => values[generator.integers(0, values.length)]!);
  const means = ascending(Array.from({ length: resamples }, () => meanOver(drawn(runs), drawn(seeds))));
  const tail = normalTail(Math.sqrt(count / (count - 1)) * studentQuantile975(count - 1));
  const interval: Interval = [quantile(means, tail), quantile(means, 1 - tail)];
  return { centre, interval: clipped(interval, from ? differenceRange(range) : range, centre) };
}

const number = (value: number) =>
  value.toLocaleString('en', { maximumFractionDigits: 1, minimumFractionDigits: 1 }).replace('-', '−');

function shown({ centre, interval }: Estimate, isDifference = false): string {
  if (interval === undefined) return number(centre);
  const text = `${number(centre)} [${interval.map(number).join(', ')}]`;
  return isDifference && interval[0] * interval[1] > 0 ? `**${text}**` : text;
}

function figuresOf(environment: string, rows: readonly Row[]): string {
  const range = returnRange({ id: environment, options: {} }, { maxSteps: 1000 });
  const alone = rows.filter(({ search }) => search === 'none');
  const calls = [...new Set(rows.filter(({ search }) => search !== 'none').map((row) => row.calls))].sort(
    (a, b) => a - b,
  );
  const seeds = new Set(alone.map(({ seed }) => seed)).size;
  let text = `${new Set(alone.map(({ run }) => run)).size} runs of the model × ${seeds} seeds.\n\n`;
  const of = (search: string, first: number) =>
    rows.filter((row) => row.search === search && row.calls === first);
  for (const at of [100, 200]) {
    const header = [
      `${at} evaluations`,
      ...calls.map((count) => (count === 0 ? 'the search alone' : `${count} calls first`)),
    ];
    const lines = Object.entries(searches).map(([search, label]) => [
      label,
      ...calls.map((first) => shown(estimate(armOf(of(search, first), at), range))),
    ]);
    const model = [
      'the model alone',
      shown(estimate(armOf(alone, at), range)),
      ...calls.slice(1).map(() => ''),
    ];
    text += `${tableOf(header, [...lines, model])}\n`;
  }
  const differences = Object.entries(searches).map(([search, label]) => [
    `20 calls, then ${label}`,
    ...[100, 200].flatMap((at) => {
      const arm = armOf(of(search, 20), at);
      return [armOf(of(search, 0), at), armOf(alone, at)].map((from) =>
        shown(estimate(arm, range, from), true),
      );
    }),
  ]);
  const header = [
    'difference from',
    'the search alone, 100',
    'the model alone, 100',
    'the search alone, 200',
    'the model alone, 200',
  ];
  text += tableOf(header, differences);
  if (Number.isFinite(range[1]) && rows.some(({ solved }) => solved > 0)) {
    const share = (own: readonly Row[]) =>
      `${own.filter(({ solved }) => solved > 0 && solved <= 100).length} of ${own.length}`;
    const solved = Object.entries(searches).map(([search, label]) => [
      label,
      ...calls.map((first) => share(of(search, first))),
    ]);
    const model = ['the model alone', share(alone), ...calls.slice(1).map(() => '')];
    text += `\n${tableOf([`solved within 100 (≥ ${number(0.99 * range[1])})`, ...calls.map((count) => (count === 0 ? 'the search alone' : `${count} calls first`))], [...solved, model])}`;
  }
  return text;
}

export function relayFigures(): string {
  const large = readRows<Row>('relay');
  const tasks = [...groupedBy(large, ({ environment }) => environment)];
  return tasks
    .map(([environment, rows]) => `### Ask, then search: ${environment}\n\n${figuresOf(environment, rows)}\n`)
    .join('');
}
