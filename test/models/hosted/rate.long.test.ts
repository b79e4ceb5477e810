/** Requests per minute, of one sender and of several; the clock is simulated. */
import { describe, expect, it } from 'vitest';
import { MinuteWindow } from '../../../src/models/hosted/rate.js';
import { FakeTime } from './fake-time.js';

const minute = 60_000;

describe('the rate of one process', () => {
  it('is never exceeded, keeps requests in order, and delays none below the limit', async () => {
    const time = new FakeTime();
    const rate = new MinuteWindow(5, time.clock());
    const started = time.now;
    const sent: { readonly i: number; readonly at: number }[] = [];
    const told: number[] = [];
    const onWait = (ms: number) => told.push(ms);
    for (let i = 0; i < 12; i++) void rate.turn({ onWait }).then(() => sent.push({ i, at: time.now }));
    await time.passUntil(started + 5 * minute);
    expect(sent.map(({ i }) => i)).toEqual([...Array(12).keys()]);
    expect(sent.map(({ at }) => (at - started) / minute)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
    expect(told).toEqual([minute, minute]);
  });

  it('ends a wait at once when aborted, without delaying the requests behind it', async () => {
    const time = new FakeTime();
    const rate = new MinuteWindow(1, time.clock());
    await rate.turn({});
    const end = new AbortController();
    const [first, behind] = [rate.turn({ signal: end.signal }), rate.turn({})];
    end.abort('stopped');
    await expect(first).rejects.toBe('stopped');
    const began = time.now;
    await time.passUntil(began + minute);
    await behind;
    expect(time.now).toBe(began + minute);
  });
});

it('divided between senders, the rate of all together is never exceeded, also below one per minute', async () => {
  for (const [senders, perMinute] of [
    [3, 7],
    [20, 7],
  ] as const) {
    const time = new FakeTime();
    const end = new AbortController();
    const all = Array.from({ length: senders }, async () => {
      const rate = new MinuteWindow(perMinute, time.clock());
      rate.divide(senders);
      const sent: number[] = [];
      try {
        for (;;) {
          await rate.turn({ signal: end.signal });
          sent.push(time.now);
          await time.wait(100, end.signal);
        }
      } catch {
        return sent;
      }
    });
    const started = time.now;
    await time.passUntil(started + 10 * minute);
    end.abort();
    const sent = (await Promise.all(all)).flat();
    // Each sender's first requests may come at once.
    const later = sent.filter((at) => at > started + 4 * minute);
    expect(later.length).toBeLessThanOrEqual(6 * perMinute + senders);
    expect(later.length).toBeGreaterThan(4 * perMinute);
  }
});
