/** Sums of model calls by hour, from files that grow, are cut and are damaged. */
import { appendFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HourlyUsage, type UsageSource } from '../../../src/runs/usage/hourly-usage.js';
import { type Span, usageFigures, usageOver } from '../../../src/runs/usage/usage-span.js';
import { UsageSum } from '../../../src/runs/usage/usage-sum.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { writeRun } from '../../support/written-runs.js';

const noon = Date.parse('2026-03-10T12:00:00Z');
const minute = 60_000;

/** A line of calls.jsonl. */
const line = (more: object = {}, at = noon) =>
  `${JSON.stringify({
    ...{ iteration: 1, candidate: 0, attempt: 0, messages: [], seed: 1, purpose: 'proposal' },
    outcome: { kind: 'accepted', parameters: [1] },
    completion: {
      ...{ text: 'a', finishReason: 'stop', latencyMs: 2000, retries: 0 },
      usage: { promptTokens: 100, cachedTokens: 40, completionTokens: 10, reasoningTokens: 4 },
    },
    cost: 0.5,
    time: new Date(at).toISOString(),
    ...more,
  })}\n`;

const failed = {
  outcome: {
    kind: 'error',
    error: 'timeout',
    message: '',
    retries: 1,
    latencyMs: 9000,
    failedTries: ['cut'],
  },
  completion: undefined,
  cost: undefined,
};

function written(lines: string, manifest: object = {}): UsageSource {
  const path = join(temporaryDirectory(), 'run');
  writeRun(path, { seed: 1, model: 'openai/m' });
  const file = join(path, 'manifest.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...manifest }));
  writeFileSync(join(path, 'calls.jsonl'), lines);
  return { path, kind: 'run' };
}

const callsOf = ({ path }: UsageSource) => join(path, 'calls.jsonl');

async function figures(sources: readonly UsageSource[], span: Span = 'all', usage = reader()) {
  const { hours } = await usage.read(sources);
  return usageOver(hours, span, noon + 30 * minute).rows.map(usageFigures);
}

const reader = () => new HourlyUsage(() => performance.now());

describe('usage sums', () => {
  it('include tokens, cost, latency and kinds of failure, by model and purpose', async () => {
    const rejected = { outcome: { kind: 'rejected', failure: { kind: 'missing' } }, cost: undefined };
    const correction = { attempt: 1, purpose: 'correction' };
    const source = written(line() + line(correction) + line(failed) + line(rejected));
    const [all, model, ...purposes] = await figures([source]);
    expect(all).toMatchObject({
      ...{ model: 'all models', purpose: 'all', calls: 4, failedCalls: 1 },
      ...{ promptTokens: 300, cachedTokens: 120, completionTokens: 30, reasoningTokens: 12 },
      ...{ cost: 1, unpricedCalls: 1 },
      failures: { cut: 1, timeout: 1, 'rejected: missing': 1 },
    });
    expect(model).toEqual({ ...all, model: 'openai/m' });
    expect(purposes.map(({ calls, purpose }) => [purpose, calls])).toEqual([
      ['proposals', 3],
      ['corrections', 1],
    ]);
    // Three calls took 2 s, one 9 s.
    expect(all!.latency.median! / 2000).toBeCloseTo(1, 1);
    expect(all!.latency.percentile95! / 9000).toBeCloseTo(1, 1);
  });

  it('exclude baselines, people and replays, and name the models of other config sections', async () => {
    const models = async (manifest: object, more: object = {}) =>
      (await figures([written(line(more), manifest)])).slice(1).map(({ model }) => model);
    expect(await models({ model: 'portfolio/shares(gp+openai/a+b:c)' })).toEqual(['openai/a']);
    expect(await models({ model: 'portfolio/shares(gp+openai/a)' }, { member: 'gp-2' })).toEqual([]);
    expect(await models({ model: 'control/random' })).toEqual([]);
    expect(await models({ model: 'replayed/openai/a' })).toEqual([]);
    const settings = { 'critic.model.provider': 'openai', 'critic.model.name': 'wise' };
    expect(await models({ settings }, { purpose: 'critic' })).toEqual(['openai/wise']);
    expect(await models({ settings: {} }, { purpose: 'critic' })).toEqual(['openai/m']);
    expect(await models({ settings: { 'feedback.from': 'person' } }, { purpose: 'feedback' })).toEqual([]);
  });

  it('count actions for plays, and sampled replies for trainings', async () => {
    const { path } = written(line());
    expect((await figures([{ path, kind: 'play' }]))[1]).toMatchObject({ purpose: 'actions in games' });
    const training = join(temporaryDirectory(), 'tuned');
    mkdirSync(training);
    const step = { kind: 'step', step: 1, time: new Date(noon).toISOString() };
    const lines = [
      { ...step, sampledTokens: 60, replyTokens: 20 },
      { ...step, tokens: 500 },
      { kind: 'end' },
    ];
    writeFileSync(join(training, 'metrics.jsonl'), lines.map((one) => `${JSON.stringify(one)}\n`).join(''));
    const about = { base: { model: '/models/small' }, method: 'lora', dataset: { path: 'd' }, config: {} };
    const outcome = { ended: 'complete', step: 1 };
    writeFileSync(join(training, 'training.json'), JSON.stringify({ ...about, outcome }));
    expect((await figures([{ path: training, kind: 'training' }]))[1]).toMatchObject({
      ...{ model: 'local/small', purpose: 'training rollouts', calls: 3, completionTokens: 60, cost: null },
    });
  });
});

it('HourlyUsage returns what it has read when time is up, and reads the rest in the next call', async () => {
  const sources = Array.from({ length: 100 }, () => written(line()));
  let time = 0;
  // Each glance at this clock takes so long that other work gets its turn.
  const usage = new HourlyUsage(() => (time += 100));
  const first = await usage.read(sources, 0);
  expect(first.read).toBeLessThan(100);
  expect(first.hours).toHaveLength(first.read);
  expect((await usage.read(sources)).read).toBe(100);
  expect((await figures(sources, 'all', usage))[0]).toMatchObject({ calls: 100, promptTokens: 10_000 });
});

describe('a log that changes', () => {
  it('gives the same sums when read in pieces as when read at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(400), { minLength: 1, maxLength: 12 }), async (cuts) => {
        const whole = line() + line(failed) + line({ cost: undefined });
        const source = written('');
        const usage = reader();
        let at = 0;
        for (const cut of [...cuts, whole.length]) {
          appendFileSync(callsOf(source), whole.slice(at, at + cut));
          at += cut;
          await usage.read([source]);
        }
        expect(await figures([source], 'all', usage)).toEqual(await figures([source]));
        expect((await figures([source], 'all', usage))[0]!.calls).toBe(3);
      }),
      { numRuns: 12 },
    );
  });

  it('is reread after it was truncated, even if it has grown since', async () => {
    const source = written(line() + line());
    const usage = reader();
    await usage.read([source]);
    truncateSync(callsOf(source), line().length);
    appendFileSync(callsOf(source), line({ cost: 2 }) + line({ cost: 3 }));
    expect((await figures([source], 'all', usage))[0]).toMatchObject({ calls: 3, cost: 5.5 });
  });

  it('is counted correctly by concurrent reads while it grows', async () => {
    const source = written(line());
    const usage = reader();
    const reading = Promise.all(
      Array.from({ length: 20 }, async () => {
        appendFileSync(callsOf(source), line());
        await usage.read([source]);
      }),
    );
    await reading;
    expect((await figures([source], 'all', usage))[0]!.calls).toBe(21);
  });

  it('has only its valid calls and figures counted if it is damaged', async () => {
    const damaged = [
      ...['broken\n', '7\n', '{"outcome":null}\n', '{"outcome":{"kind":"accepted"},"time":"never"}\n'],
      line({
        completion: { usage: { promptTokens: -5, completionTokens: 'x' }, latencyMs: null },
        cost: 'free',
      }),
      line().slice(0, 40),
    ];
    const [all] = await figures([written(line() + damaged.join(''))]);
    expect(all).toMatchObject({
      calls: 2,
      promptTokens: 100,
      completionTokens: 10,
      cost: 0.5,
      unpricedCalls: 0,
    });
    const missing = { path: join(temporaryDirectory(), 'none'), kind: 'run' } as const;
    expect(await figures([missing])).toHaveLength(1);
  });
});

