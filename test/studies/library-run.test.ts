import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run, type UserEnvironment, type UserModel } from '../../src/index.js';
import { commandLine } from '../commands/json/command-line.js';
import { temporaryDirectory } from '../support/experiments.js';

const root = temporaryDirectory();

const quick = {
  iterations: 2,
  warmup: 2,
  evaluation: { episodes: 3, maxSteps: 50 },
  confirmation: { candidates: 1, episodes: 3 },
};

/** Answers with the same parameters, whatever it is shown. */
const model = (count: number): UserModel => ({
  id: 'mine/constant',
  generate: () => Array.from({ length: count }, (_, i) => `params[${i}]: 1.5`).join(', '),
});

/** A guessing game: the observation is the goal, and the action is the guess. */
const guessing: UserEnvironment = {
  id: 'guess',
  observationSpace: { kind: 'box', low: [-1], high: [1] },
  actionSpace: { kind: 'box', low: [-1], high: [1] },
  reset: (_seed, random) => [random.uniform(-1, 1)],
  step: (action) => ({ observation: [0], reward: -Math.abs((action as number[])[0]!), terminated: true }),
};

const call = (...words: readonly string[]) => commandLine(root, [...words, '--runs-dir', root]);

describe('a run with a custom model', async () => {
  const directory = join(root, 'own-model');
  const kinds: string[] = [];
  const config = { ...quick, environment: 'CartPole-v1' };
  const outcome = await run(config, { model: model(10), directory, onEvent: ({ kind }) => kinds.push(kind) });

  it('completes, and reports its confirmed return', () => {
    expect(outcome).toMatchObject({ directory, status: 'completed', iterations: 2 });
    expect(outcome.confirmed?.mean).toBeGreaterThan(0);
    expect(kinds[0]).toBe('run-started');
    expect(kinds.at(-1)).toBe('run-finished');
    expect(existsSync(join(directory, 'run.lock'))).toBe(false);
    expect(readFileSync(join(directory, 'config.yaml'), 'utf8')).toContain('provider: custom');
  });

  it('works with list, show, evaluate and report', async () => {
    const list = (await call('list')).printed.join();
    expect(list).toMatch(/own-model.*mine\/constant/s);
    expect(list).not.toContain('crashed');
    for (const words of [['show'], ['evaluate', '--episodes', '4'], ['report']])
      expect((await call(words[0]!, 'own-model', ...words.slice(1))).code).toBe(0);
  });

  it('is rejected by the resume command, which explains how to resume it', async () => {
    const before = readFileSync(join(directory, 'evaluations.jsonl'), 'utf8');
    await expect(call('resume', 'own-model', 'iterations=3')).rejects.toThrow(
      /this model was an object passed in by the program that started the run[\s\S]*call run\(config, \{model, directory\}\)/,
    );
    expect(readFileSync(join(directory, 'evaluations.jsonl'), 'utf8')).toBe(before);
  });

  it('resumes with an equal model object, and reports the same again once it is complete', async () => {
    const longer = await run({ ...config, iterations: 3 }, { model: model(10), directory });
    expect(longer).toMatchObject({ status: 'completed', iterations: 3 });
    const again = await run({ ...config, iterations: 3 }, { model: model(10), directory });
    expect(again).toEqual(longer);
  });

  it('does not resume with a different task', async () => {
    const other = { ...config, environment: 'Acrobot-v1', iterations: 9 };
    await expect(run(other, { model: model(10), directory })).rejects.toThrow("environment.id: can't change");
  });
});

describe('a run in a custom environment', async () => {
  await run(
    { ...quick, model: { provider: 'random' } },
    { environment: guessing, directory: join(root, 'own-environment') },
  );

  it('is rejected by the evaluate and resume commands', async () => {
    const message = 'in the program that started the run with this object';
    await expect(call('evaluate', 'own-environment', '--episodes', '4')).rejects.toThrow(message);
    await expect(call('resume', 'own-environment', 'iterations=3')).rejects.toThrow(message);
  });

  it('resumes with the same environment object', async () => {
    const longer = await run(
      { ...quick, model: { provider: 'random' }, iterations: 3 },
      { environment: guessing, directory: join(root, 'own-environment') },
    );
    expect(longer).toMatchObject({ status: 'completed', iterations: 3 });
  });
});

it('a model that gives several completions is called once for all candidates', async () => {
  const asked: number[] = [];
  const several: UserModel = {
    id: 'mine/several',
    givesSeveral: true,
    generate: (_messages, { seeds }) => {
      asked.push(seeds.length);
      return seeds.map((seed) =>
        Array.from({ length: 10 }, (_, i) => `params[${i}]: ${seed % 6}`).join(', '),
      );
    },
  };
  const config = { ...quick, environment: 'CartPole-v1', iterations: 1, candidates: 3, corrections: 0 };
  await run(config, { model: several, directory: join(root, 'several') });
  expect(asked).toEqual([3]);
});

it('run executes a config file in a new directory named after the file', async () => {
  const file = join(root, 'pole.yaml');
  writeFileSync(file, JSON.stringify({ ...quick, environment: 'CartPole-v1' }));
  const { directory, status } = await run(file, { model: model(10), runsDir: join(root, 'runs') });
  expect(status).toBe('completed');
  expect(directory).toMatch(/runs\/pole-\d{8}-\d{6}$/);
});

it('a run fails but does not crash when the model throws', async () => {
  const silent = { id: 'mute', generate: () => Promise.reject(new Error('no GPU')) };
  const outcome = await run(
    { ...quick, environment: 'CartPole-v1', iterations: 9 },
    { model: silent, directory: join(root, 'mute') },
  );
  expect(outcome).toMatchObject({
    status: 'failed',
    reason: { kind: 'model-error', message: 'the model mute: generate threw: no GPU' },
  });
});

it('run writes nothing if the config, the model or the environment is invalid', async () => {
  const runsDir = join(root, 'nothing');
  const config = { ...quick, environment: 'CartPole-v1' };
  await expect(
    run({ ...quick, environment: 'CartPole-v9', model: { provider: 'random' } }, { runsDir }),
  ).rejects.toThrow('unknown environment');
  await expect(run(config, { runsDir, model: { id: 'x' } as UserModel })).rejects.toThrow(
    'the model x has no generate function',
  );
  const { step: _step, ...stepless } = guessing;
  await expect(
    run({ ...quick, model: { provider: 'random' } }, { runsDir, environment: stepless as UserEnvironment }),
  ).rejects.toThrow('custom:guess is invalid');
  expect(existsSync(runsDir) ? readdirSync(runsDir) : []).toEqual([]);
});
