/**
 * Compares two rules for choosing a run's best policy: `confirmBest`, and 100 episodes for each of the three best
 * scores.
 * Run: npx tsx scripts/figures/confirmation.ts [--page]
 * Rows: npx tsx scripts/figures/confirmation.ts --record MOUNTAINCAR.csv... | gzip -9 >
 * bench/rows/confirmation.jsonl.gz
 */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { groupBy } from '../../src/base/grouped.js';
import { createGenerator, type RandomGenerator } from '../../src/base/random/generator.js';
import { confirmationSeeds } from '../../src/base/random/seeds.js';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import type { UserModel } from '../../src/models/user-model.js';
import type { ParameterVector } from '../../src/policies/policy.js';
import { playSeeds } from '../../src/rollout/played.js';
import { bestEntries } from '../../src/rollout/replay-buffer.js';
import { selectionBudget } from '../../src/runs/events.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { interval95 } from '../../src/statistics/bootstrap.js';
import { argmax, largest, mean, quantile } from '../../src/statistics/descriptive.js';
import { maxCompetitors, sequentialHalving } from '../../src/statistics/halving.js';
import { noiseFloor, spreadOf } from '../../src/statistics/noise-floor.js';
import { readSources } from '../../src/studies/audit/source.js';
import { type RunConfig, runFromCode } from '../../src/studies/library-run.js';
import { publish, readRows, tableOf } from './rows.js';

/** Default numbers of episodes of an evaluation in a search and of the final evaluation. */
const [searched, final] = [20, 100];
const budget = selectionBudget(final);
const replicates = 2000;

/** Each policy's true mean in a search, and the number of its copies with other parameters. */
const searches: Readonly<
  Record<string, (random: RandomGenerator) => readonly (readonly [number, number])[]>
> = {
  'lucky copies': (r) => Array.from({ length: 20 }, () => [r.normal(), r.integers(1, 10)]),
  'many near-equal': (r) => Array.from({ length: 100 }, () => [0.5 * r.normal(), 1]),
  'rising search': (r) => Array.from({ length: 100 }, (_, i) => [i / 25 + r.normal(), 1]),
  'one clear winner': (r) => Array.from({ length: 100 }, (_, i) => [i === 50 ? 5 : 0.5 * r.normal(), 1]),
};
/** Standard deviations of an episode's return: of the part that all policies share, and of the rest. */
const noises = { low: [4, 2], middle: [0, 4], high: [0, 8] } as const;
/** Values of `confirmation.candidates`. */
const compared = [2, 3, 4, 6, 8, 12, 16];

interface Simulated {
  readonly kind: 'simulation';
  readonly search: string;
  readonly noise: string;
  readonly candidates: number;
  /** Mean gain in the true mean of the chosen policy over the old rule, with its 95% interval. */
  readonly gain: number;
  readonly interval: readonly [number, number];
  /** Mean loss compared with the truly best policy, by the old rule and by the new one. */
  readonly losses: readonly [number, number];
  /** Mean number of episodes of the comparison; the old rule plays 300. */
  readonly episodes: number;
}

interface Floor {
  readonly kind: 'floor';
  /** Number of best policies from which the floor is estimated. */
  readonly from: number;
  /** Median and 90% range of the estimate, divided by the floor of the two truly best policies. */
  readonly ratio: readonly number[];
}

interface Played {
  readonly kind: 'run';
  readonly task: string;
  readonly seed: number;
  /** True mean over 1,000 other episodes of the policy that each rule chooses. */
  readonly old: number;
  readonly chosen: number;
  /** Numbers of episodes and of policies in the comparison. */
  readonly episodes: number;
  readonly finalists: number;
}

const normals = (random: RandomGenerator, count: number, deviation: number) =>
  Array.from({ length: count }, () => deviation * random.normal());

