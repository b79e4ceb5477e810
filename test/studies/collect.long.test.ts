import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { execute as collectCommand } from '../../finetune/commands/collect.js';
import { UserError } from '../../src/base/errors.js';
import { findRuns } from '../../src/runs/listing/names.js';
import { readManifest, runFiles } from '../../src/runs/reader.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { checkCollection, configOfRun, drawRun } from '../../src/studies/collection/collection-plan.js';
import { readRunFile, recordingContext, runExperimentFrom } from '../support/experiments.js';
import { at, collect, contents, place, write } from './collecting.js';

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
  throw new Error('was accepted');
}

describe('the runs of a collection', () => {
  const plan = (file: string, runs: number) => {
    const collection = loadCollection(file, [`runs=${runs}`]);
    return Array.from({ length: runs }, (_, index) => {
      const draw = drawRun(collection, index);
      return { draw, config: configOfRun(collection, draw) };
    });
  };

  it('depend on its seed, and a longer plan starts with the same runs', () => {
    const file = write('planned');
    const runs = plan(file, 40);
    expect(plan(file, 12)).toEqual(runs.slice(0, 12));
    const other = plan(
      write('planned', (same) => same.replace('seed: 3', 'seed: 4')),
      40,
    );
    expect(other.map(({ draw }) => draw.name)).not.toEqual(runs.map(({ draw }) => draw.name));
    expect(new Set([...runs, ...other].map(({ config }) => config.seed)).size).toBe(80);
  });

  it('are drawn by weight, with numbers from the whole of their ranges', () => {
    const runs = plan(write('planned'), 600);
    const share = (provider: string) =>
      runs.filter(({ config }) => config.model.provider === provider).length / runs.length;
    expect(share('hill-climb')).toBeGreaterThan(0.42);
    expect(share('hill-climb')).toBeLessThan(0.58);
    const poles = runs.filter(({ config }) => config.environment.id === 'CartPole-v1').length;
    expect(poles / runs.length).toBeGreaterThan(0.6);
    expect(poles / runs.length).toBeLessThan(0.73);
    const iterations = runs.flatMap(({ config }) =>
      config.model.provider === 'cma-es' ? [config.iterations] : [],
    );
    expect(new Set(iterations)).toEqual(new Set([2, 3, 4, 5]));
    const sigmas = runs.flatMap(({ config: { model } }) =>
      model.provider === 'hill-climb' ? [model.sigma!] : [],
    );
    expect(Math.min(...sigmas)).toBeGreaterThanOrEqual(0.5);
    expect(Math.min(...sigmas)).toBeLessThan(0.7);
    expect(Math.max(...sigmas)).toBeGreaterThan(2.3);
    expect(Math.max(...sigmas)).toBeLessThan(2.5);
  });

  it('take settings from the experiment, overridden by the task and then by the proposer', () => {
    const runs = plan(write('planned'), 30);
    const climbing = runs.find(({ config }) => config.model.provider === 'hill-climb')!.config;
    expect(climbing.memory).toMatchObject({ best: 3, recent: 2 });
    expect(climbing).toMatchObject({ iterations: 4, candidates: 4, warmup: { policies: 2 } });
    expect(climbing.evaluation).toMatchObject({ episodes: 2, workers: 1 });
    const swing = runs.find(({ draw }) => draw.name.endsWith('-swing'))!.config;
    expect(swing).toMatchObject({ environment: { id: 'Pendulum-v1' }, policy: { low: -3, decimals: 1 } });
    expect(runs[0]!.draw.name).toMatch(/^00000-(cartpole-v1|swing)$/);
  });

  it('replace a model of another provider, and merge the long form of a setting into the short one', () => {
    const file = write('planned', (same) =>
      same
        .replace('  iterations: 4\n', '  iterations: 4\n  model: { provider: hill-climb, sigma: 2 }\n')
        .replace('memory: { recent: 2 }', 'warmup: { from: warm }'),
    );
    const configs = checkCollection(loadCollection(file)).map(({ config }) => config);
    expect(configs.find(({ model }) => model.provider === 'cma-es')!.model).toEqual({
      provider: 'cma-es',
    });
    expect(configs.find(({ model }) => model.provider === 'hill-climb')!.warmup).toEqual({
      policies: 2,
      from: at('warm'),
    });
  });

  it('vary the seed of a synthetic environment unless the task sets it or vary says otherwise', () => {
    const tasks = [
      '{ environment: "synthetic:survival" }',
      '{ environment: { id: "synthetic:survival", options: { seed: 7 } } }',
      '{ vary: nothing, environment: "synthetic:reach" }',
      '{ vary: seed, environment: FrozenLake-v1 }',
    ];
    const seedsOf = (task: string) => {
      const collection = loadCollection(
        write('planned', (same) => same.replace(/tasks:\n(.*\n){2}/, `tasks:\n  - ${task}\n`)),
      );
      return Array.from({ length: 20 }, (_, index) => {
        const { environment, seed } = configOfRun(collection, drawRun(collection, index));
        return { own: environment.options.seed, run: seed };
      });
    };
    const [varied, fixed, none, forced] = tasks.map(seedsOf);
    expect(new Set(varied!.map(({ own }) => own)).size).toBe(20);
    expect(varied!.every(({ own, run }) => Number.isSafeInteger(own) && own !== run)).toBe(true);
    expect(new Set(fixed!.map(({ own }) => own))).toEqual(new Set([7]));
    expect(new Set(none!.map(({ own }) => own))).toEqual(new Set([undefined]));
    expect(forced).toEqual(varied);
  });

  it('do not change when the number of runs grows', () => {
    const collection = loadCollection(write('planned'));
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(2 ** 40), (index, seed) => {
        const [small, large] = [index + 1, 2 * index + 5].map((runs) => {
          const same = { ...collection, seed, runs };
          const draw = drawRun(same, index);
          return { draw, config: configOfRun(same, draw) };
        });
        expect(small).toEqual(large);
      }),
      { numRuns: 50 },
    );
  });
});

