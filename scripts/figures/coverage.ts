/**
 * Measures how often intervals cover the truth and verdicts are false, for returns of our tasks and for worse cases.
 * The stored runs of a task are the population; groups are drawn from it.
 * Run: npx tsx scripts/figures/coverage.ts [--page]
 * Rows: npx tsx scripts/figures/coverage.ts --record | gzip -9 > bench/rows/coverage.jsonl.gz
 */
import process from 'node:process';
import { createGenerator, type RandomGenerator } from '../../src/base/random/generator.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { type Interval, realLine } from '../../src/statistics/bootstrap.js';
import { mean } from '../../src/statistics/descriptive.js';
import { comparePairs, summarizeMean } from '../../src/statistics/paired.js';
import { withVerdicts } from '../../src/statistics/tests.js';
import { publish, readRows, tableOf } from './rows.js';

interface Row {
  readonly population: string;
  /** Number of pairs. */
  readonly n: number;
  readonly trials: number;
  /** Share of trials whose interval covers: the mean of the first method, and the difference of both. */
  readonly mean: number;
  readonly difference: number;
  /** Share of trials with a verdict although there is no difference; null if there is one. */
  readonly false: number | null;
}

const [sizes, trials] = [[6, 10, 20], 200];

/** Draws the returns of two methods with a seed in common. */
type Draw = (random: RandomGenerator) => readonly [number, number];
interface Population {
  readonly name: string;
  readonly range: Interval;
  readonly draw: Draw;
  readonly truth: readonly [mean: number, difference: number];
}

const ids: Readonly<Record<string, string>> = {
  ...{ CartPole: 'CartPole-v1', FrozenLake: 'FrozenLake-v1', Nim: 'Nim-v0', Acrobot: 'Acrobot-v1' },
  ...{ MountainCarContinuous: 'MountainCarContinuous-v0', Pendulum: 'Pendulum-v1' },
  ...{ InvertedPendulum: 'InvertedPendulum-v5', Hopper: 'Hopper-v5' },
};
const compared = [
  ['gp', 'hill'],
  ['hill', 'hill'],
] as const;

/** Two methods on a task at 20 and 100 evaluations, paired by seed; or one method against itself, unpaired. */
function* ofTasks(): Generator<Population> {
  const rows = readRows<{ task: string; arm: string; seed: number; at: readonly number[] }>('embedded');
  for (const [task, id] of Object.entries(ids))
    for (const [first, second] of compared)
      for (const [evaluations, index] of [
        [20, 0],
        [100, 2],
      ] as const) {
        const of = (arm: string) =>
          new Map(
            rows.flatMap((row) => (row.task === task && row.arm === arm ? [[row.seed, row.at[index]!]] : [])),
          );
        const [a, b] = [of(first), of(second)];
        const pairs = [...a].map(([seed, value]) => [value, b.get(seed)!] as const);
        const pick = (random: RandomGenerator) => pairs[random.integers(0, pairs.length)]!;
        const ofFirst = mean(pairs.map(([value]) => value));
        yield {
          name: `${task}, ${first === second ? `${first} against itself` : `${first} − ${second}`}, ${evaluations}`,
          range: returnRange({ id, options: {} }, { maxSteps: 1000 }),
          draw: first === second ? (random) => [pick(random)[0], pick(random)[0]] : pick,
          truth: [ofFirst, first === second ? 0 : ofFirst - mean(pairs.map(([, value]) => value))],
        };
      }
}

const solved = (random: RandomGenerator, share: number, otherwise = 10) =>
  random.random() < share ? 500 : otherwise;
const bounds: Interval = [1, 500];

/** Returns that pile up at a bound, and benign ones. */
const made: readonly Population[] = [
  {
    name: 'a constant against 500 in 80 %, equal means',
    range: bounds,
    draw: (r) => [402, solved(r, 0.8)],
    truth: [402, 0],
  },
  {
    name: 'a constant against 500 in 90 %, equal means',
    range: bounds,
    draw: (r) => [451, solved(r, 0.9)],
    truth: [451, 0],
  },
  { name: 'the same, bounds unknown', range: realLine, draw: (r) => [402, solved(r, 0.8)], truth: [402, 0] },
  { name: 'both 500 in 90 %', range: bounds, draw: (r) => [solved(r, 0.9), solved(r, 0.9)], truth: [451, 0] },
  ...[1, 2].map((spread): Population => {
    const draw: Draw = (r) => [Math.max(1, 500 - Math.exp(r.normal(0, spread))), 500];
    const random = createGenerator(1);
    const truth = mean(Array.from({ length: 1e6 }, () => draw(random)[0]));
    return {
      name: `500 minus a lognormal (σ = ${spread}) against 500`,
      range: bounds,
      draw,
      truth: [truth, truth - 500],
    };
  }),
  { name: 'normal', range: realLine, draw: (r) => [r.normal(), r.normal()], truth: [0, 0] },
  {
    name: 'lognormal (σ = 0.8)',
    range: realLine,
    draw: (r) => [Math.exp(r.normal(0, 0.8)), Math.exp(r.normal(0, 0.8))],
    truth: [Math.exp(0.32), 0],
  },
];