async function* simulated(): AsyncGenerator<Simulated> {
  for (const [search, policiesOf] of Object.entries(searches))
    for (const [noise, [shared, own]] of Object.entries(noises)) {
      const gains = compared.map(() => ({ of: [] as number[], loss: [] as number[], episodes: 0 }));
      const oldLoss: number[] = [];
      for (let seed = 0; seed < replicates; seed++) {
        const random = createGenerator(seed);
        const [starts, fresh] = [normals(random, searched, shared), normals(random, budget, shared)];
        const policies = policiesOf(random).map(([truth, copies]) => {
          const returns = starts.map((start) => truth + start + own * random.normal());
          const later = fresh.map((start) => truth + start + own * random.normal());
          return { truth, copies, returns, later, score: mean(returns) };
        });
        const ranked = policies.toSorted((a, b) => b.score - a.score);
        const three = ranked.flatMap((one) => Array<typeof one>(one.copies).fill(one)).slice(0, 3);
        const old = three[argmax(three.map(({ later }) => mean(later.slice(0, final))))]!;
        const best = largest(policies.map(({ truth }) => truth));
        oldLoss.push(best - old.truth);
        const near = ranked.slice(0, 5).map(({ returns }) => returns);
        const floor = noiseFloor(spreadOf(near, true)!, searched);
        for (const [i, most] of compared.entries()) {
          const within = ranked.filter(({ score }) => ranked[0]!.score - score <= floor);
          const play = async ({ later }: (typeof ranked)[number], first: number, count: number) => {
            gains[i]!.episodes += count / replicates;
            return later.slice(first, first + count);
          };
          const [chosen] = await sequentialHalving(
            within.slice(0, maxCompetitors(budget, most)),
            budget,
            play,
          );
          gains[i]!.of.push(chosen!.truth - old.truth);
          gains[i]!.loss.push(best - chosen!.truth);
        }
      }
      for (const [i, { episodes, loss, of: values }] of gains.entries())
        yield {
          ...({ kind: 'simulation', search, noise, candidates: compared[i]! } as const),
          ...{
            gain: mean(values),
            interval: interval95([{ values }], 'student')!,
            losses: [mean(oldLoss), mean(loss)],
            episodes,
          },
        };
    }
}

/** Better policies vary more from episode to episode, as in many tasks. */
function* floors(): Generator<Floor> {
  const ratios = new Map([2, 5, 10, 100].map((from) => [from, [] as number[]]));
  for (let seed = 0; seed < replicates; seed++) {
    const random = createGenerator(seed);
    const starts = normals(random, searched, 2);
    const policies = Array.from({ length: 100 }, (_, i) => {
      const deviation = 0.1 + i / 20;
      const returns = starts.map((start) => i / 25 + start + deviation * random.normal());
      return { deviation, returns, score: mean(returns) };
    });
    const [second, first] = policies.slice(-2);
    const deviation = Math.hypot(first!.deviation, second!.deviation);
    const ranked = policies.toSorted((a, b) => b.score - a.score).map(({ returns }) => returns);
    const truth = noiseFloor({ deviation, degrees: 1e6 }, searched);
    for (const [from, own] of ratios)
      own.push(noiseFloor(spreadOf(ranked.slice(0, from), true)!, searched) / truth);
  }
  for (const [from, own] of ratios) {
    const sorted = own.toSorted((a, b) => a - b);
    yield { kind: 'floor', from, ratio: [0.5, 0.05, 0.95].map((q) => quantile(sorted, q)) };
  }
}

const tasks = [
  { environment: 'CartPole-v1', model: { provider: 'hill-climb' }, episodes: 5, iterations: 100 },
  { environment: 'Acrobot-v1', model: { provider: 'random' }, episodes: 5, iterations: 100 },
  { environment: 'FrozenLake-v1', model: { provider: 'hill-climb' }, episodes: 20, iterations: 200 },
] as const;
const outside = { env: {}, note: () => {}, now: () => new Date(0), milliseconds: () => 0 };

interface Search {
  readonly task: string;
  readonly given: RunConfig;
  /** Proposals to repeat, one per iteration. */
  readonly script?: readonly ParameterVector[];
  readonly seeds: readonly number[];
}

/** Runs per record; those with fresh episodes vary more. */
const repeats = { common: 2, fresh: 6 } as const;

/** The tasks, and records of a large model's proposals, which are often the same policy with other parameters. */
async function searchesOf(files: readonly string[]): Promise<readonly Search[]> {
  const request = { environment: 'MountainCar-v0', policy: 'linear', runsDir: '', sources: files };
  const records = files.length === 0 ? [] : await readSources(request, { ...outside, cwd: process.cwd() });
  const policy = { kind: 'linear', decimals: 6 } as const;
  return [
    ...tasks.map(({ environment: task, episodes, ...rest }) => ({
      task,
      given: { ...rest, environment: task, evaluation: { episodes } },
      seeds: Array.from({ length: 10 }, (_, i) => i + 1),
    })),
    ...(['common', 'fresh'] as const).flatMap((mode) =>
      records.map(({ evaluations }, i) => ({
        task: `MountainCar-v0, a 120B model's proposals, ${mode} seeds`,
        given: {
          ...({ environment: 'MountainCar-v0', policy, repeats: 'parameters' } as const),
          ...{ warmup: 1, corrections: 0, iterations: evaluations.length, evaluation: { seeds: mode } },
        },
        script: evaluations.map(({ parameters }) => parameters),
        seeds: Array.from({ length: repeats[mode] }, (_, k) => repeats[mode] * i + k + 1),
      })),
    ),
  ];
}