describe('an error in a collection names the key at fault', () => {
  it.each([
    ['an unknown key', 'runs: 6', 'runs: 6\nrun: 5', [/yaml:4:1: run: unknown key/, /did you mean `runs`/]],
    ['a weight', 'weight: 2', 'weight: -2', [/yaml:14:15: tasks\.0\.weight/, /got: -2/]],
    ['no proposers', /proposers:(.*\n)*/, '', [/proposers: missing/]],
    ['a seed of a run', 'candidates: 4', 'seed: 4', [/experiment\.seed/, /each run gets its own/]],
    [
      'an empty range',
      '{ from: 2, to: 5 }',
      '{ from: 5, to: 2 }',
      [/proposers\.1\.iterations: `from` must not exceed `to`/],
    ],
    ['a key of a run', 'best: 3', 'bets: 3', [/yaml:10:19: experiment\.memory\.bets: unknown key/, /best/]],
    [
      'a value at the end of a range',
      'to: 2.5',
      'to: 2.5 }, sigma2: { from: 1, to: 2',
      [/proposers\.0\.model\.sigma2: unknown key/],
    ],
    [
      'an end of a range',
      '{ from: 2, to: 5 }',
      '{ from: 0, to: 5 }',
      [/yaml:18:59: proposers\.1\.iterations: must be a whole number of at least 1/],
    ],
    [
      'threads in threads',
      'episodes: 2',
      'episodes: 2, workers: 2',
      [/experiment\.evaluation\.workers: must be 1/, /--jobs/],
    ],
    ['a missing model', 'model: { provider: cma-es }, ', '', [/proposers\.1\.model: missing/]],
    ['an environment', 'CartPole-v1', 'CartPole-v9', [/yaml:14:31: tasks\.0\.environment/, /CartPole-v1/]],
  ] as const)('%s', async (_name, from, to, said) => {
    const file = write('wrong', (same) => same.replace(from, to));
    const message = await refusal(() => collect(file));
    for (const pattern of said) expect(message).toMatch(pattern);
    expect(existsSync(at('wrong'))).toBe(false);
  });

  it('an override that causes the error is named', async () => {
    const file = write('wrong');
    expect(await refusal(() => collect(file, { overrides: ['tasks.1.policy.low=x'] }))).toMatch(
      /^override tasks\.1\.policy\.low=x: tasks\.1\.policy\.low: must be a number/,
    );
    expect(await refusal(() => collect(file, { overrides: ['runs'] }))).toContain('key=value');
    expect(await refusal(() => collect(at('none.yaml')))).toContain('no such file or bundled config');
    expect(await refusal(() => collect(file, { jobs: 0 }))).toContain('--jobs');
  });
});

