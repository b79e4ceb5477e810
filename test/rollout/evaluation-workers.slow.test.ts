import { availableParallelism } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { createGenerator } from '../../src/base/random/generator.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Environment } from '../../src/environments/environment.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { programsOf } from '../../src/policies/policy.js';
import type { PolicyConfig } from '../../src/policies/settings.js';
import { type EvaluationSetup, evaluate } from '../../src/rollout/evaluation.js';
import { createWorkers, type EvaluationWorkers } from '../../src/rollout/evaluation-workers.js';
import { readManifest } from '../../src/runs/reader.js';
import { quick, resultsOf, resumeExperiment, runExperimentFrom } from '../support/experiments.js';

const linear = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
const table = { kind: 'q-table', form: 'actions', low: -10, high: 10, decimals: 1 } as const;
const opened: EvaluationWorkers[] = [];
afterEach(async () => {
  for (const workers of opened.splice(0)) await workers.close();
});

async function settings(id: string, policy: PolicyConfig, options = {}, maxSteps = 200) {
  const environment = await makeEnvironment(id, options);
  const family = createPolicyFamily(policy, environment);
  const workers = createWorkers({ environment: { id, options }, policy, maxSteps }, 2)!;
  opened.push(workers);
  const here: EvaluationSetup = { environment, family, maxSteps, record: 'all' };
  return { here, spread: { ...here, workers }, workers, family };
}

describe('evaluation in workers', { timeout: 120_000 }, () => {
  test.each([
    ['HalfCheetah-v5', linear, { forward_reward_weight: 2 }],
    ['Hopper-v5', linear, {}],
    ['FrozenLake-v1', table, { map_name: '8x8' }],
  ])(
    'of %s gives the same result as the main thread, bit for bit and in the same order',
    async (id, policy, options) => {
      const { here, spread, workers, family } = await settings(id, policy, options);
      const random = createGenerator(1);
      for (const seeds of [[3, 1, 4, 1, 5, 9, 2], [6]]) {
        const parameters = family.initial(random);
        expect(await evaluate(spread, parameters, seeds)).toEqual(await evaluate(here, parameters, seeds));
      }
      expect(workers.runningCount).toBe(2);
    },
  );

  test('rejects an invalid policy in a single worker with the same error as the main thread', async () => {
    const { here, spread, workers, family } = await settings('Pendulum-v1', linear);
    workers.useOneThread();
    const bad = family.initial(createGenerator(1)).map(() => Number.NaN);
    const said = await evaluate(here, bad, [1, 2]).catch((error: unknown) => error);
    expect(said).toBeInstanceOf(UserError);
    await expect(evaluate(spread, bad, [1, 2])).rejects.toEqual(said);
    const good = bad.map(() => 0);
    expect(await evaluate(spread, good, [1, 2])).toEqual(await evaluate(here, good, [1, 2]));
    expect(workers.runningCount).toBe(1);
  });

  test('reports the fault of the first episode that fails, whichever thread is faster', async () => {
    const { spread, family, here } = await settings('CartPole-v1', { kind: 'program', edits: false });
    const parameters = programsOf(family)!.add(
      `const a = new Float64Array(1e6);
      function act(o) { if (o[0] < 0) throw 'fast'; for (let i = 0; i < 8; i++) a.indexOf(1); throw 'slow'; }`,
    );
    const isFast = (seed: number) => ((here.environment as Environment).reset(seed) as number[])[0]! < 0;
    const seeds = Array.from({ length: 40 }, (_, seed) => seed);
    const ordered = [seeds.find((seed) => !isFast(seed))!, ...seeds.filter(isFast)];
    await expect(evaluate(spread, parameters, ordered)).rejects.toThrow('threw "slow"');
  });

  test('stops its threads on an abort, and restarts them when needed', async () => {
    const { here, spread, workers, family } = await settings(
      'HalfCheetah-v5',
      linear,
      { max_episode_steps: -1 },
      3000,
    );
    const parameters = family.initial(createGenerator(1));
    const stop = new AbortController();
    const many = Array.from({ length: 5000 }, (_, i) => i);
    const evaluation = evaluate(spread, parameters, many, stop.signal);
    setTimeout(() => stop.abort(), 300);
    await expect(evaluation).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(() => workers.runningCount).toBe(0);
    expect(await evaluate(spread, parameters, [1])).toEqual(await evaluate(here, parameters, [1]));
  });

  const setting = { environment: { id: 'CartPole-v1', options: {} }, policy: linear, maxSteps: 10 };

  test('starts no thread for one worker', () => {
    expect(createWorkers(setting, 1)).toBeUndefined();
    expect(createWorkers(setting, 2)!.areWorthwhile(20)).toBe(true);
  });

  // With one core, `auto` starts no thread.
  test.skipIf(availableParallelism() === 1)(
    'is worthwhile with `auto` after 600 ms of episodes that are not very short',
    async () => {
      const [long, short, idle] = [0, 0, 0].map(() => createWorkers(setting, 'auto')!);
      for (let episode = 1; episode < 1200; episode++) long!.recordTime(0.5);
      expect(long!.areWorthwhile(2)).toBe(false);
      long!.recordTime(0.5);
      expect([long!.areWorthwhile(2), long!.areWorthwhile(1)]).toEqual([true, false]);
      for (let episode = 0; episode < 100_000; episode++) short!.recordTime(0.05);
      expect(short!.areWorthwhile(20)).toBe(false);
      const { here, family } = await settings('CartPole-v1', linear, {}, 10);
      const spent: number[] = [];
      idle!.recordTime = (ms) => void spent.push(ms);
      await evaluate({ ...here, workers: idle }, family.initial(createGenerator(1)), [1, 2, 3]);
      // The clock of this thread shows more.
      expect(Math.max(...spent)).toBeLessThan(performance.now() / 2);
    },
  );

  test('records the same data if a resumed run changes the number of workers', async () => {
    const config = { ...quick, model: { provider: 'hill-climb' }, record: 'all' } as const;
    const serial = await runExperimentFrom({ ...config, evaluation: { ...quick.evaluation, workers: 1 } });
    const stop = new AbortController();
    const { path } = await runExperimentFrom(
      { ...config, evaluation: { ...quick.evaluation, workers: 2 } },
      {
        finish: stop.signal,
        onEvent: (event) => {
          if (event.kind === 'iteration-finished' && event.iteration === 2) stop.abort();
        },
      },
    );
    expect(readManifest(path)).toMatchObject({
      status: 'interrupted',
      fingerprint: readManifest(serial.path).fingerprint,
    });
    await resumeExperiment(path, { overrides: ['evaluation.workers=3'] });
    expect(resultsOf(path)).toEqual(resultsOf(serial.path));
  });
});
