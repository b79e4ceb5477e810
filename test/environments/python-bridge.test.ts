/** Plays Python's Gymnasium, if it is installed: POLICYLOOP_PYTHON names the interpreter (default: python3). */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { loadConfig } from '../../src/config/load.js';
import { makeEnvironment, openEnvironment } from '../../src/environments/catalogue/open.js';
import {
  EnvironmentError,
  isRemote,
  type RemoteEnvironment,
} from '../../src/environments/remote/remote-environment.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { readManifest } from '../../src/runs/reader.js';
import { built } from '../support/built.js';
import {
  readRunFile,
  resultsOf,
  resumeExperiment,
  runExperimentFrom,
  temporaryDirectory,
} from '../support/experiments.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const present = spawnSync(python, ['-c', 'import gymnasium']).status === 0;
if (!present) process.stderr.write(`Python environments skipped: ${python} has no gymnasium\n`);
process.env.PYTHONPATH = resolve(import.meta.dirname, 'python');

const env = { POLICYLOOP_PYTHON: python };
const counter = 'gymnasium:bridge_environments:Counter-v0';
const mirror = 'gymnasium:bridge_environments:Mirror-v0';
const linear = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
const discrete = (n: number, start = 0) => ({ kind: 'discrete', n, start });
const tuple = (...spaces: readonly object[]) => ({ kind: 'tuple', spaces });
const opened: RemoteEnvironment[] = [];

async function open(
  id: string,
  options: Readonly<Record<string, unknown>> = {},
  settings: { timeoutSeconds?: number; parallel?: number; processes?: number } = {},
): Promise<RemoteEnvironment> {
  const environment = await openEnvironment({ id, options, ...settings }, env, settings.processes);
  if (!isRemote(environment)) throw new Error(`${id} is built in`);
  opened.push(environment);
  return environment;
}

afterEach(async () => {
  for (const environment of opened.splice(0)) await environment.close();
});

