/** What every command prints with `--json` fits its schema: each is run for real, on little. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { outputSchemaFile } from '../../../src/base/output-schema.js';
import { commands, declaredOptions } from '../../../src/commands.js';
import { readManifest } from '../../../src/runs/reader.js';
import { propsLinear } from '../../config/import/fixtures.js';
import { tinyConfig } from '../../finetune/rl/tiny-learning.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { runExperimentFrom, seededModel, temporaryDirectory } from '../../support/experiments.js';
import { expectSchema, misfit } from '../../support/output-schema.js';
import { commandLine } from './command-line.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);
const model = referenceDirectory('qwen3-fp32');

/** Those of the tests that hold the others to their schemas. */
const elsewhere: Readonly<Record<string, string>> = {
  'models pull': 'test/models/local/stores/hf-download.test.ts',
  'models remove': 'test/models/local/stores/hf-download.test.ts',
};

const held = new Set<string>();

/** Runs a command with `--json`, and holds every line to its schema. */
async function holds(command: string, ...more: readonly string[]): Promise<readonly string[]> {
  const { code, printed } = await commandLine(place, [...command.split(' '), ...more, '--json']);
  expect(code, command).toBe(0);
  expectSchema('view', printed);
  held.add('view');
  return printed;
}

const experiment = `environment: CartPole-v1
model: { provider: hill-climb }
iterations: 2
warmup: 2
evaluation: { episodes: 2, maxSteps: 40 }
confirmation: { candidates: 2, episodes: 3 }
limits: { calls: 100 }
`;

const files = {
  'c.yaml': experiment,
  'theirs.yaml': propsLinear,
  'collection.yaml': `output: ./collected
runs: 2
tasks: [{ weight: 1, environment: CartPole-v1 }]
experiment: { warmup: 2, iterations: 2, evaluation: { episodes: 2, maxSteps: 40 }, confirmation: { candidates: 0 } }
proposers: [{ weight: 1, model: { provider: random } }]
`,
  'tune.yaml': `model: ${model}\ndataset: data\noutput: tuned\nepochs: 1\nevaluateEvery: 2\nthreads: 1\nmethod: { kind: lora, rank: 2 }\n`,
  'numeric.yaml': `environment: CartPole-v1
policy: { kind: mlp, hidden: [4] }
value: { hidden: [4] }
algorithm: { kind: ppo }
updates: 2
batchEpisodes: 2
environments: 1
evaluation: { every: 1, episodes: 2 }
baselines: [random]
output: ./numeric
`,
  'prompts/system.hbs': 'Maximise f.\n',
  'prompts/user.hbs': '{{history.text}}\nnext\n',
  'prompts/format-correction.hbs': 'again\n',
};

beforeAll(() => {
  mkdirSync(at('prompts'));
  for (const [name, text] of Object.entries(files)) writeFileSync(at(name), text);
});

