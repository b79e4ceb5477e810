import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { execute as runCommand } from '../../src/commands/run.js';
import { checkConfig } from '../../src/preflight/check-config.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

const cwd = temporaryDirectory();
const marks = temporaryDirectory();
/** A module that leaves a mark when it is imported. */
function module(name: string, body: string): string {
  const mark = `writeFileSync(${JSON.stringify(join(marks, name))}, '')`;
  const source = `import { writeFileSync } from 'node:fs';\n${mark};\nexport default { create(options, task) { ${body} } };\n`;
  writeFileSync(join(cwd, `${name}.mjs`), source);
  return `./${name}.mjs`;
}
const loaded = () => readdirSync(marks).sort();
afterEach(() => {
  for (const name of loaded()) rmSync(join(marks, name));
});

const space = "{ kind: 'box', low: [-1], high: [1] }";
const step = '{ observation: [0], reward: 1, terminated: true, truncated: false }';
const environment = module(
  'environment',
  `return { id: 'mine', observationSpace: ${space}, actionSpace: { kind: 'discrete', n: 2 }, maxSteps: 5, reset: () => [0], step: () => (${step}) };`,
);
const policy = module(
  'policy',
  "return { parameters: { count: 1, low: -1, high: 1, decimals: 1 }, description: 'a rule', create: () => ({ act: () => 0 }) };",
);
const model = { provider: module('model', "return { id: 'mine', generate: () => 'params[0]: 1' };") };
const helpers = module('helpers', 'return { shout: (text) => text };');
const reward = module('reward', 'return ({ reward }) => reward;');
const python = join(cwd, 'python.sh');
writeFileSync(python, `#!/bin/sh\ntouch ${join(marks, 'python')}\n`);
chmodSync(python, 0o755);

const base = { environment: 'CartPole-v1', model: { provider: 'random' } };
function configOf(changes: object): string {
  const file = join(cwd, 'config.yaml');
  writeFileSync(file, JSON.stringify({ ...base, ...changes }));
  return file;
}

describe('policyloop check', () => {
  it.each<[string, object, RegExp]>([
    ['environment', { environment }, /no module is imported offline/],
    [
      'environment',
      { environment: { id: 'gymnasium:CartPole-v1', python } },
      /no program is started offline/,
    ],
    ['environment', { environment: 'openenv:ws://127.0.0.1:1' }, /no program is started offline/],
    ['policy', { policy: { kind: 'module', path: policy } }, /the policy and the prompts can't be checked/],
    ['model', { model }, /the model can't be checked/],
    ['prompts.helpers', { prompts: { helpers } }, /the prompts can't be checked/],
    ['evaluation.reward', { evaluation: { reward } }, /the reward function can't be checked/],
  ])('with --offline imports no module and starts no program for %s: %j', async (field, changes, message) => {
    const { context } = recordingContext(cwd);
    const findings = await checkConfig({ file: configOf(changes), overrides: [] }, true, context);
    expect(loaded()).toEqual([]);
    const said = findings.find((finding) => finding.message.includes("can't be checked"));
    expect(said).toMatchObject({ level: 'warning', field });
    expect(said!.message).toMatch(message);
    expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
    // Where nothing depends on the module, all else is checked.
    const rest = ['model', 'evaluation.reward'].includes(field);
    expect(findings.some((finding) => finding.field === 'policy' && finding.level === 'ok')).toBe(rest);
  });

  it('with --offline still reports the other errors of a config', async () => {
    const { context } = recordingContext(cwd);
    const changes = {
      environment: 'CartPole-v9',
      prompts: { helpers },
      model: { provider: 'local', path: './no-model' },
    };
    const findings = await checkConfig({ file: configOf(changes), overrides: [] }, true, context);
    expect(findings.map(({ level, field }) => [level, field])).toEqual([
      ['error', 'model.path'],
      ['error', 'environment'],
    ]);
    expect(loaded()).toEqual([]);
  });

  it('without --offline imports the modules', async () => {
    const { context } = recordingContext(cwd);
    await checkConfig(
      { file: configOf({ environment, prompts: { helpers } }), overrides: [] },
      false,
      context,
    );
    expect(loaded()).toEqual(['environment', 'helpers']);
  });
});

describe('run --dry-run', () => {
  async function dryRun(changes: object): Promise<string> {
    const { context, printed } = recordingContext(cwd);
    const flags = { runsDir: 'buffers', quiet: true, json: false, dryRun: true };
    const args = { ...flags, config: configOf(changes), overrides: [], runDir: undefined };
    expect(await runCommand(args as never, context)).toBe(0);
    expect(existsSync(join(cwd, 'buffers'))).toBe(false);
    return printed.join('\n');
  }

  // Node imports a module once a process: this environment is another file.
  const fresh = './fresh-environment.mjs';
  writeFileSync(
    join(cwd, 'fresh-environment.mjs'),
    `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(join(marks, 'fresh'))}, '');\nexport { default } from './environment.mjs';\n`,
  );

  it('imports only the module of the environment and shows the prompt', async () => {
    const printed = await dryRun({ environment: fresh, model, evaluation: { reward } });
    expect(loaded()).toEqual(['fresh']);
    expect(printed).toContain('--- system ---');
  });

  it.each([
    ['prompts.helpers', { prompts: { helpers } }],
    ['policy', { policy: { kind: 'module', path: policy } }],
  ])('explains why it does not show the prompt: %s', async (field, changes) => {
    const printed = await dryRun(changes);
    expect(loaded()).toEqual([]);
    expect(printed).toContain(
      `the prompt is not shown: a dry run imports only the environment's module, but the prompt needs ${field}`,
    );
    expect(printed).toContain('CartPole-v1');
  });
});