describe.runIf(present)('Python environments', { timeout: 120_000 }, () => {
  test.each([
    { parallel: 32, processes: 1 },
    { parallel: 3, processes: 2 },
  ])('CartPole-v1 in Python agrees with ours bit for bit, with %j', async (settings) => {
    const [theirs, ours] = [
      await open('gymnasium:CartPole-v1', {}, settings),
      await makeEnvironment('CartPole-v1'),
    ];
    const { kind, ...rest } = theirs.observationSpace;
    expect({ kind, ...rest }).toEqual({ dtype: 'float32', ...ours.observationSpace });
    expect(theirs.maxSteps).toBe(500);
    const family = createPolicyFamily(linear, ours);
    const seeds = [5, 6, 7, 8, 9, 2 ** 31 + 5, 11, 12];
    const random = createGenerator(4);
    for (const parameters of [family.initial(random), [0, 0.1, 0, 0.5, 0, 1, 0, 1, 0, 0]]) {
      const setting = { family, maxSteps: 120, record: 'all' } as const;
      const played = await evaluate({ ...setting, environment: theirs }, parameters, seeds);
      expect(played).toEqual(await evaluate({ ...setting, environment: ours }, parameters, seeds));
    }
  });

  test.each([
    ['Limited', { name: 'max_steps', limit: 100 }, 100],
    ['Limited', { name: '_max_episode_steps', limit: 7, broken: true }, 7],
    ['LimitedTwice', { name: 'max_steps', limit: 100 }, 100],
    ['LimitedTwice', { name: 'max_steps', limit: 2000 }, 1000],
    ['LimitedTwice', { name: 'max_steps', limit: 100, max_episode_steps: 30 }, 30],
    ['Wrapped', { limit: 40 }, 40],
    ['Limited', { name: 'max_size', limit: 100 }, undefined],
    ['Limited', { name: 'max_steps', limit: true }, undefined],
  ])('the step limit of %s with %j is %s', async (name, options, limit) => {
    const { maxSteps } = await open(`gymnasium:bridge_environments:${name}-v0`, options);
    expect(maxSteps).toBe(limit);
  });

  test.each(['descriptors', 'close', 'fork', 'child', 'daemon', 'flood', 'print'])(
    'an environment that interferes with its own process still answers every step: %s',
    async (fault) => {
      const settings = { timeoutSeconds: 30, parallel: 1 };
      const [meddler, honest] = [await open(counter, { fault }, settings), await open(counter, {}, settings)];
      for (const environment of [meddler, honest]) await environment.batches[0]!.reset([7]);
      for (let step = 0; step < 6; step++) {
        const [theirs, ours] = await Promise.all(
          [meddler, honest].map(({ batches }) => batches[0]!.step([{ slot: 0, action: 1 }])),
        );
        expect(theirs).toEqual(ours);
      }
      await meddler.close();
      if (fault === 'child') expect(spawnSync('pgrep', ['-f', 'sleep 1000.5']).status).toBe(1);
    },
  );

  test.each([
    ['discrete', discrete(3, -1), -1],
    [
      'box',
      { kind: 'box', low: [-1, -1, -1, -1], high: [1, 1, 1, 1], dtype: 'float32' },
      [0.5, -0.25, Math.fround(0.1), 1],
    ],
    ['integers', { kind: 'box', low: [0, 0], high: [255, 255], dtype: 'float64' }, [3, 250]],
    ['multi-discrete', tuple(discrete(2), discrete(3)), [1, 2]],
    ['multi-binary', tuple(discrete(2), discrete(2), discrete(2)), [1, 0, 1]],
    ['tuple', tuple(discrete(2), discrete(4, 1)), [1, 4]],
    [
      'dict',
      { kind: 'box', low: [0, 0, 0], high: [2, Infinity, Infinity], dtype: 'float32' },
      [2, Math.fround(0.3), 7],
    ],
  ])('values of a space of kind %s are converted to numbers and back', async (kind, space, action) => {
    const environment = await open(mirror, { kind });
    const [batch] = environment.batches;
    expect(environment.observationSpace).toEqual(space);
    expect(environment.actionSpace).toEqual(space);
    expect(await batch!.reset([1, 2])).toHaveLength(2);
    const [step] = await batch!.step([{ slot: 1, action }]);
    expect(step!.observation).toEqual(action);
  });

  test.each([
    ['discrete', [7, -9, 0.4], [1, -1, 0]],
    [
      'bool box',
      [
        [0.7, -3],
        [9, 0.2],
      ],
      [
        [1, 0],
        [1, 0],
      ],
    ],
    ['int64 box', [[1e300], [-1e300], [3.7]], [[2 ** 63], [-(2 ** 63)], [4]]],
    // What a policy gives for the whole of a box of real numbers is the environment's to clip, as in Gymnasium.
    ['dict', [[-1, 0.25, 2.9]], [[0, 0.25, 2.9].map(Math.fround)]],
    ['nested', [[2, -1, 0.6, 0, 99, -99, 5, -5, 1e100, 1]], [[1, 0, 1, 0, 6, -1, 1, 0, 1e100, 7]]],
  ] as const)(
    'actions in the space %s are converted to valid members of it',
    async (kind, actions, arrived) => {
      const environment = await open(mirror, { kind });
      const [batch] = environment.batches;
      const [first] = await batch!.reset([3]);
      expect([first].flat().every((value) => typeof value === 'number')).toBe(true);
      for (const [i, action] of actions.entries()) {
        const [step] = await batch!.step([{ slot: 0, action }]);
        expect(step!.observation).toEqual(arrived[i]);
      }
    },
  );

  test.each([
    ['multi-binary', 'np.array([True, False, True])', [1, 0, 1]],
    ['discrete', 'np.array([1])', 1],
    ['bool box', 'np.array([True, False])', [1, 0]],
  ])('in the space %s, the observation %s is converted to numbers', async (kind, shown, seen) => {
    const environment = await open('gymnasium:bridge_environments:Wrong-v0', { kind, shown });
    expect(await environment.batches[0]!.reset([1])).toEqual([seen]);
  });

  test.each([
    ['discrete', '7', 'the observation 7 is not in Discrete(3, start=-1)'],
    ['multi-binary', '[0, 2, 0]', 'the observation [0, 2, 0] is not in MultiBinary(3)'],
    ['box', "'left'", "the observation 'left' has no numbers"],
  ])('in the space %s, the observation %s is rejected', async (kind, shown, message) => {
    const environment = await open('gymnasium:bridge_environments:Wrong-v0', { kind, shown });
    await expect(environment.batches[0]!.reset([1])).rejects.toThrow(message);
  });

  test.each([
    [mirror, { kind: 'huge' }, /a space of shape \(1000, 1001\) has more than 1000000 numbers/],
    [mirror, { kind: 'text' }, /Text spaces can't be converted to numbers: Text\(/],
    [
      mirror,
      { sort: 'box' },
      /can't create this environment with the options \{"sort":"box"\}: TypeError: .*sort/,
    ],
    [
      'gymnasium:Nonsense-v0',
      {},
      /NameNotFound[\s\S]*hint: correct the id, or name the module that registers it/,
    ],
    [
      'gymnasium:no_such_module:X-v0',
      {},
      /python\S* lacks a Python module: .*No module named 'no_such_module'[\s\S]*hint: run the command in the folder of no_such_module\.py/,
    ],
  ])('%s %j is rejected when it is opened', async (id, options, message) => {
    await expect(open(id, options)).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(message),
    });
  });

  test.each([
    [
      'raise',
      'raised',
      /ValueError: the wheel came off in step 3 of the episode with seed 8[\s\S]*bridge_environments\.py/,
    ],
    ['exit', 'raised', /SystemExit: 3 in step 3/],
    ['die', 'died', /exit code 9\)[\s\S]*goodbye, cruel pipe/],
    ['hang', 'timeout', /no reply within 3 s[\s\S]*bridge_environments\.py", line \d+ in step/],
    ['nan', 'invalid', /the observation \[.*nan\] is not finite in step 3 of the episode with seed 8/],
    ['infinite reward', 'invalid', /the reward inf is not finite in step 3/],
    ['shape', 'invalid', /an observation has 1 numbers instead of 2 in step 3/],
  ])('an environment with the fault "%s" causes an error of kind "%s"', async (fault, kind, message) => {
    const environment = await open(counter, { fault }, { timeoutSeconds: fault === 'hang' ? 3 : 60 });
    const family = createPolicyFamily(linear, environment);
    const setting = { environment, family, maxSteps: 50, record: 'none' } as const;
    const error: unknown = await evaluate(setting, [0, 0, 0, 0, 0, 1], [8, 9]).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(error).toMatchObject({ kind, message: expect.stringMatching(message) });
    expect((error as Error).message.split('\n').length).toBeLessThan(25);
  });

  test('an evaluation can be aborted while a step hangs', async () => {
    const environment = await open(counter, { fault: 'hang' });
    const family = createPolicyFamily(linear, environment);
    const stop = new AbortController();
    const setting = { environment, family, maxSteps: 50, record: 'none' } as const;
    const evaluation = evaluate(setting, [0, 0, 0, 0, 0, 1], [8], stop.signal);
    setTimeout(() => stop.abort(), 200);
    await expect(evaluation).rejects.toMatchObject({ name: 'AbortError' });
    await environment.close();
  });

  test('a run whose environment dies reports why, and resumes with the same results', async () => {
    const when = join(temporaryDirectory(), 'broken');
    const config = {
      environment: { id: counter, options: { fault: 'die', when } },
      model: { provider: 'random' },
      iterations: 3,
      warmup: 2,
      evaluation: { episodes: 3 },
      confirmation: { candidates: 2, episodes: 4 },
    } as const;
    const whole = await runExperimentFrom(config, { env });
    const { path } = await runExperimentFrom(config, {
      env,
      onEvent: (event) => {
        if (event.kind === 'iteration-finished' && event.iteration === 1) writeFileSync(when, '');
      },
    });
    expect(readManifest(path)).toMatchObject({
      status: 'failed',
      reason: {
        kind: 'environment-error',
        failure: 'died',
        message: expect.stringMatching(/goodbye, cruel pipe/),
      },
      iterations: { done: 1 },
      spec: { observationSpace: { low: [-Infinity, -Infinity] }, actionSpace: { n: 2, start: 1 } },
    });
    expect(readRunFile(path, 'evaluations').trim().split('\n')).toHaveLength(3);
    expect(readRunFile(path, 'report')).toContain('goodbye, cruel pipe');
    rmSync(when);
    await resumeExperiment(path, { env });
    expect(readManifest(path).status).toBe('completed');
    expect(resultsOf(path)).toEqual(resultsOf(whole.path));
  });

  test('a module next to the config is found from another working directory', async () => {
    const folder = temporaryDirectory();
    const source = readFileSync(join(import.meta.dirname, 'python', 'bridge_environments.py'), 'utf8');
    writeFileSync(join(folder, 'beside_the_config.py'), source);
    const id = 'gymnasium:beside_the_config:Counter-v0';
    await expect(open(id)).rejects.toThrow('set environment.modules to the folder of beside_the_config.py');
    writeFileSync(join(folder, 'my.yaml'), `environment: "${id}"\nmodel: {provider: random}\n`);
    const { config } = loadConfig({ file: join(folder, 'my.yaml') });
    expect(config.environment.modules).toBe(folder);
    const environment = await openEnvironment(config.environment, env);
    expect(environment.id).toBe(id);
    await environment.close?.();
  });

  test.runIf(process.platform === 'linux')(
    'no Python process is left when its parent is killed during a step',
    async () => {
      const source = `
      const { openEnvironment } = await import(${JSON.stringify(pathToFileURL(built('src/environments/catalogue/open.js')).href)});
      const environment = await openEnvironment(${JSON.stringify({ id: counter, options: { fault: 'hang' } })}, process.env);
      await environment.batches[0].reset([1]);
      for (let step = 0; step < 2; step++) await environment.batches[0].step([{ slot: 0, action: 1 }]);
      console.log('hanging');
      await environment.batches[0].step([{ slot: 0, action: 1 }]);`;
      const parent = spawn(process.execPath, ['--input-type=module', '-e', source], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await new Promise((started) => parent.stdout.once('data', started));
      const children = execFileSync('cat', [`/proc/${parent.pid}/task/${parent.pid}/children`], {
        encoding: 'utf8',
      });
      const bridge = children
        .trim()
        .split(' ')
        .find((pid) =>
          execFileSync('cat', [`/proc/${pid}/cmdline`], { encoding: 'utf8' }).includes('bridge.py'),
        );
      expect(bridge).toBeDefined();
      parent.kill('SIGKILL');
      await expect.poll(() => existsSync(`/proc/${bridge}`)).toBe(false);
    },
  );
});

test('without Python, an error says what to install', async () => {
  const missing = openEnvironment({ id: 'gymnasium:Ant-v5', python: '/no/such/python' }, {});
  await expect(missing).rejects.toThrow(
    /\/no\/such\/python was not found[\s\S]*pip install "gymnasium\[mujoco\]"/,
  );
});
