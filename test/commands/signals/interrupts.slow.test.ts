/** Signals end a command cleanly, and no call is made or paid for twice. */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readManifest } from '../../../src/runs/reader.js';
import { heldRuns } from '../../support/held-runs.js';
import { goodText, type HeldRequest } from '../../support/held-server.js';
import { config, describeSignal } from './ended-by-signal.js';

const runs = await heldRuns(config);
const { at, evaluations, resume, run, seeds, server } = runs;

describeSignal('SIGTERM', runs);

it('the second Ctrl-C ends a run even while it tries out a program', { timeout: 180_000 }, async () => {
  const work = 'for (let i = 0; i < 6; i++) a.indexOf(1)';
  const text = `\`\`\`js\nconst a = new Float64Array(1e6);\nfunction act() { ${work}; return 0 }\n\`\`\``;
  server.decide = () => ({ text });
  const command = run('r', 'policy.kind=program', 'evaluation.episodes=200');
  await server.received(1);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  command.child.kill('SIGINT');
  await command.wrote(/press Ctrl-C again/);
  command.child.kill('SIGINT');
  expect(await command.ended).toMatchObject({ code: 130 });
  expect(readManifest(at('r'))).toMatchObject({ status: 'interrupted', iterations: { done: 0 } });
  server.requests.length = 0;
});

describe('the first Ctrl-C', { timeout: 180_000 }, () => {
  it('lets the pending call finish and reports the longest wait; the resumed run repeats no call', async () => {
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
    await command.wrote(/waiting for the model's reply, for at most 8 min/);
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
    expect(await resume('s').ended).toMatchObject({ code: 0 });
    expect(seeds()).toEqual(whole);
    expect(evaluations('s')).toBe(evaluations('whole'));
  });

  it('prevents the next candidate; the resumed run evaluates the received replies in order', async () => {
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
    expect(await resume('r').ended).toMatchObject({ code: 0 });
    expect(seeds()).toEqual([fourth]);
    expect(evaluations('r')).toBe(evaluations('whole'));
    const { usage } = readManifest(at('whole'));
    expect(readManifest(at('r')).usage).toMatchObject({ calls: 4, promptTokens: usage.promptTokens });
    expect(existsSync(at('r', 'underway.jsonl'))).toBe(false);
  });
});
