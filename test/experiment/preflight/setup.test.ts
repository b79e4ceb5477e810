import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { execute } from '../../../src/commands/check.js';
import { checkSetup, nodeFinding } from '../../../src/experiment/preflight/setup.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const args = { configs: undefined, offline: true, strict: false, json: false };

it('check without a config describes the setup, and exits with 0 although optional parts are missing', async () => {
  const cwd = temporaryDirectory();
  const env = {
    ...process.env,
    HF_HOME: join(cwd, 'none'),
    HF_HUB_CACHE: undefined,
    OPENAI_API_KEY: 'sk-secret',
  };
  const { context, printed } = recordingContext(cwd, { env });
  expect(await execute(args, context)).toBe(0);
  expect(printed.join('\n')).toMatch(/Node\.js.*\d+\.\d+/);
  expect(printed.join('\n')).toMatch(/no models in .*\n.*policyloop models pull/);
  expect(printed.join('\n')).toMatch(/OPENAI_API_KEY +set/);
  expect(printed.join('\n')).not.toContain('sk-secret');
});

it("an old Node, a folder that isn't writable and a wrong POLICYLOOP_PYTHON are errors", async () => {
  expect(nodeFinding('20.18.9')).toMatchObject({ level: 'error', hint: expect.stringContaining('20.19') });
  expect(nodeFinding('22.0.0')).toMatchObject({ level: 'ok' });
  const cwd = temporaryDirectory();
  const env = { ...process.env, POLICYLOOP_PYTHON: join(cwd, 'no-python') };
  const findings = await checkSetup({ cwd, env }, true);
  expect(findings.find(({ field }) => field === 'Python')).toMatchObject({
    level: 'error',
    hint: expect.stringContaining('POLICYLOOP_PYTHON'),
  });
  const closed = join(cwd, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o500);
  const disk = (await checkSetup({ cwd: closed, env }, true)).find(({ field }) => field === 'disk');
  // The superuser can write anywhere.
  expect(disk!.level).toBe(process.getuid?.() === 0 ? 'ok' : 'error');
});

it('check --offline runs no code that a config names; check alone reports errors in the code', async () => {
  const cwd = temporaryDirectory();
  const config = join(cwd, 'my.yaml');
  writeFileSync(
    join(cwd, 'own.mjs'),
    `import { writeFileSync } from 'node:fs';
    writeFileSync(new URL('ran', import.meta.url), '');
    const space = { kind: 'discrete', n: 2 };
    const step = () => [0, 1, false, {}];
    export default { create: () => ({ observationSpace: space, actionSpace: space, reset: () => 0, step }) };`,
  );
  writeFileSync(config, 'environment: ./own.mjs\nmodel: { provider: random }\n');
  const { context, printed } = recordingContext(cwd);
  expect(await execute({ ...args, configs: [config] }, context)).toBe(0);
  expect(printed.join('\n')).toMatch(/not run offline, so only its fields are checked/);
  expect(existsSync(join(cwd, 'ran'))).toBe(false);
  expect(await execute({ ...args, configs: [config], offline: false }, context)).toBe(2);
  expect(printed.join('\n')).toMatch(/environment.*step/);
});

it.each([
  ['Math.random()', /0 errors, 1 warning/],
  ['random.random()', /0 errors, 0 warnings/],
])('check warns if an episode has other rewards when played again: %s', async (reward, summary) => {
  const cwd = temporaryDirectory();
  writeFileSync(
    join(cwd, 'own.mjs'),
    `const space = { kind: 'discrete', n: 2 };
    let random;
    const reset = (_seed, own) => { random = own; return 0; };
    const step = () => ({ observation: 0, reward: ${reward}, terminated: false });
    export default { create: () => ({ observationSpace: space, actionSpace: space, maxSteps: 9, reset, step }) };`,
  );
  const { context, printed } = recordingContext(cwd);
  const overrides = ['environment=./own.mjs', 'evaluation.episodes=4'];
  writeFileSync(join(cwd, 'my.yaml'), 'model: { provider: random }\nenvironment: ./own.mjs\n');
  await execute({ ...args, configs: [join(cwd, 'my.yaml'), ...overrides], offline: false }, context);
  expect(printed.join('\n')).toMatch(summary);
});

it('check reports nothing about a config if it is interrupted', async () => {
  const cwd = temporaryDirectory();
  const [stopped, config] = [AbortSignal.abort(), join(cwd, 'my.yaml')];
  writeFileSync(config, 'environment: CartPole-v1\nmodel: { provider: random }\n');
  const { context, printed } = recordingContext(cwd, { stop: { finish: stopped, abort: stopped } });
  await expect(execute({ ...args, configs: [config], offline: false }, context)).rejects.toBe(stopped.reason);
  const finished = recordingContext(cwd, { stop: { finish: stopped, abort: new AbortController().signal } });
  expect(await execute({ ...args, configs: [config], offline: false }, finished.context)).toBe(130);
  expect([...printed, ...finished.printed]).toEqual([]);
});