function simulated({ draw, name, range, truth }: Population, n: number): Row {
  const random = createGenerator(7);
  const counts = { mean: 0, difference: 0, false: 0 };
  const covers = (interval: Interval | null | undefined, value: number) =>
    interval === null || interval === undefined || (interval[0] <= value && value <= interval[1]);
  for (let trial = 0; trial < trials; trial++) {
    const pairs = Array.from({ length: n }, () => draw(random));
    const [a, b] = [pairs.map(([value]) => value), pairs.map(([, value]) => value)];
    const found = comparePairs(a, b, range)!;
    const { verdict } = withVerdicts([found])[0]!;
    counts.mean += Number(covers(summarizeMean(a, range)!.meanInterval, truth[0]));
    counts.difference += Number(covers(found.interval, truth[1]));
    counts.false += Number(verdict === 'higher' || verdict === 'lower');
  }
  return {
    ...{ population: name, n, trials },
    ...{ mean: counts.mean / trials, difference: counts.difference / trials },
    false: truth[1] === 0 ? counts.false / trials : null,
  };
}

if (process.argv.includes('--record')) {
  const populations = [...made, ...ofTasks()];
  for (const n of sizes)
    for (const population of populations)
      process.stdout.write(`${JSON.stringify(simulated(population, n))}\n`);
} else {
  const rows = readRows<Row>('coverage');
  const percent = (share: number | null) => (share === null ? '–' : `${Math.round(100 * share)} %`);
  const names = [...new Set(rows.map(({ population }) => population))];
  const isMade = (name: string) => made.some((one) => one.name === name);
  const lineOf = (name: string) => {
    const own = sizes.map((n) => rows.find((row) => row.population === name && row.n === n)!);
    const cell = (of: 'mean' | 'difference' | 'false') => own.map((row) => percent(row[of])).join(', ');
    const worst = Math.min(...own.map(({ difference, mean: ofMean }) => Math.min(difference, ofMean)));
    return {
      name,
      worst,
      cells: [name, cell('mean'), cell('difference'), own[0]!.false === null ? '–' : cell('false')],
    };
  };
  const sorted = names.map(lineOf).toSorted((a, b) => a.worst - b.worst);
  const ofRuns = sorted.filter(({ name }) => !isMade(name));
  const header = ['returns', 'mean covered, n = 6, 10, 20', 'difference covered', 'false verdicts'];
  const share = (n: number) => {
    const own = rows.filter((row) => row.n === n && !isMade(row.population));
    const shareCovered = (of: 'mean' | 'difference') =>
      percent(mean(own.map((row) => (row[of] >= 0.9 ? 1 : 0))));
    const wrong = own.flatMap((row) => row.false ?? []);
    return `${n} pairs: ${shareCovered('mean')} of the means and ${shareCovered('difference')} of the differences; false verdicts on average ${(100 * mean(wrong)).toFixed(1)} %, at most ${percent(Math.max(...wrong))}`;
  };
  publish(
    'docs/explanation/verdicts.md',
    [
      `Returns that pile up at a bound (1 to 500), and benign ones:\n\n${tableOf(
        header,
        sorted.filter(({ name }) => isMade(name)).map(({ cells }) => cells),
      )}`,
      `Returns of our tasks, the ten worst of ${ofRuns.length} (two methods, and a method against itself, at 20 and 100 evaluations; the population is the 40 runs of the [model card](../../models/tiny-improver/README.md)):\n\n${tableOf(
        header,
        ofRuns.slice(0, 10).map(({ cells }) => cells),
      )}`,
      `Intervals that cover in at least 90 % of ${trials} trials: ${sizes.map(share).join('; ')}.`,
    ].join('\n'),
  );
}
