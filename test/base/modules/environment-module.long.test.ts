import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { packageRoot } from '../../../src/base/package.js';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { EnvironmentError } from '../../../src/environments/remote/remote-environment.js';
import { rollout } from '../../../src/rollout/episode.js';
import { commandLine } from '../../commands/json/command-line.js';
import { temporaryDirectory } from '../../support/experiments.js';

const cwd = temporaryDirectory();
const template = join(packageRoot(), 'templates', 'environment.js');

const config = `
environment: { id: ./tasks/rail.js, options: { friction: 0.2 } }
model: { provider: hill-climb }
iterations: 2
warmup: 2
record: all
evaluation: { episodes: 4, maxSteps: 60, workers: 1 }
confirmation: { candidates: 1, episodes: 3 }
`;

/** Writes a new module and returns its path: Node imports each file only once. */
let written = 0;
function moduleOf(source: string): string {
  const file = join(cwd, `module-${++written}.mjs`);
  writeFileSync(file, source);
  return file;
}

const environmentOf = (members: string) =>
  moduleOf(`export default { create() { return {
    observationSpace: { kind: 'box', low: [-1], high: [1] },
    actionSpace: { kind: 'discrete', n: 2 },
    reset: () => [0],
    step: () => ({ observation: [0], reward: 0, terminated: true }),
    ${members}
  }; } };`);

async function play(name: string, overrides: readonly string[] = []) {
  const options = ['--run-dir', join('buffers', name), '--quiet', '--json'];
  const { code, printed } = await commandLine(cwd, ['run', 'rail.yaml', ...overrides, ...options]);
  return { code, result: JSON.parse(printed.at(-1)!) as Record<string, unknown> };
}

/** The output of a command, which must succeed. */
async function told(...words: readonly string[]): Promise<string> {
  const { code, printed } = await commandLine(cwd, words);
  expect(code).toBe(0);
  return printed.join('\n');
}

const logs = (name: string) =>
  ['evaluations.jsonl', 'episodes.jsonl'].map((file) =>
    readFileSync(join(cwd, 'buffers', name, file), 'utf8'),
  );

beforeAll(async () => {
  mkdirSync(join(cwd, 'tasks'));
  cpSync(template, join(cwd, 'tasks', 'rail.js'));
  writeFileSync(join(cwd, 'tasks', 'package.json'), '{"type": "module"}');
  writeFileSync(join(cwd, 'rail.yaml'), config);
  expect((await play('rail')).result).toMatchObject({ status: 'completed', iterations: 2 });
});

describe('a run with an environment module', () => {
  it('records the same data in worker threads', async () => {
    const { result } = await play('threads', ['evaluation.workers=2']);
    expect(result).toMatchObject({ status: 'completed' });
    expect(logs('threads')).toEqual(logs('rail'));
  });

  it('works with list, show, report, compare and evaluate, under the name of the module', async () => {
    expect(await told('list')).toContain('module:cart-on-rail');
    expect(await told('show', 'rail')).toMatch(/push left +no push +push right\nposition .*\nvelocity /);
    await told('report', 'rail');
    const report = readFileSync(join(cwd, 'buffers/rail/report.html'), 'utf8');
    expect(report).toContain('chart-figure');
    expect(report).toContain('position → push left');
    expect(await told('compare', 'rail')).toMatch(/^module:cart-on-rail /);
    const evaluation = ['evaluate', 'rail', '--episodes', '6', '--json'];
    expect(await told(...evaluation, '--workers', '2')).toBe(await told(...evaluation));
    await told(...evaluation, '--picture', 'rail.svg');
    expect(readFileSync(join(cwd, 'rail.svg'), 'utf8')).toContain('cart-on-rail');
  });

  it('can be resumed from another directory', async () => {
    const words = ['resume', join(cwd, 'buffers/threads'), 'iterations=3', '--quiet', '--json'];
    const { code, printed } = await commandLine('/', words);
    expect(code).toBe(0);
    expect(JSON.parse(printed.at(-1)!)).toMatchObject({ status: 'completed', iterations: 3 });
  });

  it("isn't resumed if a file that the module imports has changed; the error names the file", async () => {
    const helper = join(cwd, 'tasks', 'start.js');
    writeFileSync(helper, 'export const start = [0.5];\n');
    writeFileSync(
      join(cwd, 'tasks', 'second.js'),
      `import { start } from './start.js';
      export default { create: () => ({
        observationSpace: { kind: 'box', low: [-1], high: [1] }, actionSpace: { kind: 'discrete', n: 2 },
        reset: () => start, step: (action) => ({ observation: [0], reward: action, terminated: true }),
      }) };`,
    );
    await play('second', [`environment=${cwd}/tasks/second.js`]);
    const resumed = () => told('resume', 'second', 'iterations=3', '--quiet');
    writeFileSync(helper, 'export const start = [0.6];\n');
    await expect(resumed()).rejects.toThrow(`${helper}: this module has changed`);
    const { noted } = await commandLine(cwd, ['evaluate', 'second', '--episodes', '3']);
    expect(noted.join('\n')).toContain(`${helper} has changed since the run`);
    writeFileSync(helper, 'export const start = [0.5];\n');
    await resumed();
  });
});

