/** Requests per minute, of one sender and of several; the clock is simulated. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MinuteWindow } from '../../../src/models/hosted/rate.js';

const minute = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('the rate of one process', () => {
  it('is never exceeded, keeps requests in order, and delays none below the limit', async () => {
    const rate = new MinuteWindow(5);
    const started = performance.now();
    const sent: { readonly i: number; readonly at: number }[] = [];
    const told: number[] = [];
    const onWait = (ms: number) => told.push(ms);
    for (let i = 0; i < 12; i++)
      void rate.turn({ onWait }).then(() => sent.push({ i, at: performance.now() - started }));
    await vi.advanceTimersByTimeAsync(5 * minute);
    expect(sent.map(({ i }) => i)).toEqual([...Array(12).keys()]);
    expect(sent.map(({ at }) => at / minute)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
    expect(told).toEqual([minute, minute]);
  });

  it('ends a wait at once when aborted, without delaying the requests behind it', async () => {
    const rate = new MinuteWindow(1);
    await rate.turn({});
    const end = new AbortController();
    let sent = 0;
    const first = rate.turn({ signal: end.signal });
    void rate.turn({}).then(() => sent++);
    end.abort('stopped');
    await expect(first).rejects.toBe('stopped');
    await vi.advanceTimersByTimeAsync(minute - 1);
    expect(sent).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toBe(1);
  });
});

it.each([
  [3, 7],
  [20, 7],
])('divided between %i senders, %i per minute are never exceeded', async (senders, perMinute) => {
  const later: number[] = [];
  const started = performance.now();
  for (let sender = 0; sender < senders; sender++) {
    const rate = new MinuteWindow(perMinute);
    rate.divide(senders);
    const send = async (): Promise<void> => {
      await rate.turn({});
      // Each sender's first requests may come at once.
      const at = performance.now() - started;
      if (at > 4 * minute) later.push(at);
      if (at < 10 * minute) await send();
    };
    void send();
  }
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(later.length).toBeLessThanOrEqual(6 * perMinute + senders);
  expect(later.length).toBeGreaterThan(4 * perMinute);
});
