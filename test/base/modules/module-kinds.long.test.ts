import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig, parseConfig, resolvedYaml } from '../../../src/config/load.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import { readRun } from '../../../src/runs/reader.js';
import { commandLine } from '../../commands/json/command-line.js';
import { temporaryDirectory } from '../../support/experiments.js';

const cwd = temporaryDirectory();

let written = 0;
function moduleOf(body: string, more = ''): string {
  const file = `./module-${++written}.mjs`;
  writeFileSync(join(cwd, file), `export default { ${more} create(options, task) { ${body} } };\n`);
  return file;
}

const quick = {
  environment: 'CartPole-v1',
  model: { provider: 'random' },
  iterations: 2,
  warmup: 2,
  evaluation: { episodes: 3, maxSteps: 40, workers: 1 },
  confirmation: { candidates: 1, episodes: 3 },
};

let runs = 0;
async function play(changes: object, overrides: readonly string[] = []) {
  const name = `run-${++runs}`;
  writeFileSync(join(cwd, `${name}.yaml`), JSON.stringify({ ...quick, ...changes }));
  const options = ['--run-dir', join('buffers', name), '--quiet', '--json'];
  const { printed } = await commandLine(cwd, ['run', `${name}.yaml`, ...overrides, ...options]);
  const lines = (file: string) =>
    readFileSync(join(cwd, 'buffers', name, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  return {
    name,
    result: JSON.parse(printed.at(-1)!) as Record<string, unknown>,
    entries: () => lines('evaluations.jsonl') as BufferEntry[],
    calls: () => readRun(join(cwd, 'buffers', name)).calls,
  };
}

async function everyCommandReads(run: string) {
  const told: string[] = [];
  for (const more of [['show'], ['report'], ['evaluate', '--episodes', '3'], ['resume', 'iterations=3']]) {
    const { code, printed } = await commandLine(cwd, [more[0]!, run, ...more.slice(1)]);
    expect(code).toBe(0);
    told.push(...printed);
  }
  return told.join('\n');
}

const bang = `return {
  parameters: { count: 2, low: -1, high: 1, names: ['angle', 'speed'] },
  description: 'Push right where angle * params[0] + speed * params[1] is above 0.',
  build: ([a, b]) => (s) => (a * s[2] + b * s[3] > 0 ? task.actionSpace.n - 1 : 0),
};`;

describe('a policy module', () => {
  it('gives the same results in workers, appears in prompts, and works with commands that read runs', async () => {
    const policy = { kind: moduleOf(bang) };
    const model = { provider: moduleOf("return { generate: () => 'params[0]: 0.5, params[1]: 0.5' };") };
    const run = await play({ policy, model });
    expect(run.result).toMatchObject({ status: 'completed', iterations: 2 });
    expect(run.entries()[0]!.parameters).toHaveLength(2);
    expect(run.calls()[0]!.messages[0]!.content).toContain('## Policy\nPush right where angle * params[0]');
    const threads = await play({ policy, model }, ['evaluation.workers=2']);
    expect(threads.entries()).toEqual(run.entries());
    expect(await everyCommandReads(run.name)).toContain('params[0]: 0.5');
    const report = readFileSync(join(cwd, 'buffers', run.name, 'report.html'), 'utf8');
    expect(report).toContain('speed');
  });

  it.each([
    ['return { parameters: { count: 1, low: 0, high: 1 } };', 'build of the policy created by'],
    ['return { build() {}, parameters: { count: 1, low: 2, high: 1 } };', 'low must be below high'],
    ['return { build() {}, parameters: { count: 1, low: 0, high: 1, choices: [0.25, 1] } };', 'decimals'],
    [
      'return { build: () => () => 7, parameters: { count: 1, low: 0, high: 1 } };',
      'the policy returned 7, which is not an action of CartPole-v1',
    ],
    [
      'return { build() { throw new Error("singular"); }, parameters: { count: 1, low: 0, high: 1 } };',
      'build threw: singular',
    ],
  ])('is rejected if the body of create is: %s', async (body, message) => {
    await expect(play({ policy: { kind: moduleOf(body) } })).rejects.toThrow(message);
  });
});

describe('a model module', () => {
  it('receives its options and the messages, and its id is recorded in the run', async () => {
    const file = moduleOf(
      `let asked = 0;
       return { id: 'mine/' + options.name, generate: async (messages) =>
         ({ text: Array.from({ length: 10 }, (_, i) => 'params[' + i + ']: ' + (++asked % 3)).join(', '),
            usage: { promptTokens: messages.length } }) };`,
    );
    const run = await play({
      repeats: 'parameters',
      model: { provider: file, options: { name: 'counting' } },
    });
    expect(run.result).toMatchObject({ status: 'completed', usage: { calls: 2, promptTokens: 4 } });
    const manifest = readFileSync(join(cwd, 'buffers', run.name, 'manifest.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({ model: 'mine/counting' });
  });

  it('fails the run with a model error if it throws or returns an invalid reply', async () => {
    const throwing = await play({
      iterations: 9,
      model: { provider: moduleOf('return { generate() { throw new Error("no GPU"); } };') },
    });
    expect(throwing.result).toMatchObject({ status: 'failed', reason: { kind: 'model-error' } });
    expect(JSON.stringify(throwing.result)).toContain('generate threw: no GPU');
    const mute = await play({
      iterations: 9,
      model: { provider: moduleOf('return { generate: async () => 7 };') },
    });
    expect(JSON.stringify(mute.result)).toContain('generate returned neither text');
    await expect(play({ model: { provider: moduleOf('return {};') } })).rejects.toThrow(
      'has no generate function',
    );
  });
});

describe('a reward module', () => {
  const doubled = () =>
    moduleOf(
      'return ({ before, action, observation, reward }) => before.length === observation.length && action < 2 ? 2 * reward : NaN;',
    );

  it("replaces the environment's reward, even in worker threads", async () => {
    const plain = await play({});
    const evaluation = { ...quick.evaluation, reward: doubled() };
    const run = await play({ evaluation });
    expect(run.entries().map(({ score }) => score)).toEqual(plain.entries().map(({ score }) => 2 * score));
    const threads = await play({ evaluation }, ['evaluation.workers=2']);
    expect(threads.entries()).toEqual(run.entries());
  });
});

describe('a helper module', () => {
  const set = join(cwd, 'prompts');
  mkdirSync(set);
  const template = (user: string) => {
    writeFileSync(join(set, 'system.hbs'), 'Answer: {{answer.example}} {{laboratory}}');
    writeFileSync(join(set, 'user.hbs'), user);
    writeFileSync(join(set, 'format-correction.hbs'), 'Again.');
  };
  const helpers = () =>
    moduleOf(
      "return { shout: (text, times) => text.toUpperCase() + '!'.repeat(times), laboratory: 'lab 7' };",
    );
  const model = { provider: moduleOf("return { generate: () => '' };") };

  it('provides helpers and values to templates', async () => {
    template('{{shout environment.id 2}}');
    const run = await play({ model, corrections: 0, prompts: { set: './prompts', helpers: helpers() } });
    const [system, user] = run.calls()[0]!.messages;
    expect(system!.content).toContain('lab 7');
    expect(user!.content).toBe('CARTPOLE-V1!!');
  });
});

it('short forms of modules are expanded, and the config survives a round trip through YAML', () => {
  const config = parseConfig({
    environment: './a/b.js',
    policy: { kind: './p.js' },
    model: { provider: '/m.mjs', options: { a: 1 } },
  });
  expect(config).toMatchObject({
    environment: { id: './a/b.js' },
    policy: { kind: 'module', path: './p.js', options: {} },
    model: { provider: 'module', path: '/m.mjs', options: { a: 1 } },
  });
  const file = join(cwd, 'written.yaml');
  writeFileSync(file, resolvedYaml(config));
  expect(loadConfig({ file, asWritten: true }).config).toEqual(config);
});
