/** Requests a minute: of one process, and of hundreds that share a directory; time is a fake one. */
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MinuteWindow } from '../../../src/models/hosted/rate.js';
import { waitOnClock } from '../../../src/models/hosted/retry.js';
import { giveBack, grant, roomOf, SharedRate } from '../../../src/models/hosted/shared-rate.js';
import { createGenerator } from '../../../src/random/generator.js';
import type { tryLease } from '../../../src/storage/lease.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { FakeTime } from './fake-time.js';

const minute = 60_000;

/** The most of the times that any window of a minute holds. */
function mostInAMinute(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  let most = 0;
  for (let from = 0, to = 0; to < sorted.length; to++) {
    while (sorted[from]! <= sorted[to]! - minute) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

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

describe('cells', () => {
  it.each([1, 7, 15, 16, 17, 60, 599])(
    'hold exactly %i requests in any 16 consecutive cells',
    (perMinute) => {
      for (let first = 100; first < 140; first++) {
        const room = Array.from({ length: 16 }, (_, i) => roomOf(first + i, perMinute));
        expect(room.reduce((sum, one) => sum + one)).toBe(perMinute);
      }
    },
  );

  it('are granted in order, ahead only if mostly free, and can be given back', () => {
    const wanted = { perMinute: 128, first: 10, now: 3, ahead: 9 };
    // Eight fit into each: the three that wait, and one ahead, which makes half of the cell.
    const first = grant({ 9: 8, 11: 7 }, wanted);
    expect(first).toEqual({ cells: [10, 10, 10, 10], granted: { 10: 4, 11: 7 } });
    const second = grant(first.granted, { ...wanted, now: 7 });
    expect(second.cells).toEqual([10, 10, 10, 10, 11, 12, 12]);
    expect(giveBack(second.granted, [12, 11, 12])).toEqual({ 10: 8, 11: 7 });
  });
});

interface Task {
  readonly rate: Pick<SharedRate, 'turn'>;
  readonly sent: number[];
}

/**
 * Tasks of as many machines, whose clocks differ.
 * @param lookMs how long each holds the lease
 */
function tasksOf(time: FakeTime, count: number, perMinute: number, lookMs = 0) {
  const directory = temporaryDirectory();
  const random = createGenerator(3);
  const state = { freeAt: 0, looks: 0 };
  const lease: typeof tryLease = (_path, work) => {
    if (time.now < state.freeAt) return undefined;
    state.freeAt = time.now + lookMs;
    state.looks++;
    return { result: work(time.now) };
  };
  const tasks = Array.from({ length: count }, () => {
    const clock = time.clock({ offsetMs: random.uniform(-1e7, 1e7), drift: random.uniform(-1e-4, 1e-4) });
    return { rate: new SharedRate({ directory, perMinute, clock, lease }), sent: [] as number[] };
  });
  return { directory, state, tasks };
}

/** Asks one request after the other, each of which takes a while, until `signal` ends it. */
async function askOn({ rate, sent }: Task, time: FakeTime, answerMs: () => number, signal: AbortSignal) {
  try {
    for (;;) {
      await rate.turn({ signal });
      sent.push(time.now);
      await time.wait(answerMs(), signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

describe('a rate shared by tasks', () => {
  it.each([
    [200, 600, 0, 5000],
    [40, 240, 20, 5000],
    [100, 600, 50, 5000],
    [20, 1200, 5, 300],
    [3, 7, 20, 1000],
  ])(
    'is never exceeded, is nearly reached, and starves none of %i tasks at %i per minute',
    async (count, perMinute, lookMs, answerMs) => {
      const time = new FakeTime();
      const { tasks } = tasksOf(time, count, perMinute, lookMs);
      const random = createGenerator(1);
      const end = new AbortController();
      const answer = () => random.uniform(0.2, 1.8) * answerMs;
      const all = tasks.map((task) => askOn(task, time, answer, end.signal));
      const [from, minutes] = [time.now + minute, 2];
      await time.passUntil(from + minutes * minute);
      end.abort();
      await Promise.all(all);
      const sent = tasks.flatMap((task) => task.sent);
      expect(mostInAMinute(sent)).toBeLessThanOrEqual(perMinute);
      expect(sent.filter((at) => at >= from).length).toBeGreaterThanOrEqual(0.9 * minutes * perMinute);
      const each = tasks.map((task) => task.sent.length);
      expect(Math.min(...each)).toBeGreaterThanOrEqual(0.5 * (sent.length / count));
    },
  );

  it('would be exceeded if each task limited only itself', async () => {
    const time = new FakeTime();
    const end = new AbortController();
    const all = Array.from({ length: 3 }, async () => {
      const rate = new MinuteWindow(7, time.clock());
      const task = { rate, sent: [] as number[] };
      await askOn(task, time, () => 100, end.signal);
      return task.sent;
    });
    await time.passUntil(time.now + 2 * minute);
    end.abort();
    expect(mostInAMinute((await Promise.all(all)).flat())).toBe(21);
  });

  it('hardly delays requests below the limit, and takes fewer leases than requests', async () => {
    const time = new FakeTime();
    const { state, tasks } = tasksOf(time, 5, 6000);
    const end = new AbortController();
    const all = tasks.map((task) => askOn(task, time, () => 300, end.signal));
    await time.passUntil(time.now + minute);
    end.abort();
    await Promise.all(all);
    const sent = tasks.flatMap((task) => task.sent).length;
    // Without a rate, each would send 200; between cells it is waited for up to 0.6 s of 4.
    expect(sent).toBeGreaterThan(5 * 150);
    expect(state.looks).toBeLessThan(sent / 4);
  });

  it('loses only the grants held by tasks that die', async () => {
    const time = new FakeTime();
    const { tasks } = tasksOf(time, 20, 60);
    const [living, dying] = [new AbortController(), new AbortController()];
    const all = tasks.map((task, i) => askOn(task, time, () => 100, (i < 10 ? dying : living).signal));
    await time.passUntil(time.now + minute);
    const died = time.now;
    dying.abort();
    await time.passUntil(died + 3 * minute);
    living.abort();
    await Promise.all(all);
    const sent = tasks.slice(10).flatMap((task) => task.sent);
    expect(mostInAMinute(tasks.flatMap((task) => task.sent))).toBeLessThanOrEqual(60);
    // Ten grants of the dead are lost; after them the living have all.
    expect(sent.filter((at) => at > died).length).toBeGreaterThanOrEqual(0.9 * 3 * 60 - 10);
  });

  it('gets future grants back when their task closes', async () => {
    const time = new FakeTime();
    const { tasks } = tasksOf(time, 2, 16);
    const end = new AbortController();
    const waits = Array.from({ length: 32 }, () => tasks[0]!.rate.turn({ signal: end.signal }));
    await time.passUntil(time.now + 3 * 4000);
    end.abort('stopped');
    await Promise.allSettled(waits);
    const told: number[] = [];
    const asked = (task: Pick<Task, 'rate'>) => {
      const stop = new AbortController();
      const turn = task.rate.turn({ signal: stop.signal, onWait: (ms) => told.push(ms) });
      turn.catch(() => undefined);
      return async () => {
        await time.passUntil(time.now + 10);
        stop.abort('stopped');
        await turn.catch(() => undefined);
      };
    };
    await asked(tasks[1]!)();
    tasks[1]!.rate.close();
    tasks[0]!.rate.close();
    await asked(tasks[1]!)();
    expect(told[0]).toBeGreaterThan(20 * 4000);
    expect(told[1] ?? 0).toBeLessThanOrEqual(2 * 4000);
  });

  it('ends a wait at once when aborted, even while a dead task holds the lease', async () => {
    const time = new FakeTime();
    const { state, tasks } = tasksOf(time, 1, 60);
    state.freeAt = time.now + 20_000;
    const end = new AbortController();
    const turn = tasks[0]!.rate.turn({ signal: end.signal });
    await time.passUntil(time.now + 1000);
    end.abort('stopped');
    await expect(turn).rejects.toBe('stopped');
  });

  it('takes over an old lease, judged by file time, but not a recent one', async () => {
    const directory = temporaryDirectory();
    const clock = { now: () => performance.now(), wait: waitOnClock };
    const rate = new SharedRate({ directory, perMinute: 6000, clock });
    const path = join(directory, 'lease');
    const heldFor = (seconds: number) => {
      writeFileSync(path, 'another 1 0');
      const since = Date.now() / 1000 - seconds;
      utimesSync(path, since, since);
    };
    heldFor(10);
    await expect(rate.turn({ signal: AbortSignal.timeout(200) })).rejects.toThrow(/timeout/);
    expect(readFileSync(path, 'utf8')).toBe('another 1 0');
    heldFor(21);
    await rate.turn({});
    expect(existsSync(path)).toBe(false);
  });

  it('skips a record torn by a crash, and keeps only a few old ones', async () => {
    const time = new FakeTime();
    const { directory, tasks } = tasksOf(time, 1, 6000);
    for (let i = 0; i < 20; i++) {
      const turn = tasks[0]!.rate.turn({});
      await time.passUntil(time.now + 5000);
      await turn;
    }
    const versions = readdirSync(directory).filter((name) => name.endsWith('.json'));
    expect(versions.length).toBeLessThanOrEqual(4);
    const newest = Math.max(...versions.map((name) => Number.parseInt(name, 10)));
    writeFileSync(join(directory, `${newest + 1}.json`), '{"4');
    const turn = tasks[0]!.rate.turn({});
    await time.passUntil(time.now + 5000);
    await turn;
    expect(readdirSync(directory)).toContain(`${newest + 2}.json`);
  });
});
