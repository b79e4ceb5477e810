/** Signals end a command in order, and nothing is asked or paid for twice. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { startCommand } from '../support/command.js';
import { temporaryDirectory } from '../support/experiments.js';
import { goodText, type HeldRequest, HeldServer } from '../support/held-server.js';

const server = await HeldServer.start();

const config = `environment: CartPole-v1
model: { provider: openai, name: held, baseUrl: "${server.url}", timeoutSeconds: 500, maxRetries: 0 }
iterations: 3
warmup: 2
corrections: 2
evaluation: { episodes: 2, maxSteps: 30 }
confirmation: { candidates: 0 }
`;

let cwd: string;

beforeEach(() => {
  cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'config.yaml'), config);
  server.requests.length = 0;
});

const at = (...path: string[]) => join(cwd, ...path);
const start = (...args: string[]) => startCommand(cwd, args);
const run = (name: string, ...overrides: string[]) =>
  start('run', 'config.yaml', ...overrides, '--run-dir', name);
const evaluations = (name: string) => readFileSync(at(name, 'evaluations.jsonl'), 'utf8');
const seeds = () => server.requests.map(({ seed }) => seed);

/** The evaluations of a run that nothing happens to, where every answer is good. */
async function undisturbed(...overrides: string[]): Promise<string> {
  server.decide = ({ seed }) => ({ text: goodText(seed) });
  expect(await run('whole', ...overrides).ended).toMatchObject({ code: 0 });
  return evaluations('whole');
}

describe.each(['SIGTERM', 'SIGHUP'] as const)('%s', { timeout: 180_000 }, (signal) => {
  it('aborts the call and ends the run in order; the call is made again on resume', async () => {
    server.decide = ({ seed }, number) => (number === 2 ? 'hold' : { text: goodText(seed) });
    const command = run('r');
    await server.received(2);
    command.child.kill(signal);
    const { code, stderr } = await command.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(`${signal}: stopping at once`);
    expect(stderr).not.toContain('something does not end');
    expect(readManifest(at('r'))).toMatchObject({ status: 'interrupted', iterations: { done: 1 } });
    expect(readdirSync(at('r')).filter((name) => /lock|new|tmp|underway/.test(name))).toEqual([]);
    expect(existsSync(at('r', 'report.html'))).toBe(true);
    expect(readRun(at('r')).calls.at(-1)!.outcome).toMatchObject({ kind: 'error', error: 'aborted' });
    expect(server.requests).toHaveLength(2);
    expect(await start('resume', 'r', '--runs-dir', '.').ended).toMatchObject({ code: 0 });
    expect(seeds()[2]).toBe(seeds()[1]);
    expect(evaluations('r')).toBe(await undisturbed());
  });

  it('does so for repeats that are played at once', async () => {
    server.decide = () => 'hold';
    const command = run('g', 'repeats=2', '--jobs', '2');
    await server.received(2);
    command.child.kill(signal);
    expect(await command.ended).toMatchObject({ code: 130 });
    for (const name of ['repeat-1', 'repeat-2']) {
      expect(readManifest(at('g', name)).status).toBe('interrupted');
      expect(existsSync(at('g', name, 'run.lock'))).toBe(false);
    }
    expect(existsSync(at('g', 'run.lock'))).toBe(false);
  });

  it('ends a model of the user that hears no signal', async () => {
    writeFileSync(
      at('deaf.js'),
      'export default { name: "deaf", create: () => ({ generate: () => new Promise((r) => { console.error("asked"); setTimeout(r, 3e5); }) }) };\n',
    );
    const command = run('r', 'model={provider: ./deaf.js}');
    await command.wrote(/asked/);
    command.child.kill(signal);
    const { code } = await command.ended;
    expect(code).toBe(130);
    expect(readManifest(at('r')).status).toBe('interrupted');
    expect(existsSync(at('r', 'run.lock'))).toBe(false);
  });
});

describe('the first Ctrl-C', { timeout: 180_000 }, () => {
  it('asks for no correction, says for how long it waits, and resumes with the correction', async () => {
    const script = ({ seed }: { seed: number }, number: number) =>
      number === 2 ? { text: 'I can not say.' } : { text: goodText(seed) };
    server.decide = script;
    expect(await run('whole').ended).toMatchObject({ code: 0 });
    const whole = [...seeds()];
    server.requests.length = 0;

    server.decide = (request, number) => (number === 2 ? 'hold' : script(request, number));
    const command = run('r');
    await server.received(2);
    command.child.kill('SIGINT');
    await command.wrote(/waiting for the answer of the model, for 8 min .* at most/);
    // What it answers is good, but the run of the comparison had a bad one.
    server.release();
    expect(await command.ended).toMatchObject({ code: 130 });
    expect(readManifest(at('r'))).toMatchObject({ status: 'interrupted', iterations: { done: 2 } });
    expect(server.requests).toHaveLength(2);

    server.requests.length = 0;
    server.decide = (request, number) => {
      if (number === 2) interrupted.child.kill('SIGINT');
      return number === 2 ? { text: 'I can not say.' } : script(request, number);
    };
    const interrupted = run('s');
    expect(await interrupted.ended).toMatchObject({ code: 130 });
    const { iterations, status } = readManifest(at('s'));
    // The signal may come after the answer: then one correction is under way already.
    expect(status).toBe('interrupted');
    expect(iterations.done).toBeLessThan(3);
    server.decide = ({ seed }) => ({ text: goodText(seed) });
    expect(await start('resume', 's', '--runs-dir', '.').ended).toMatchObject({ code: 0 });
    expect(seeds()).toEqual(whole);
    expect(evaluations('s')).toBe(evaluations('whole'));
  });

  it('asks for no other candidate; what has arrived is kept, and judged in its order on resume', async () => {
    const several = ['candidates=4', 'model.concurrency=2', 'iterations=1'];
    // It answers for one candidate at a time.
    const single = ({ n, seed }: HeldRequest) => (n > 1 ? 'refuse' : { text: goodText(seed) });
    server.decide = single;
    expect(await run('whole', ...several).ended).toMatchObject({ code: 0 });
    expect(server.requests.map(({ n }) => n)).toEqual([4, 1, 1, 1, 1]);
    const [, first, second, third, fourth] = seeds();
    server.requests.length = 0;
    server.decide = (request, number) => (number === 3 || number === 4 ? 'hold' : single(request));
    const command = run('r', ...several);
    await server.received(4);
    command.child.kill('SIGINT');
    await command.wrote(/at most/);
    server.release();
    expect(await command.ended).toMatchObject({ code: 130 });
    expect(seeds().slice(1)).toEqual([first, second, third]);
    server.requests.length = 0;
    server.decide = single;
    expect(await start('resume', 'r', '--runs-dir', '.').ended).toMatchObject({ code: 0 });
    expect(seeds()).toEqual([fourth]);
    expect(evaluations('r')).toBe(evaluations('whole'));
    const { usage } = readManifest(at('whole'));
    expect(readManifest(at('r')).usage).toMatchObject({ calls: 4, promptTokens: usage.promptTokens });
    expect(existsSync(at('r', 'underway.jsonl'))).toBe(false);
  });
});
