/** Limits hold, even for several candidates in flight and for repeats that share them. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { replyReaders } from '../../src/experiment/propose.js';
import { type GenerateOptions, type LanguageModel, ModelError } from '../../src/models/language-model.js';
import { maxPromptTokens } from '../../src/models/reply-faults.js';
import { encodingForSpec } from '../../src/prompting/notation/encoding.js';
import { freeForm } from '../../src/prompting/notation/grammar.js';
import { type CallUsage, Ledger, type SharedBudget } from '../../src/proposers/budget.js';
import { languageModelProposer } from '../../src/proposers/language-model.js';
import { callOf } from '../support/records.js';

const spec = { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
const price = { input: 2, cachedInput: 3, output: 9 };

/** What a server bills, whatever usage it reports. */
interface Billed {
  calls: number;
  tokens: number;
  cost: number;
}

/**
 * Answers as long as the request allows, at random; loses some replies after they were made, cuts connections, and
 * leaves some token counts out. A call ends after others have begun.
 */
function greedyModel(seed: number, billed: Billed, ownLimit: number | undefined): LanguageModel {
  let calls = 0;
  return {
    id: 'greedy/model',
    async generate(messages, { attempts, maxTokens }: GenerateOptions) {
      const random = createGenerator(seed, [calls++]);
      const failedTries: ModelError['kind'][] = [];
      for (;;) {
        const longest = Math.min(ownLimit ?? 100_000, maxTokens ?? 100_000);
        const prompt = Math.floor(maxPromptTokens(messages) * random.uniform(0.3, 1));
        const completion = Math.max(1, Math.floor(longest * random.random() ** 0.3));
        billed.tokens += prompt + completion;
        billed.cost += (prompt * price.cachedInput + completion * price.output) / 1e6;
        await new Promise((resolve) => setImmediate(resolve));
        if (random.random() < 0.2) {
          const kind = random.choice(['cut', 'malformed', 'timeout'] as const);
          const isOver =
            kind === 'timeout' || failedTries.length === 3 || attempts?.mayTryAgain?.(kind) === false;
          if (isOver) {
            billed.calls++;
            throw new ModelError(kind, kind, { retries: failedTries.length, failedTries, latencyMs: 0 });
          }
          failedTries.push(kind);
          continue;
        }
        billed.calls++;
        const text =
          random.random() < 0.3
            ? 'no idea'
            : `params[0]: ${random.uniform(-6, 6).toFixed(1)}, params[1]: 2.0`;
        return [
          {
            text,
            finishReason: 'stop',
            usage: {
              promptTokens: prompt,
              cachedTokens: prompt,
              completionTokens: completion,
              reasoningTokens: completion,
            },
            latencyMs: 0,
            retries: failedTries.length,
            failedTries,
          },
        ];
      }
    },
  };
}

/** Continues until a limit is reached, for at most 40 iterations. */
async function play(ledger: Ledger, model: LanguageModel, candidates: number, seed: number) {
  for (let iteration = 1; iteration <= 40; iteration++) {
    const { end } = await languageModelProposer(model).propose({
      iteration,
      candidates: Array.from({ length: candidates }, (_, i) => i),
      corrections: 2,
      prompt: {
        messages: [{ role: 'user', content: `Propose. ${'f(params) = 1.5\n'.repeat(iteration)}` }],
        formatCorrection: () => 'Give both.',
      },
      task: { parameters: spec, history: [], warmup: 0 },
      ...replyReaders({
        family: { description: { kind: 'module', name: 'own', text: '' } },
        encoding: encodingForSpec(spec, 'numeric'),
        form: freeForm,
      }),
      seen: () => undefined,
      seed: (candidate, attempt) => seed + iteration * 100 + candidate * 10 + attempt,
      findRecorded: () => undefined,
      concurrency: 4,
      caller: { ledger, signal: new AbortController().signal, now: () => new Date(0) },
      onCall: () => undefined,
    });
    if (end?.kind === 'limit') return end.limit;
  }
  return undefined;
}

const settings = fc.record({
  seed: fc.integer({ min: 0, max: 1e6 }),
  candidates: fc.integer({ min: 1, max: 5 }),
  repeats: fc.integer({ min: 1, max: 4 }),
  maxTokens: fc.option(fc.integer({ min: 20, max: 3000 }), { nil: undefined }),
  tokens: fc.integer({ min: 3000, max: 200_000 }),
  cost: fc.double({ min: 0.02, max: 1, noNaN: true }),
  calls: fc.integer({ min: 3, max: 60 }),
});

/** A limit that several runs share. */
function sharing(limits: SharedBudget['limits']) {
  const runs: CallUsage[] = [];
  const budget = (): SharedBudget => {
    let own: CallUsage;
    return {
      limits,
      others: () => runs.filter((run) => run !== own),
      join(calls) {
        own = calls;
        runs.push(calls);
      },
      claim: () => undefined,
    };
  };
  return { budget, runs };
}

