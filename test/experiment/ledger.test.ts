import { describe, expect, it } from 'vitest';
import type { Usage } from '../../src/models/language-model.js';
import { Ledger } from '../../src/proposers/budget.js';
import { callOf } from '../support/records.js';

const message = { role: 'user', content: 'x'.repeat(400) } as const;
const one = { messages: [message], answers: 1 } as const;
const price = { input: 1, cachedInput: 0.1, output: 10 };

const call = (usage: Usage, cost?: number) =>
  callOf({
    completion: { text: '', finishReason: 'stop', usage, latencyMs: 5, retries: 1 },
    ...(cost !== undefined && { cost }),
  });

const create = (limits: object, maxTokens?: number) =>
  new Ledger({ limits, price, maxTokens, usesTokens: true });

describe('ledger', () => {
  it('adds up usage, retries, time and cost', () => {
    const ledger = create({});
    const usage = { promptTokens: 1000, cachedTokens: 400, completionTokens: 50, reasoningTokens: 20 };
    const cost = ledger.cost(usage)!;
    expect(cost).toBeCloseTo((600 * 1 + 400 * 0.1 + 50 * 10) / 1e6, 15);
    ledger.record(call(usage, cost));
    ledger.record(call({}));
    expect(ledger.totals).toMatchObject({
      calls: 2,
      errors: 0,
      retries: 2,
      promptTokens: 1000,
      cachedTokens: 400,
      completionTokens: 50,
      reasoningTokens: 20,
      latencyMs: 10,
    });
    expect(ledger.totals.cost).toBeCloseTo(cost, 15);
  });

  it('counts a failed call with its retries', () => {
    const ledger = create({});
    const { completion: _completion, ...rest } = call({});
    ledger.record({
      ...rest,
      outcome: { kind: 'error', error: 'server', message: '', retries: 3, latencyMs: 70 },
    });
    expect(ledger.totals).toMatchObject({ calls: 1, errors: 1, retries: 3, latencyMs: 70 });
  });

  it('refuses a call that could exceed a limit, counting calls in flight', () => {
    const ledger = create({ calls: 2 });
    const first = ledger.reserve(one);
    expect(ledger.reserve(one)).toMatchObject({ maxTokens: undefined });
    expect(ledger.reserve(one)).toBe('calls');
    if (typeof first !== 'string') first.release();
    expect(ledger.reserve(one)).toMatchObject({ maxTokens: undefined });
  });

  it('reserves the prompt and the longest possible completion against the token limit', () => {
    const ledger = create({ tokens: 1000 }, 300);
    expect(ledger.reserve(one)).toMatchObject({ maxTokens: 300 });
    expect(ledger.reserve({ ...one, answers: 2 })).toBe('tokens');
    const spent = create({ tokens: 1000 }, 300);
    spent.record(call({ promptTokens: 600, completionTokens: 50 }));
    expect(spent.reserve(one)).toBe('tokens');
  });

  it('reserves the possible cost of a call', () => {
    const ledger = create({ cost: 0.004 }, 300);
    expect(ledger.reserve(one)).toMatchObject({ maxTokens: 300 });
    expect(ledger.reserve(one)).toBe('cost');
  });

  it('reports no cost without a price', () => {
    const ledger = new Ledger({ limits: {}, price: undefined, maxTokens: undefined, usesTokens: true });
    expect(ledger.cost({ promptTokens: 10 })).toBeUndefined();
    expect(ledger.totals.cost).toBeUndefined();
  });
});
