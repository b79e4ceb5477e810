/**
 * Measures how often `policyloop audit` raises false alarms, and how often it finds planted luck. Each simulated
 * run has 60 evaluations of 20 episodes.
 * Run: npx tsx scripts/audit-simulation.ts, which summarises bench/rows/audit.jsonl.gz; --runs 200 regenerates the rows
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';
import { groupBy } from '../src/base/grouped.js';
import { packageRoot } from '../src/base/package.js';
import { createGenerator, type RandomGenerator } from '../src/base/random/generator.js';
import { type Environment, symmetricBox } from '../src/environments/environment.js';
import { createPolicyFamily } from '../src/policies/families.js';
import { realLine } from '../src/statistics/bootstrap.js';
import { mean } from '../src/statistics/descriptive.js';
import { audit } from '../src/studies/audit/audit.js';
import { readRows, tableOf } from './figures/rows.js';

/** Returns of an episode; the parameter is their mean. */
const distributions = {
  normal: (random: RandomGenerator, center: number) => center + random.normal(),
  skewed: (random: RandomGenerator, center: number) => center - 1 - Math.log(1 - random.random()),
  success: (random: RandomGenerator, center: number) => (random.random() < center ? 1 : 0),
} as const;

/** Proposals are all equally good, or vary around the best so far. */
const searches = ['equal', 'improving'] as const;

/** A lucky evaluation has the 20 best of this many episodes; 0: none is planted. */
const plants = [0, 40, 80] as const;

interface Row {
  readonly returns: keyof typeof distributions;
  readonly search: (typeof searches)[number];
  /** Seeds of the evaluations, as in a config. */
  readonly seeds: 'common' | 'fresh';
  readonly planted: (typeof plants)[number];
  readonly seed: number;
  /** Number of evaluations that are listed as not reproduced, or as a new best that is lower, although they are neither. */
  readonly accused: number;
  /** Number of new bests that are confirmed, although they are no better. */
  readonly overrated: number;
  /** Number of new bests that are better than the one that they are compared with, and how many of them are confirmed. */
  readonly better: number;
  readonly confirmed: number;
  /** True if the planted evaluation is listed as not reproduced or lower. */
  readonly found: boolean;
  /** True unless the planted evaluation is confirmed. */
  readonly doubted: boolean;
}

const [evaluations, episodes] = [60, 20];

async function simulated(
  setting: Pick<Row, 'returns' | 'search' | 'seeds' | 'planted' | 'seed'>,
): Promise<Row> {
  const { planted, returns: kind, search, seed, seeds } = setting;
  const random = createGenerator(seed, [1]);
  const truths: number[] = [];
  for (let i = 0; i < evaluations; i++) {
    const start = kind === 'success' ? 0.3 : 0;
    const near = Math.max(start, ...truths) + random.normal(-0.2, kind === 'success' ? 0.2 : 0.5);
    truths.push(search === 'equal' ? start : kind === 'success' ? Math.min(1, Math.max(0, near)) : near);
  }
  // In every other episode, all policies have the same luck.
  const played = (policy: number, episode: number) =>
    distributions[kind](createGenerator(episode, episode % 2 === 0 ? [] : [policy]), truths[policy]!);
  let current = 0;
  const environment: Environment = {
    id: 'simulated',
    observationSpace: symmetricBox(1),
    actionSpace: symmetricBox(1),
    reset: (episode) => {
      current = Number(episode);
      return [1];
    },
    step: (action) => {
      const reward = played((action as readonly number[])[0]!, current);
      return { observation: [1], reward, terminated: true, truncated: false };
    },
  };
  const lucky = random.integers(evaluations / 2, evaluations);
  const record = truths.map((_, policy) => {
    const count = planted > 0 && policy === lucky ? planted : episodes;
    const first = 1e6 * seed + (seeds === 'common' ? 0 : 1000 * policy);
    const returns = Array.from({ length: count }, (_, i) => played(policy, first + i))
      .toSorted((a, b) => b - a)
      .slice(0, episodes);
    return { name: String(policy), parameters: [policy], returns, score: mean(returns) };
  });
  const policy = { kind: 'linear', bias: false, low: 0, high: evaluations, decimals: 0 } as const;
  const { improvements, reproduced } = await audit(
    { name: '', evaluations: record, unknown: 0 },
    { environment, family: createPolicyFamily(policy, environment), maxSteps: 1, record: 'none' },
    { episodes, seed, range: realLine, signal: new AbortController().signal },
  );
  const truth = (at: string | null) => truths[Number(at)]!;
  const judged = improvements.list.map((one) => ({ ...one, gain: truth(one.at) - truth(one.before) }));
  const isPlanted = ({ at }: { readonly at: string }) => planted > 0 && Number(at) === lucky;
  const low = judged.filter(({ verdict }) => verdict === 'lower');
  const better = judged.filter(({ gain }) => gain > 0);
  return {
    ...setting,
    accused: new Set(
      [...reproduced.not, ...low.filter(({ gain }) => gain >= 0)]
        .filter((one) => !isPlanted(one))
        .map(({ at }) => at),
    ).size,
    overrated: judged.filter(({ gain, verdict }) => verdict === 'higher' && gain <= 0).length,
    better: better.length,
    confirmed: better.filter(({ verdict }) => verdict === 'higher').length,
    found: [...reproduced.not, ...low].some(isPlanted),
    doubted: !judged.some((one) => isPlanted(one) && one.verdict === 'higher'),
  };
}

async function simulate(runs: number): Promise<void> {
  const rows: Row[] = [];
  for (const returns of Object.keys(distributions) as Row['returns'][])
    for (const search of searches)
      for (const seeds of ['common', 'fresh'] as const)
        for (const planted of plants)
          for (let seed = 0; seed < (planted === 0 ? runs : runs / 3); seed++)
            rows.push(await simulated({ returns, search, seeds, planted, seed }));
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(join(packageRoot(), 'bench', 'rows', 'audit.jsonl.gz'), gzipSync(text));
}

const runs = process.argv.indexOf('--runs');
if (runs > 0) await simulate(Number(process.argv[runs + 1]));
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const lines = [
  ...groupBy(readRows<Row>('audit'), ({ returns, search, seeds }) => `${returns}, ${search}, ${seeds}`),
];
process.stdout.write(
  tableOf(
    [
      'returns, proposals, seeds',
      'runs',
      'accused',
      'overrated',
      'better bests confirmed',
      ...plants.slice(1).flatMap((k) => [`20 of ${k} found`, 'not confirmed']),
    ],
    lines.map(([name, rows]) => {
      const of = (k: number) => rows.filter(({ planted }) => planted === k);
      const share = (k: number, test: (row: Row) => boolean) =>
        percent(mean(of(k).map((row) => (test(row) ? 1 : 0))));
      const total = (key: 'better' | 'confirmed') => mean(of(0).map((row) => row[key]));
      return [
        name,
        String(of(0).length),
        share(0, ({ accused }) => accused > 0),
        share(0, ({ overrated }) => overrated > 0),
        total('better') > 0 ? percent(total('confirmed') / total('better')) : '–',
        ...plants
          .slice(1)
          .flatMap((k) => [share(k, ({ found }) => found), share(k, ({ doubted }) => doubted)]),
      ];
    }),
  ),
);