describe('limits', () => {
  it('are never exceeded by concurrent repeats that share them, for any bill within the bounds of a call', async () => {
    const ends = new Set<string | undefined>();
    await fc.assert(
      fc.asyncProperty(settings, async ({ seed, candidates, repeats, maxTokens, tokens, cost, calls }) => {
        const billed = { calls: 0, tokens: 0, cost: 0 };
        const { budget, runs } = sharing({ tokens, cost, calls });
        const model = greedyModel(seed, billed, maxTokens);
        const played = Array.from({ length: repeats }, (_, i) =>
          play(
            new Ledger({ limits: {}, price, maxTokens, usesTokens: true, sharedBudget: budget() }),
            model,
            candidates,
            seed + i,
          ),
        );
        for (const limit of await Promise.all(played)) ends.add(limit);
        expect(billed.tokens).toBeLessThanOrEqual(tokens);
        expect(billed.cost).toBeLessThanOrEqual(cost + 1e-9);
        expect(billed.calls).toBeLessThanOrEqual(calls);
        for (const { inFlight } of runs) expect(inFlight.tokens).toBe(0);
      }),
      { numRuns: 60, seed: 3 },
    );
    expect(ends).toContain('sweep.limits.tokens');
    expect(ends).toContain('sweep.limits.cost');
    expect(ends).toContain('sweep.limits.calls');
  });

  it('are not exceeded if a group call is cut off and single calls follow', async () => {
    let cut = 0;
    let alone = 0;
    for (let tokens = 1000; tokens <= 12_000; tokens += 250) {
      let billed = 0;
      const model: LanguageModel = {
        id: 'cutting/model',
        givesSeveral: true,
        async generate(messages, { maxTokens, seeds }: GenerateOptions) {
          billed += maxPromptTokens(messages) + maxTokens! * seeds.length;
          if (seeds.length > 1) cut++;
          else alone++;
          throw new ModelError('cut', 'cut', { retries: 0, latencyMs: 0 });
        },
      };
      const ledger = new Ledger({ limits: { tokens }, price, maxTokens: 200, usesTokens: true });
      expect(await play(ledger, model, 4, 0)).toBe('tokens');
      expect(billed).toBeLessThanOrEqual(tokens);
      const [cap] = ledger.caps({ evaluations: 0, ms: 0 });
      expect(cap!.used).toBe(billed);
    }
    expect(cut).toBeGreaterThan(10);
    expect(alone).toBeGreaterThan(10);
  });

  it('count unreported usage', () => {
    const ledger = new Ledger({ limits: { tokens: 5000 }, price, maxTokens: 100, usesTokens: true });
    const usage = { promptTokens: 40, unreported: { promptTokens: 300, completionTokens: 8 } };
    const completion = { text: '', finishReason: 'stop', usage, latencyMs: 0, retries: 0 } as const;
    ledger.record(callOf({ completion: { ...completion, faults: ['usage-missing'] } }));
    expect(ledger.spent).toMatchObject({ calls: 1, tokens: 348 });
    const faults = { 'usage-missing': 1 };
    expect(ledger.totals).toMatchObject({ promptTokens: 40, unreported: 308, faults });
    expect(ledger.cost(usage)).toBeCloseTo((340 * 2 + 8 * 9) / 1e6, 12);
    expect(ledger.caps({ evaluations: 0, ms: 0 })).toEqual([{ limit: 'tokens', used: 348, cap: 5000 }]);
  });

  it('cap replies according to the remaining tokens if the model has no maxTokens', () => {
    const request = { messages: [{ role: 'user', content: 'Propose.' }], choices: 1 } as const;
    const most = maxPromptTokens(request.messages);
    const ledgerOf = (limits: object) =>
      new Ledger({ limits, price, maxTokens: undefined, usesTokens: true });
    const room = (tokens: number) => ledgerOf({ tokens }).reserve({ ...request, among: 2 });
    expect(room(1e6)).toMatchObject({ maxTokens: 8192 });
    expect(room(8000)).toMatchObject({ maxTokens: 4000 - most });
    // If there is no room for both, the first may take what is left.
    expect(room(4000)).toMatchObject({ maxTokens: 4000 - most });
    expect(room(most + 2048)).toMatchObject({ maxTokens: 2048 });
    expect(room(most + 2047)).toBe('tokens');
    for (const calls of [1, 9])
      expect(ledgerOf({ tokens: 6000, calls }).reserve(request)).toMatchObject({ maxTokens: 6000 - most });
    const shared = ledgerOf({ tokens: 6000 });
    for (const among of [2, 1])
      expect(shared.reserve({ ...request, among })).toMatchObject({ maxTokens: 3000 - most });
    expect(ledgerOf({}).reserve(request)).toMatchObject({ maxTokens: undefined });
  });
});