describe('an environment module is rejected with an error that describes the problem', () => {
  it.each([
    ['no default export', 'export const create = 1;', 'has no default export'],
    ['no create', 'export default { name: "x" };', 'the default export has no create function'],
    ['an import that throws', 'let a = 1;\nthrow new Error("no disk");', ":2:7: can't be imported: no disk"],
    [
      'a create that throws',
      'export default {\n create() { throw new Error("no rail"); } };',
      ':2:19: create threw: no rail',
    ],
    [
      'rejected options',
      'export default { schema: { parse() { throw new Error("friction must be positive"); } }, create() {} };',
      'environment.options: module-4.mjs: friction must be positive',
    ],
  ])('%s', async (_what, source, message) => {
    const file = moduleOf(source);
    const error = await makeEnvironment(file).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect((error as UserError).message).toContain(message.replace('module-4.mjs', `module-${written}.mjs`));
    expect((error as UserError).message).toContain(`module-${written}.mjs`);
  });

  it.each([
    ['step: undefined', 'step: the environment created by'],
    [
      "observationSpace: { kind: 'box', low: [0], high: [1, 2] }",
      'low and high must have one number per dimension',
    ],
    ["actionSpace: { kind: 'discrete', n: 0 }", 'actionSpace.n: the environment'],
    ["actionNames: ['one']", 'must have one name per component or value'],
  ])('%s', async (members, message) => {
    await expect(makeEnvironment(environmentOf(members))).rejects.toThrow(message);
  });

  it('a missing file', async () => {
    await expect(makeEnvironment('./nowhere.js')).rejects.toThrow('there is no such module');
    await expect(makeEnvironment('./scripts/generat.js')).rejects.toThrow('mean `./scripts/generate.ts`?');
    await expect(makeEnvironment('nowhere.js')).rejects.toThrow('with a slash: ./nowhere.js');
  });
});

describe('an invalid reset or step', () => {
  it.each([
    ['reset: () => [NaN]', 'the observation from reset is [ NaN ]'],
    ['reset: async () => [0]', 'reset returned a promise'],
    ['step: async () => ({})', 'step returned a promise'],
    ['step: () => ({ observation: [0], terminated: true })', 'the reward of a step is undefined'],
    ['step() { throw new Error("fell") }', 'step threw: fell'],
  ])('throws an error that names the file and the problem: %s', async (members, message) => {
    const environment = await makeEnvironment(environmentOf(members));
    const episode = () => rollout(environment, () => 0, { seed: 0, maxSteps: 5 });
    expect(episode).toThrow(EnvironmentError);
    expect(episode).toThrow(message);
    expect(episode).toThrow(`module-${written}.mjs`);
  });

  it('fails the run in a worker thread', async () => {
    const file = environmentOf('step: () => ({ observation: [NaN], reward: 1, terminated: true })');
    const { code, result } = await play('nonsense', [`environment=${file}`, 'evaluation.workers=2']);
    expect(code).toBe(1);
    expect(result).toMatchObject({
      status: 'failed',
      reason: { kind: 'environment-error', failure: 'invalid' },
    });
  });
});
