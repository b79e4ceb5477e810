import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as initCommand } from '../../src/commands/init.js';
import { execute as runCommand } from '../../src/commands/run.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

const cwd = temporaryDirectory();
// The loader of TypeScript in the tests' threads asks for it; Node finds out by itself.
writeFileSync(join(cwd, 'package.json'), '{"type": "module"}');

async function init(kind: Parameters<typeof initCommand>[0]['kind'], file: string) {
  const { context, printed } = recordingContext(cwd);
  await initCommand({ kind, file }, context);
  return printed.join('\n');
}

async function play(name: string, config: object) {
  writeFileSync(join(cwd, `${name}.yaml`), JSON.stringify(config));
  const { context, printed } = recordingContext(cwd);
  const args = { overrides: [], runsDir: 'buffers', dryRun: false, quiet: true, json: true };
  await runCommand({ ...args, config: join(cwd, `${name}.yaml`), runDir: join('buffers', name) }, context);
  return JSON.parse(printed.at(-1)!) as { status: string; best: { return: number } };
}

const quick = { iterations: 2, warmup: 2, confirmation: { candidates: 1, episodes: 2 } };

describe('policyloop init', () => {
  it('writes an environment that imports nothing and plays as it is, in threads too', async () => {
    expect(await init('environment', 'my-env.js')).toContain('environment: ./my-env.js');
    expect(readFileSync(join(cwd, 'my-env.js'), 'utf8')).not.toMatch(/^import|require\(/m);
    const config = { ...quick, environment: './my-env.js', model: { provider: 'hill-climb' } };
    const alone = await play('alone', { ...config, evaluation: { episodes: 3, workers: 1 } });
    const threads = await play('threads', { ...config, evaluation: { episodes: 3, workers: 2 } });
    expect(alone.status).toBe('completed');
    expect(threads.best).toEqual(alone.best);
  });

  it('writes a model, a policy, a reward and helpers that play together as they are', async () => {
    await init('model', 'model.js');
    await init('policy', 'policy.mjs');
    await init('reward', 'reward.js');
    await init('helpers', 'helpers.js');
    mkdirSync(join(cwd, 'mine'));
    writeFileSync(
      join(cwd, 'mine', 'system.hbs'),
      '{{laboratory}} {{upper environment.id}} {{#with policy.own}}{{description}}{{/with}}',
    );
    writeFileSync(join(cwd, 'mine', 'user.hbs'), '{{history.text}}');
    writeFileSync(join(cwd, 'mine', 'format-correction.hbs'), 'Again.');
    const result = await play('all', {
      ...quick,
      environment: 'CartPole-v1',
      policy: { kind: './policy.mjs' },
      model: { provider: './model.js' },
      evaluation: { episodes: 3, reward: './reward.js' },
      prompts: { set: './mine', helpers: './helpers.js' },
    });
    expect(result.status).toBe('completed');
    const [first] = readFileSync(join(cwd, 'buffers/all/calls.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(first!)).toMatchObject({ outcome: { kind: 'accepted' } });
    expect(first).toContain('Laboratory 7 CARTPOLE-V1 The last action is taken');
  });

  it('overwrites nothing, and refuses what is no name of a module', async () => {
    await init('environment', 'twice.js');
    await expect(init('environment', 'twice.js')).rejects.toThrow('is there already');
    await expect(init('environment', 'my-env.py')).rejects.toThrow('is no name of a module');
  });
});