describe('the output of --json fits its schema', { timeout: 400_000 }, () => {
  it('for runs and the commands that read them', async () => {
    await holds('run', 'c.yaml', '--run-dir', 'buffers/a');
    await holds(
      'run',
      'c.yaml',
      '--run-dir',
      'buffers/b',
      'seed=7',
      'candidates=2',
      'evaluation.racing.block=1',
    );
    await holds('run', 'c.yaml', '--run-dir', 'buffers/r', 'repeats=2');
    await holds('run', 'c.yaml', '--dry-run', '--history', '3');
    await holds('resume', 'a', 'iterations=3');
    await holds('play', 'agents/cooking', 'player=random', 'episodes=3', '--run-dir', 'buffers/p');
    await holds('play', 'agents/cooking', 'player=expert', 'episodes=3', '--run-dir', 'buffers/e');
    await holds('tag', 'a', 'baseline');
    await holds('note', 'a', 'the first');
    for (const run of ['a', 'p']) await holds('show', run);
    await holds('show', 'a', '--iteration', '1');
    await holds('show', 'p', '--game', '1');
    await holds('evaluate', 'a', '--episodes', '5');
    await holds('render', 'a', '--format', 'svg');
    await holds('report', 'a');
    await holds('compare', 'a', 'b', 'r');
    await holds('compare', 'p', 'e');
    await holds('query', 'SELECT run, best, [1, 2] AS list FROM runs');
    await holds('export', 'a', 'b');
    await holds('list');
    await holds('remove', 'b', '--yes');
    await holds('remove', '--empty-trash', '--yes');
  });

  it('for studies, configs, environments, models and doctor', async () => {
    await holds('sweep', 'c.yaml', 'model.sigma=0.5,1', 'seed=1..2', '--dry-run');
    await holds('sweep', 'c.yaml', 'model.sigma=0.5,1', 'seed=1..2');
    await holds('check', 'c.yaml', 'quickstart', '--offline');
    await holds('import', 'theirs.yaml');
    await holds('environments');
    await holds('environments', 'FrozenLake-v1');
    await holds('models check', model, '--quantization', 'int8');
    await holds('models list');
    await holds('doctor', '--offline');
  });

  it('for commands sent to a running run', async () => {
    const scripted = seededModel();
    const slow = {
      id: scripted.id,
      generate: async (...asked: Parameters<typeof scripted.generate>) => {
        await delay(50);
        return scripted.generate(...asked);
      },
    };
    const path = at('buffers', 'live');
    const config = {
      ...{ environment: 'CartPole-v1', iterations: 500, evaluation: { episodes: 1, maxSteps: 10 } },
      model: { provider: 'openai', name: 'slow', baseUrl: 'http://127.0.0.1:9' },
    } as const;
    const playing = runExperimentFrom(config, { path, model: slow });
    await expect
      .poll(() => existsSync(path) && readManifest(path).iterations.done, { timeout: 60_000 })
      .toBeGreaterThan(0);
    await holds('pause', 'live');
    await holds('set', 'live', 'limits.calls=900');
    await holds('resume', 'live');
    await holds('show', 'live');
    await holds('stop', 'live');
    await playing;
  });

  it('for view, which prints its address', async () => {
    const finish = new AbortController();
    const stop = { finish: finish.signal, abort: new AbortController().signal };
    const printed: string[] = [];
    const ended = commandLine(place, ['view', '--port', '0', '--json'], {
      stop,
      print: (text) => printed.push(text),
    });
    await vi.waitFor(() => expect(printed).toHaveLength(1), { timeout: 60_000 });
    finish.abort();
    await ended;
    expectSchema('view', printed);
    held.add('view');
  });

  it('for training runs and the commands that use them', async () => {
    const prompts = 'prompts.set=./prompts';
    for (const seed of ['1', '2', '3'])
      await holds(
        'run',
        'c.yaml',
        prompts,
        'memory.best=1',
        'memory.recent=1',
        `seed=${seed}`,
        '--run-dir',
        `buffers/t${seed}`,
      );
    await holds('finetune collect', 'collection.yaml', '--jobs', '1');
    const dataset = ['--recipe', 'weighted', '--validation', '0.34', '--out', 'data'];
    await holds('finetune dataset', 't1', 't2', 't3', ...dataset);
    await holds('finetune train', 'tune.yaml');
    await holds('show', 'tuned');
    const adapter = 'tuned/adapter';
    await holds('models check', adapter);
    await holds('finetune export', adapter, '--to', 'merged', '--out', 'merged', '--quiet');
    await holds('finetune export', adapter, '--to', 'gguf', '--out', 'tuned.gguf', '--quiet');
    await holds('finetune export', 'tune.yaml', '--to', 'trl', '--out', 'cluster');
    const study = ['--configs', 'c.yaml', prompts, 'memory.best=1', 'memory.recent=1', '--repeats', '2'];
    await holds('finetune evaluate', '--tuned', 'hill-climb', '--base', 'random', ...study);
    tinyConfig({ environment: 'bandit', updates: 2, groups: 2, groupSize: 4 }, place);
    await holds('finetune rl', 'rl.yaml', '--dry-run');
    await holds('finetune rl', 'rl.yaml');
    await holds('finetune rl', 'numeric.yaml');
    await holds('finetune rl', 'numeric.yaml', 'output=other', '--dry-run');
    await holds('list');
  });

  it('for every command that takes --json', async () => {
    const listed = commands.flatMap(([signature, , load]) =>
      typeof load === 'function'
        ? [{ name: signature.split(' ')[0]!, command: [signature, '', load] as const }]
        : load.map((one) => ({ name: `${signature} ${one[0].split(' ')[0]}`, command: one })),
    );
    const taking: string[] = [];
    for (const { command, name } of listed)
      if ('json' in (await declaredOptions(command)).key) taking.push(name);
    expect(taking.filter((name) => !existsSync(outputSchemaFile(name)))).toEqual([]);
    expect(taking.filter((name) => !held.has(name) && elsewhere[name] === undefined)).toEqual([]);
    for (const [name, file] of Object.entries(elsewhere))
      expect(readFileSync(resolve(import.meta.dirname, '../../..', file), 'utf8')).toContain(
        `expectSchema('${name}'`,
      );
  });

  it('the check itself reports an unknown key and a missing one', () => {
    const good = { url: 'http://127.0.0.1:1' };
    expect(misfit('view', JSON.stringify(good))).toBeUndefined();
    expect(misfit('view', JSON.stringify({ ...good, more: 1 }))).toMatch(/additional properties.*more/);
    expect(misfit('view', '{}')).toMatch(/required property 'url'/);
  });
});
