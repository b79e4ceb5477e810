/** Limits hold over runs that are killed and go on, however often; `underway.test.ts` has the plain case. */
import { describe, expect, it } from 'vitest';
import { readManifest } from '../../src/runs/reader.js';
import { killedRuns, single } from './killed-runs.js';

const { at, calls, killed, resume, run, server } = await killedRuns();

describe('a run that is killed', { timeout: 180_000 }, () => {
  it.each(['limits.calls', 'limits.total.calls'])(
    'never exceeds %s, even if it is killed several times',
    async (limit) => {
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
    },
  );

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

describe('limits.total', { timeout: 180_000 }, () => {
  it('counts earlier spending when a run or a single repeat is resumed', async () => {
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