describe('a span', () => {
  it('has hourly or daily bars up to now, without older calls', async () => {
    const day = 24 * 60 * minute;
    const source = written([0, 1, 6.4, 8, 40].map((days) => line({}, noon - days * day)).join(''));
    const { hours } = await reader().read([source]);
    const over = (span: Span) => usageOver(hours, span, noon + 30 * minute);
    expect(['day', 'week', 'month', 'all'].map((span) => over(span as Span).total.calls)).toEqual([
      1, 3, 4, 5,
    ]);
    expect([over('day'), over('week'), over('month')].map(({ at }) => at.length)).toEqual([24, 7, 30]);
    expect(new Date(over('week').at.at(-1)!).toISOString()).toBe('2026-03-10T00:00:00.000Z');
    const { at, groups, step } = over('all');
    expect(at.at(-1)! + step).toBeGreaterThan(noon);
    expect(groups[0]!.bars.map(({ calls }) => calls).reduce((a, b) => a + b)).toBe(5);
  });

  it('of years has a bounded number of bars', () => {
    const start = 3_600_000 * Math.floor((noon - 4 * 365 * 24 * 60 * minute) / 3_600_000);
    const hours = [{ start, model: 'm', purpose: 'proposal', sum: new UsageSum() }] as const;
    expect(usageOver(hours, 'all', noon).at.length).toBeLessThanOrEqual(122);
    expect(usageOver([], 'all', noon).at).toHaveLength(1);
  });
});

it('latency percentiles are within 3 % of the exact ones', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 1 }), (latencies) => {
      const sum = new UsageSum();
      for (const latency of latencies) sum.addLatency(latency);
      const ascending = latencies.toSorted((a, b) => a - b);
      for (const share of [0.5, 0.95]) {
        const exact = ascending[Math.ceil(share * ascending.length) - 1]!;
        expect(Math.abs(sum.latency(share) / exact - 1)).toBeLessThan(0.03);
      }
    }),
  );
  expect(new UsageSum().latency(0.5)).toBeNaN();
});
