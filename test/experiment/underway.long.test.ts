/** Calls in flight when a run is killed: replies that arrived are not requested again, and the others count as spent. */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readManifest } from '../../src/runs/reader.js';
import { killedRuns, single } from './killed-runs.js';

const { at, calls, evaluations, killed, resume, run, seeds, server } = await killedRuns();

describe('a run that is killed', { timeout: 180_000 }, () => {
  it('requests only missing replies on resume, and evaluates the same as an uninterrupted run', async () => {
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
    const expected = { calls: usage.calls + 1, errors: 1, completionTokens: usage.completionTokens };
    expect(now).toMatchObject(expected);
    expect(now.unreported).toBeGreaterThan(200);
    expect(existsSync(at('r', 'underway.jsonl'))).toBe(false);
    // A replay of it ends as it did.
    const replay = ['model={provider: replayed, run: r}'];
    expect(await run('replayed', ...replay).ended).toMatchObject({ code: 0 });
    expect(evaluations('replayed')).toBe(evaluations('r'));
  });
});