/** Creates a model that replies with the proposals of a record, in order. */
function repeating(script: readonly ParameterVector[]): UserModel {
  let next = 0;
  return {
    id: 'record',
    generate: async () => ({ text: script[next++]!.map((value, i) => `params[${i}]: ${value}`).join(', ') }),
  };
}

async function* runs(files: readonly string[]): AsyncGenerator<Played> {
  const cwd = await mkdtemp(join(tmpdir(), 'confirmation-'));
  for (const { script, seeds, task: name, given: search } of await searchesOf(files))
    for (const seed of seeds) {
      const given = { ...search, seed };
      const own = script && { model: repeating(script) };
      const { directory } = await runFromCode(given, { ...own }, { ...outside, cwd });
      const assembly = await assemble(
        parseConfig({ model: { provider: 'random' }, ...given } as ConfigInput),
        {},
      );
      const { environment: task, family, config } = assembly;
      const setting = {
        environment: task,
        family,
        maxSteps: config.evaluation.maxSteps,
        record: 'none',
      } as const;
      const meanOf = async (parameters: ParameterVector, stage: 'selection' | 'inspection', count: number) =>
        mean((await playSeeds(setting, parameters, confirmationSeeds(seed, stage, count))).returns);
      const three = bestEntries(readRun(directory).entries, 3);
      const means: number[] = [];
      for (const { parameters } of three) means.push(await meanOf(parameters, 'selection', final));
      const old = three[argmax(means)]!;
      const { confirmations } = readManifest(directory);
      const selection = confirmations.filter(({ stage }) => stage === 'selection');
      const chosen = confirmations.find(({ stage }) => stage === 'final')!;
      yield {
        ...({ kind: 'run', task: name, seed } as const),
        old: await meanOf(old.parameters, 'inspection', 1000),
        chosen: await meanOf(chosen.parameters, 'inspection', 1000),
        episodes: selection.reduce((sum, one) => sum + one.episodes, 0),
        finalists: Math.max(1, selection.length),
      };
    }
  rmSync(cwd, { recursive: true });
}

async function record(files: readonly string[]): Promise<void> {
  for (const rows of [simulated(), floors(), runs(files)])
    for await (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
}

const fixed = (value: number, digits = 2) => value.toFixed(digits).replace('-', '−');
const between = ([low, high]: readonly number[], digits = 2) =>
  `[${fixed(low!, digits)}, ${fixed(high!, digits)}]`;

function figures(rows: readonly (Simulated | Floor | Played)[]): string {
  const of = <Kind extends (typeof rows)[number]['kind']>(kind: Kind) =>
    rows.filter((row): row is Extract<(typeof rows)[number], { kind: Kind }> => row.kind === kind);
  const byCase = [...groupBy(of('simulation'), ({ noise, search }) => `${search}, ${noise} noise`)];
  const gains = tableOf(
    ['search', 'loss before', ...compared.map(String)],
    byCase.map(([name, own]) => [
      name,
      fixed(own[0]!.losses[0]),
      ...own.map(({ gain, interval }) => `${fixed(gain)} ± ${fixed(interval[1] - gain)}`),
    ]),
  );
  const ratios = tableOf(
    ['best policies pooled', 'median', '90 % range'],
    of('floor').map(({ from, ratio: [middle, ...range] }) => [String(from), fixed(middle!), between(range)]),
  );
  const played = tableOf(
    ['task', 'three best scores', 'distinct, halved', 'difference', 'policies compared', 'episodes'],
    [...groupBy(of('run'), ({ task }) => task)].map(([task, own]) => {
      const differences = own.map(({ chosen, old }) => chosen - old);
      return [
        task,
        fixed(mean(own.map(({ old }) => old)), 3),
        fixed(mean(own.map(({ chosen }) => chosen)), 3),
        `${fixed(mean(differences), 3)} ${between(interval95([{ values: differences }])!, 3)}`,
        fixed(mean(own.map(({ finalists }) => finalists)), 1),
        fixed(mean(own.map(({ episodes }) => episodes)), 0),
      ];
    }),
  );
  return [gains, ratios, played].join('\n');
}

const at = process.argv.indexOf('--record');
if (at > 0) await record(process.argv.slice(at + 1));
else publish('docs/explanation/decisions/03-seeds-and-confirmation.md', figures(readRows('confirmation')));
