/** Limits hold for runs that are killed and resumed, however often; `underway.long.test.ts` has the plain case. */
import { describe, expect, it } from 'vitest';
import { readManifest } from '../../src/runs/reader.js';
import { killedRuns, single } from './killed-runs.js';

const { at, calls, killed, resume, run, server } = await killedRuns();

describe('a run that is killed', { timeout: 180_000 }, () => {
  it('never exceeds limits.calls, even if it is killed several times', async () => {
    server.decide = () => 'hold';
    await killed(run('r', 'limits.calls=6', 'candidates=2'), 1);
    for (const requests of [2, 3]) {
      await killed(resume('r'), requests);
    }
    server.decide = () => 'good';
    expect(await resume('r', 'iterations=9').ended).toMatchObject({ code: 0 });
    // Three requests were lost, one for two candidates is answered, and one for a single candidate still fits.
    expect(server.requests).toHaveLength(5);
    expect(calls('r')).toHaveLength(6);
    expect(readManifest(at('r')).caps).toMatchObject([{ limit: 'calls', used: 6, cap: 6 }]);
  });

  it('still counts the replies of an iteration whose prompt changes on resume', async () => {
    server.decide = (request, number) => (number === 3 ? 'hold' : single(request));
    await killed(run('r', 'candidates=2'), 3);
    server.decide = single;
    expect(await resume('r', 'iterations=3').ended).toMatchObject({ code: 0 });
    const { completionTokens } = readManifest(at('r')).usage;
    const paid = server.requests.filter(({ n }, i) => n === 1 && i !== 2).length;
    expect(completionTokens).toBe(100 * paid);
  });
});
