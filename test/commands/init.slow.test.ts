import { execSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as initCommand } from '../../src/commands/init.js';
import { execute as runCommand } from '../../src/commands/run.js';
import { readRun } from '../../src/runs/reader.js';
import { built } from '../support/built.js';
import { startCommand } from '../support/command.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

async function init(cwd: string, kind: Parameters<typeof initCommand>[0]['kind'], file: string) {
  const { context, printed } = recordingContext(cwd);
  await initCommand({ kind, file }, context);
  return printed.join('\n');
}

async function play(cwd: string, name: string, config: object) {
  writeFileSync(join(cwd, `${name}.yaml`), JSON.stringify(config));
  const { context, printed } = recordingContext(cwd);
  const args = { overrides: [], runsDir: 'buffers', dryRun: false, quiet: true, json: true };
  await runCommand({ ...args, config: join(cwd, `${name}.yaml`), runDir: join('buffers', name) }, context);
  const calls = readFileSync(join(cwd, 'buffers', name, 'calls.jsonl'), 'utf8')
    .trim()
    .split('\n');
  return { result: JSON.parse(printed.at(-1)!) as { status: string; best: { return: number } }, calls };
}

const quick = { iterations: 2, warmup: 2, confirmation: { candidates: 1, episodes: 2 } };
const cwd = temporaryDirectory();

/** A new project; npm 11 writes "commonjs" into package.json. */
function project(type: string | undefined): string {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'mine', ...(type && { type }) }));
  return folder;
}

describe.each(['commonjs', 'module', undefined])('policyloop init with package type %s', (type) => {
  it.each(['.js', '.mjs', '.cjs'])(
    'writes an environment to a %s file, which runs unchanged, even in threads',
    async (ending) => {
      const cwd = project(type);
      expect(await init(cwd, 'environment', `my-env${ending}`)).toContain(`environment: ./my-env${ending}`);
      const text = readFileSync(join(cwd, `my-env${ending}`), 'utf8');
      expect(text).not.toMatch(/^import|require\(/m);
      expect(text).toContain(`environment: ./my-env${ending}`);
      const config = { ...quick, environment: `./my-env${ending}`, model: { provider: 'hill-climb' } };
      const alone = await play(cwd, 'alone', { ...config, evaluation: { episodes: 3, workers: 1 } });
      const threads = await play(cwd, 'threads', { ...config, evaluation: { episodes: 3, workers: 2 } });
      expect(alone.result.status).toBe('completed');
      expect(threads.result.best).toEqual(alone.result.best);
    },
  );

  it
    .skipIf(type === undefined)
    .each(['environment', 'policy', 'model', 'reward', 'helpers', 'prompts'] as const)(
    'prints a command for the new %s whose run improves on the warm-up',
    async (kind) => {
      const cwd = project(type);
      const printed = await init(cwd, kind, kind === 'prompts' ? 'my prompts' : `my ${kind}.js`);
      const words = /^run it: {2}policyloop (.+)$/m.exec(printed)![1];
      const program = `"${process.execPath}" "${built('src/cli.js')}"`;
      execSync(`${program} ${words} --quiet --run-dir run`, { cwd, stdio: 'pipe' });
      const best = (source: string) =>
        Math.max(
          ...readRun(join(cwd, 'run')).entries.flatMap((entry) =>
            entry.source === source ? entry.score : [],
          ),
        );
      // The warm-up policies of CartPole reach 9.5, those of the cart on a rail 77.
      expect(best('proposal')).toBeGreaterThan(kind === 'environment' ? 90 : 5 * best('warm-up'));
    },
  );

  it('writes a model, a policy, a reward and helpers that work together unchanged', async () => {
    const cwd = project(type);
    await init(cwd, 'model', 'model.js');
    await init(cwd, 'policy', 'policy.mjs');
    await init(cwd, 'reward', 'reward.js');
    await init(cwd, 'helpers', 'helpers.js');
    mkdirSync(join(cwd, 'mine'));
    writeFileSync(
      join(cwd, 'mine', 'system.hbs'),
      '{{laboratory}} {{upper environment.id}} {{#with policy.own}}{{description}}{{/with}}',
    );
    writeFileSync(join(cwd, 'mine', 'user.hbs'), '{{history.text}}');
    writeFileSync(join(cwd, 'mine', 'format-correction.hbs'), 'Again.');
    const { calls, result } = await play(cwd, 'all', {
      ...quick,
      environment: 'CartPole-v1',
      policy: { kind: './policy.mjs' },
      model: { provider: './model.js' },
      evaluation: { episodes: 3, reward: './reward.js' },
      prompts: { set: './mine', helpers: './helpers.js' },
    });
    expect(result.status).toBe('completed');
    expect(JSON.parse(calls[0]!)).toMatchObject({ outcome: { kind: 'accepted' } });
    expect(calls[0]).toContain('Laboratory 7 CARTPOLE-V1 The last action is taken');
  });
});

describe('policyloop init', () => {
  it('writes an environment whose descriptions appear in the prompts', async () => {
    const cwd = project(undefined);
    await init(cwd, 'environment', 'env.js');
    await init(cwd, 'model', 'model.js');
    const { calls } = await play(cwd, 'words', {
      ...quick,
      environment: './env.js',
      model: { provider: './model.js' },
      prompts: { set: 'semantic' },
      evaluation: { episodes: 2 },
    });
    expect(calls[0]).toContain('A cart on a rail is pushed left or right');
    expect(calls[0]).toContain('The numbers are: [0] position, [1] velocity.');
    expect(calls[0]).toContain('The values are: 0 push left, 1 no push, 2 push right.');
    expect(calls[0]).not.toContain('There is no description');
  });

  it('overwrites nothing, and rejects names that are not module names', async () => {
    await init(cwd, 'environment', 'twice.js');
    await expect(init(cwd, 'environment', 'twice.js')).rejects.toThrow('already exists');
    await expect(init(cwd, 'environment', 'my-env.py')).rejects.toThrow("isn't a module name");
  });
});

it('policyloop run rejects an ES module named .js in a CommonJS project', async () => {
  const cwd = project('commonjs');
  writeFileSync(join(cwd, 'old.js'), 'export default { create: () => ({}) };\n');
  const config = { ...quick, environment: './old.js', model: { provider: 'random' } };
  writeFileSync(join(cwd, 'old.yaml'), JSON.stringify(config));
  const { code, stderr } = await startCommand(cwd, ['run', 'old.yaml']).ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/old\.js.*can't be imported/);
});