describe('finetune collect', { timeout: 300_000 }, () => {
  it('gives the same runs in sequence, in parallel and on their own', async () => {
    const serial = await collect(write('serial'));
    expect(serial).toMatchObject({
      code: 0,
      summary: { output: 'serial', status: 'completed', runs: 6, complete: 6, played: 6, failures: [] },
    });
    expect(serial.printed).toHaveLength(7);
    const file = write('parallel');
    const parallel = await collect(file, { jobs: 2 });
    expect(parallel.summary).toMatchObject({ evaluations: serial.summary.evaluations });
    const runs = contents('serial');
    expect(runs).toHaveLength(6);
    expect(contents('parallel')).toEqual(runs);

    const collection = loadCollection(file);
    const draw = drawRun(collection, 4);
    const alone = await runExperimentFrom(configOfRun(collection, draw));
    expect(readRunFile(alone.path, 'evaluations')).toBe(runs[4]![2]);
    expect(findRuns(['parallel'], { cwd: place, runsDir: 'buffers' })).toEqual(
      runs.map(([name]) => at('parallel', name)),
    );
    expect(findRuns(['parallel/*'], { cwd: place, runsDir: 'buffers' })).toHaveLength(6);
    expect(findRuns([at('parallel/0000*')], { cwd: place, runsDir: 'buffers' })).toHaveLength(6);
    expect(existsSync(at('parallel', runs[0]![0], runFiles.report))).toBe(false);

    const again = await collect(file);
    expect(again.summary).toMatchObject({ status: 'completed', complete: 6, played: 0, evaluations: 0 });
    const more = await collect(file, { overrides: ['runs=8'] });
    expect(more.summary).toMatchObject({ status: 'completed', complete: 8, played: 2 });
    expect(contents('parallel').slice(0, 6)).toEqual(runs);

    const others = write('parallel', (same) =>
      same.replace('weight: 2', 'weight: 3').replace('seed: 3', 'seed: 9'),
    );
    const refused = await refusal(() => collect(others));
    expect(refused).toContain('seed: 3 → 9');
    expect(refused).toContain('tasks.0.weight: 2 → 3');
    const foreign = write('parallel/00000-cartpole-v1/..', (same) =>
      same.replace(/output: .*/, `output: ${place}`),
    );
    expect(await refusal(() => collect(foreign))).toContain('contains something other than a collection');
  });

  it.each([1, 2])(
    'with --jobs %i, stops on request after the current iterations, and resumes later',
    async (jobs) => {
      const finish = new AbortController();
      const { context, printed } = recordingContext(place, {
        stop: { finish: finish.signal, abort: new AbortController().signal },
      });
      const print = (line: string) => {
        context.print(line);
        finish.abort();
      };
      const output = `stopped-${jobs}`;
      const config = write(output);
      const args = { config, overrides: [], jobs, quiet: false, json: true };
      expect(await collectCommand(args, { ...context, print })).toBe(130);
      const summary = JSON.parse(printed.at(-1)!) as { complete: number; status: string };
      expect(summary.status).toBe('interrupted');
      expect(summary.complete).toBeGreaterThan(0);
      expect(summary.complete).toBeLessThan(6);
      const begun = findRuns([output], { cwd: place, runsDir: '' }).map((run) => readManifest(run).status);
      expect(begun.filter((status) => status === 'completed')).toHaveLength(summary.complete);
      expect(begun.filter((status) => status === 'running')).toEqual([]);
      expect((await collect(config)).summary).toMatchObject({ complete: 6, played: 6 - summary.complete });
      expect(contents(output)).toEqual(contents('serial'));
    },
  );

  it('reports a failed run, and plays the others', async () => {
    const file = write('failing', (same) =>
      same.replace(
        '- { weight: 1, model: { provider: cma-es }',
        '- { weight: 1, model: { provider: ollama, name: none, host: "http://127.0.0.1:9", maxRetries: 0 }',
      ),
    );
    const { code, summary } = await collect(file, { jobs: 2 });
    const failures = summary.failures as { run: string; message: string }[];
    expect(code).toBe(1);
    expect(summary).toMatchObject({ status: 'failed', runs: 6, complete: 6 - failures.length });
    expect(failures.length).toBeGreaterThan(0);
    expect(failures[0]!.message).toContain('127.0.0.1:9');
  });
});
