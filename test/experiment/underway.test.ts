/** Calls under way when a run is killed: what arrived is not asked for again, what did not counts as spent. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { startCommand } from '../support/command.js';
import { temporaryDirectory } from '../support/experiments.js';
import { goodText, type HeldRequest, HeldServer } from '../support/held-server.js';

const server = await HeldServer.start();

const config = `environment: CartPole-v1
model: { provider: openai, name: held, baseUrl: "${server.url}", maxRetries: 0, maxTokens: 200 }
iterations: 2
candidates: 4
warmup: 2
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
  start('run', 'config.yaml', ...overrides, '--run-dir', name, '--quiet');
const resume = (name: string, ...overrides: string[]) =>
  start('resume', name, ...overrides, '--runs-dir', '.', '--quiet');
const evaluations = (name: string) => readFileSync(at(name, 'evaluations.jsonl'), 'utf8');
const seeds = () => server.requests.map(({ seed }) => seed);
const calls = (name: string) => readRun(at(name)).calls;

/** It answers for one candidate at a time. */
const single = ({ n, seed }: HeldRequest) => (n > 1 ? 'refuse' : { text: goodText(seed) });

async function killed(command: ReturnType<typeof start>, requests: number): Promise<void> {
  await server.received(requests);
  // Answers that were sent have arrived by then.
  await new Promise((resolve) => setTimeout(resolve, 500));
  command.child.kill('SIGKILL');
  await command.ended;
}

describe('a run that is killed', { timeout: 180_000 }, () => {
  it('asks only for what has not arrived, and ends as one that was not', async () => {
    server.decide = single;
    expect(await run('whole').ended).toMatchObject({ code: 0 });
    const whole = new Set(seeds());
    const { usage } = readManifest(at('whole'));
    server.requests.length = 0;
    // The third of the candidates, with others in flight that are answered.
    server.decide = (request, number) => (number === 4 ? 'hold' : single(request));
    await killed(run('r'), 5);
    const before = seeds();
    server.requests.length = 0;
    server.decide = single;
    expect(await resume('r').ended).toMatchObject({ code: 0 });
    expect(evaluations('r')).toBe(evaluations('whole'));
    expect(new Set([...before, ...seeds()])).toEqual(whole);
    expect(seeds()[0]).toBe(before[3]);
    expect(before.filter((seed, i) => i !== 3 && i > 0 && seeds().includes(seed))).toEqual([]);
    // The lost call is on record, and counted.
    const lost = calls('r').filter(({ outcome }) => outcome.kind === 'error');
    expect(lost).toMatchObject([{ seed: before[3], outcome: { error: 'aborted' } }]);
    const now = readManifest(at('r')).usage;
    expect(now).toMatchObject({
      calls: usage.calls + 1,
      errors: 1,
      completionTokens: usage.completionTokens,
    });
    expect(now.unreported).toBeGreaterThan(200);
    expect(existsSync(at('r', 'underway.jsonl'))).toBe(false);
    // A replay of it ends as it did.
    const replay = ['model={provider: replayed, run: r}'];
    expect(await run('replayed', ...replay).ended).toMatchObject({ code: 0 });
    expect(evaluations('replayed')).toBe(evaluations('r'));
  });

  it.each(['limits.calls', 'limits.total.calls'])('never passes %s, however often', async (limit) => {
    server.decide = () => 'hold';
    await killed(run('r', `${limit}=6`, 'candidates=2'), 1);
    for (const requests of [2, 3]) {
      await killed(resume('r'), requests);
    }
    server.decide = () => 'good';
    expect(await resume('r', 'iterations=9').ended).toMatchObject({ code: 0 });
    // Three requests were lost, and one for two candidates is answered.
    expect(server.requests).toHaveLength(4);
    expect(calls('r')).toHaveLength(5);
    expect(readManifest(at('r')).caps).toMatchObject([{ limit: limit.slice(7), cap: 6 }]);
  });

  it('forgets no answer of an iteration whose prompt is another one on resume', async () => {
    server.decide = (request, number) => (number === 3 ? 'hold' : single(request));
    await killed(run('r', 'candidates=2'), 3);
    server.decide = single;
    expect(await resume('r', 'iterations=3').ended).toMatchObject({ code: 0 });
    const { completionTokens } = readManifest(at('r')).usage;
    const paid = server.requests.filter(({ n }, i) => n === 1 && i !== 2).length;
    expect(completionTokens).toBe(100 * paid);
  });
});

describe('limits.total', { timeout: 180_000 }, () => {
  it('remembers what was spent, in a run and in a repeat that go on alone', async () => {
    server.decide = () => 'good';
    expect(await run('r', 'limits.total.calls=6', 'candidates=2').ended).toMatchObject({ code: 0 });
    expect(calls('r')).toHaveLength(4);
    expect(await resume('r', 'iterations=9').ended).toMatchObject({ code: 0 });
    expect(calls('r')).toHaveLength(6);

    const repeats = ['repeats=2', 'candidates=1', 'limits.total.calls=6'];
    expect(await run('g', ...repeats).ended).toMatchObject({ code: 0 });
    expect(await resume('g/repeat-1', 'iterations=9').ended).toMatchObject({ code: 0 });
    expect(await resume('g/repeat-2', 'iterations=9').ended).toMatchObject({ code: 0 });
    expect(calls('g/repeat-1').length + calls('g/repeat-2').length).toBe(6);
    expect(readManifest(at('g/repeat-2')).reason).toEqual({ kind: 'limit', limit: 'total.calls' });
  });
});
