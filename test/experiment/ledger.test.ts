import { describe, expect, it } from 'vitest';
import type { ModelErrorKind, Usage } from '../../src/models/language-model.js';
import { maxPromptTokens } from '../../src/models/reply-faults.js';
import { Ledger, type Reservation, type RunUsageConfig, usageConfig } from '../../src/proposers/budget.js';
import type { CallRecord } from '../../src/runs/calls.js';
import { callOf } from '../support/records.js';

const messages = [{ role: 'user', content: 'x'.repeat(400) }] as const;
const one = { messages, choices: 1 } as const;
const most = maxPromptTokens(messages);
const price = { input: 1, cachedInput: 0.1, output: 10 };

const call = (usage: Usage, more: Partial<CallRecord> = {}) =>
  callOf({
    messages,
    completion: { text: '', finishReason: 'stop', usage, latencyMs: 5, retries: 1 },
    ...more,
  });
const failedWith = (...failedTries: ModelErrorKind[]) =>
  callOf({
    messages,
    outcome: { kind: 'error', error: 'server', message: '', retries: 3, failedTries, latencyMs: 70 },
  });

const create = (limits: object, maxTokens?: number, more: Partial<RunUsageConfig> = {}) =>
  new Ledger({ limits, price, maxTokens, usesTokens: true, ...more });

describe('a ledger', () => {
  it('adds up usage, retries, time and cost', () => {
    const ledger = create({});
    const usage = { promptTokens: 1000, cachedTokens: 400, completionTokens: 50, reasoningTokens: 20 };
    const cost = ledger.cost(usage)!;
    expect(cost).toBeCloseTo((600 * 1 + 400 * 0.1 + 50 * 10) / 1e6, 15);
    ledger.record(call(usage, { cost }));
    ledger.record(call({}));
    ledger.record(failedWith());
    const { cost: totalCost, ...totals } = ledger.totals;
    expect(totals).toEqual({
      ...usage,
      ...{ calls: 3, errors: 1, retries: 5, latencyMs: 80, faults: { server: 1 } },
    });
    expect(totalCost).toBeCloseTo(cost, 15);
    expect(ledger.spent).toEqual({ evaluations: 0, calls: 3, tokens: 1050, cost, minutes: 0 });
  });

  it('counts the most tokens possible for failed attempts that may have been billed, but no further calls', () => {
    const ledger = create({});
    ledger.record({ ...failedWith('cut', 'server'), choices: 3 }, 100);
    expect(ledger.spent).toMatchObject({ calls: 1, tokens: most + 300 });
    ledger.record(failedWith('cut'));
    expect(ledger.spent).toMatchObject({ calls: 2, tokens: 2 * most + 300 + 8192 });
  });

  it('counts calls in flight, and rejects a call that could exceed a limit', () => {
    const ledger = create({ calls: 2 });
    const first = ledger.reserve(one);
    expect(ledger.reserve(one)).toMatchObject({ maxTokens: undefined });
    expect(ledger.inFlight).toMatchObject({ calls: 2, tokens: 4096 });
    expect(ledger.reserve(one)).toBe('calls');
    if (typeof first !== 'string') first.release();
    expect(ledger.reserve(one)).toMatchObject({ maxTokens: undefined });
    expect(create({}, 50, { usesTokens: false }).reserve(one)).toMatchObject({ maxTokens: 50 });
  });

  it('reserves the most tokens that a call may use, and more if a lost attempt may be billed, too', () => {
    const ledger = create({ tokens: 3 * most + 400 }, 100);
    const { mayTryAgain } = ledger.reserve({ ...one, choices: 2 }) as Reservation;
    expect(mayTryAgain('server')).toBe(true);
    const cost = (tokens: number) => expect.closeTo((2 * most + 10 * tokens) / 1e6, 12);
    expect(ledger.inFlight).toMatchObject({ calls: 2, tokens: 2 * most + 200, cost: cost(200) });
    expect(mayTryAgain('cut')).toBe(true);
    expect(ledger.inFlight).toMatchObject({ calls: 2, tokens: 3 * most + 400 });
    expect(mayTryAgain('cut')).toBe(false);
    expect(ledger.reserve(one)).toBe('tokens');
    expect(create({ cost: (most + 1000) / 1e6 - 1e-9 }, 100).reserve(one)).toBe('cost');
    expect(create({ cost: (most + 1000) / 1e6 + 1e-9 }, 100).reserve(one)).toMatchObject({ maxTokens: 100 });
  });

  it('raises its estimate of prompts after a call whose usage is marked as wrong', () => {
    const reserved = (...faults: 'usage-wrong'[]) => {
      const ledger = create({ tokens: 1e6 }, 100);
      const { completion, ...rest } = call({ promptTokens: 3 * most });
      ledger.record({ ...rest, completion: { ...completion!, faults } });
      ledger.reserve(one);
      return ledger.inFlight.tokens;
    };
    expect([reserved(), reserved('usage-wrong')]).toEqual([most + 100, 3 * most + 100]);
  });

  it("uses the price of a stage's own model for its calls, and reports the given evaluations and minutes", () => {
    const critic = { price: { input: 5, output: 5 }, maxTokens: 7, usesTokens: true };
    const ledger = create({ evaluations: 9, minutes: 2 }, 100, { stages: { critic } });
    expect(ledger.cost({ promptTokens: 1e6 }, 'critic')).toBe(5);
    expect(ledger.reserve(one, 'critic')).toMatchObject({ maxTokens: 7 });
    expect(ledger.caps({ evaluations: 3, ms: 90_000 })).toEqual([
      { limit: 'evaluations', used: 3, cap: 9 },
      { limit: 'minutes', used: 1.5, cap: 2 },
    ]);
  });

  it('reports no cost without a price', () => {
    const ledger = create({}, undefined, { price: undefined });
    ledger.record(call({ promptTokens: 10 }));
    const costs = [ledger.cost({ promptTokens: 10 }), ledger.totals.cost, ledger.spent.cost];
    expect(costs).toEqual([undefined, undefined, 0]);
    expect(usageConfig({ provider: 'random' })).toEqual({ usesTokens: false });
  });
});
