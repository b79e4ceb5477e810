import { describe, expect, it } from 'vitest';
import { replyReaders } from '../../../src/experiment/propose.js';
import {
  type ChatMessage,
  type Completion,
  type LanguageModel,
  ModelError,
} from '../../../src/models/language-model.js';
import { encodingForSpec } from '../../../src/prompting/notation/encoding.js';
import { freeForm } from '../../../src/prompting/notation/grammar.js';
import { Ledger } from '../../../src/proposers/budget.js';
import { languageModelProposer } from '../../../src/proposers/language-model.js';
import type { ProposalRequest } from '../../../src/proposers/proposer.js';
import type { CallRecord } from '../../../src/runs/calls.js';
import { ask } from '../../support/ask.js';
import { createScriptedModel, type ScriptedReply } from '../../support/scripted-model.js';

const spec = { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
const prompt: readonly ChatMessage[] = [
  { role: 'system', content: 'optimise' },
  { role: 'user', content: 'propose' },
];
const good = (a: number, b: number) => `params[0]: ${a}, params[1]: ${b}`;
const failing = (kind: 'server' | 'authentication') =>
  new ModelError(kind, 'no answer', { retries: 2, latencyMs: 9 });

function request(
  model: LanguageModel,
  {
    candidates = 1,
    ledger = new Ledger({ limits: {}, price: undefined, maxTokens: 100, usesTokens: true }),
    ...changes
  }: Partial<Omit<ProposalRequest, 'candidates'>> & {
    readonly candidates?: number;
    readonly ledger?: Ledger;
  } = {},
) {
  const calls: CallRecord[] = [];
  const proposals = languageModelProposer(model).propose({
    iteration: 7,
    candidates: Array.from({ length: candidates }, (_, i) => i),
    corrections: 2,
    prompt: { messages: prompt, formatCorrection: (failure) => `correct this: ${failure.kind}` },
    task: { parameters: spec, history: [], warmup: 0 },
    ...replyReaders({
      family: { description: { kind: 'module', name: 'own', text: '' } },
      encoding: encodingForSpec(spec, 'numeric'),
      form: freeForm,
    }),
    seen: () => undefined,
    seed: (candidate, attempt) => 100 * candidate + attempt,
    findRecorded: () => undefined,
    concurrency: 2,
    caller: { ledger, signal: new AbortController().signal, now: () => new Date(0) },
    onCall: (call) => {
      calls.push(call);
    },
    ...changes,
  });
  return { calls, ledger, proposals };
}

describe('propose', () => {
  it('accepts a valid answer at the first attempt', async () => {
    const model = createScriptedModel([good(1, -2)]);
    const { calls, proposals } = request(model);
    expect(await proposals).toMatchObject({ proposals: [{ candidate: 0, parameters: [1, -2] }] });
    expect(model.calls[0]).toMatchObject({ messages: prompt, options: { seeds: [0] } });
    expect(calls).toMatchObject([
      { iteration: 7, candidate: 0, attempt: 0, seed: 0, outcome: { kind: 'accepted' } },
    ]);
  });

  it('reuses the calls of an earlier process: checks its proposals, and counts its rejections once', async () => {
    const first = request(createScriptedModel(['no idea', good(1, 2)]));
    await first.proposals;
    const recorded: ProposalRequest['findRecorded'] = (_, attempt) => first.calls[attempt];
    const model = createScriptedModel([good(3, 4)]);
    const second = request(model, {
      findRecorded: recorded,
      maxRejected: 1,
      check: async ([a]) => (a === 1 ? { kind: 'repeated', iteration: 2 } : undefined),
    });
    // That process had counted its first reply, but ended before it could check the second.
    expect(await second.proposals).toMatchObject({ proposals: [{ parameters: [3, 4] }] });
    expect(second.calls).toHaveLength(1);
    const third = request(model, { findRecorded: recorded, maxRejected: 1 });
    expect(await third.proposals).toMatchObject({ proposals: [{ parameters: [1, 2] }] });
    expect(model.calls).toHaveLength(1);
  });

  it('asks again with the error, in one growing conversation', async () => {
    const model = createScriptedModel(['no idea', good(9, 0), good(1, 2)]);
    const { calls, proposals } = request(model);
    expect(await proposals).toMatchObject({ proposals: [{ parameters: [1, 2] }] });
    expect(model.calls[2]!.messages).toEqual([
      ...prompt,
      { role: 'assistant', content: 'no idea' },
      { role: 'user', content: 'correct this: missing' },
      { role: 'assistant', content: good(9, 0) },
      { role: 'user', content: 'correct this: range' },
    ]);
    const outcomes = calls.map(({ attempt, outcome }) => `${attempt} ${outcome.kind}`);
    expect(outcomes).toEqual(['0 rejected', '1 rejected', '2 accepted']);
  });

  it('rejects a proposal after the last correction and records every call', async () => {
    const { calls, proposals } = request(createScriptedModel(() => 'nothing'));
    expect(await proposals).toMatchObject({ proposals: [{ candidate: 0, parameters: undefined }] });
    expect(calls).toHaveLength(3);
  });

  it('rejects parameters that were evaluated before or proposed by an earlier candidate of the group', async () => {
    const replies = [[good(1, 1)], [good(2, 2), good(3, 3)], [good(2, 2), good(4, 4)]];
    const next = [0, 0, 0];
    const model = createScriptedModel(({ options }) => {
      const candidate = Math.floor(options.seeds[0]! / 100);
      return replies[candidate]![next[candidate]!++] ?? good(5, 5);
    });
    const { calls, proposals } = request(model, {
      candidates: 3,
      seen: (parameters) => (parameters[0] === 1 ? { iteration: 3, score: 8 } : undefined),
    });
    const { proposals: group } = await proposals;
    expect(group.map(({ parameters }) => String(parameters))).toEqual(['5,5', '2,2', '4,4']);
    expect(calls.map(({ candidate, outcome }) => [candidate, outcome])).toMatchObject([
      [0, { kind: 'rejected', failure: { kind: 'repeated', iteration: 3, score: 8 } }],
      [0, { kind: 'accepted' }],
      [1, { kind: 'accepted' }],
      [2, { kind: 'rejected', failure: { kind: 'repeated', iteration: 7 } }],
      [2, { kind: 'accepted' }],
    ]);
  });

  it('judges replies in candidate order, even if they arrive in reverse order', async () => {
    const waiting: (() => void)[] = [];
    const scripted = createScriptedModel(() => good(1, 1));
    const model: LanguageModel = {
      id: 'slow',
      async generate(messages, options) {
        await new Promise<void>((resolve) => {
          if (waiting.push(resolve) < 3) return;
          for (const each of waiting.toReversed()) setImmediate(each);
        });
        return scripted.generate(messages, options);
      },
    };
    const { proposals } = request(model, { candidates: 3, corrections: 0, concurrency: 3 });
    const vectors = (await proposals).proposals.map(({ parameters }) => parameters);
    expect(vectors).toEqual([[1, 1], undefined, undefined]);
  });

  it('asks again after a failed call, with the same messages', async () => {
    const model = createScriptedModel([failing('server'), good(1, 2)]);
    const { calls, ledger, proposals } = request(model);
    expect(await proposals).toMatchObject({ proposals: [{ parameters: [1, 2] }] });
    expect(model.calls[1]!.messages).toEqual(prompt);
    expect(calls[0]!.outcome).toMatchObject({ kind: 'error', error: 'server', retries: 2 });
    expect(ledger.totals).toMatchObject({ calls: 2, errors: 1, retries: 2 });
  });

  it("stops on an error that a retry can't fix, and records the call", async () => {
    const { calls, proposals } = request(createScriptedModel([failing('authentication')]));
    await expect(proposals).rejects.toThrow('no answer');
    expect(calls).toHaveLength(1);
  });

  it('makes no more calls than limits.calls, and reports that it reached this limit', async () => {
    const model = createScriptedModel(() => 'nothing');
    const ledger = new Ledger({ limits: { calls: 2 }, price: undefined, maxTokens: 100, usesTokens: true });
    const { proposals } = request(model, { ledger });
    expect(await proposals).toMatchObject({
      end: { kind: 'limit', limit: 'calls' },
      proposals: [{ parameters: undefined }],
    });
    expect(model.calls).toHaveLength(2);
  });

  it('does not repeat a call that an interrupted run has recorded', async () => {
    const first = request(createScriptedModel(['no idea', good(1, 2)]));
    const before = await first.proposals;
    const model = createScriptedModel([good(1, 2)]);
    const { calls, proposals } = request(model, {
      findRecorded: (candidate, attempt, messages) =>
        first.calls.find(
          (call) =>
            call.candidate === candidate &&
            call.attempt === attempt &&
            attempt === 0 &&
            JSON.stringify(call.messages) === JSON.stringify(messages),
        ),
    });
    expect(await proposals).toMatchObject(before);
    expect(calls.map(({ attempt }) => attempt)).toEqual([1]);
  });

  describe('with a model that answers a group in one call', () => {
    function grouping(group: readonly ScriptedReply[], single: readonly ScriptedReply[]) {
      const grouped = createScriptedModel(group);
      const alone = createScriptedModel(single);
      const model: LanguageModel = {
        id: 'grouping',
        givesSeveral: true,
        async generate(messages, options): Promise<readonly Completion[]> {
          if (options.seeds.length === 1) return alone.generate(messages, options);
          const completions: Completion[] = [];
          for (const seed of options.seeds.slice(0, group.length)) {
            completions.push(await ask(grouped, messages, { ...options, seeds: [seed] }));
          }
          return completions;
        },
      };
      return { model, alone, grouped };
    }

    it('asks once for all candidates, then individually for those that failed', async () => {
      const { model, alone, grouped } = grouping([good(1, 1), 'no', good(3, 3)], [good(2, 2)]);
      const { proposals } = request(model, { candidates: 3 });
      expect((await proposals).proposals.map(({ parameters }) => parameters?.[0])).toEqual([1, 2, 3]);
      expect(grouped.calls.map(({ options }) => options.seeds[0])).toEqual([0, 100, 200]);
      expect(alone.calls).toHaveLength(1);
    });

    it("asks individually for candidates missing from the group's reply", async () => {
      const { model, alone } = grouping([good(1, 1)], [good(2, 2), good(3, 3)]);
      const { proposals } = request(model, { candidates: 3, corrections: 0 });
      expect((await proposals).proposals.map(({ parameters }) => parameters?.[0])).toEqual([1, 2, 3]);
      expect(alone.calls.map(({ options }) => options.seeds[0])).toEqual([100, 200]);
    });
  });
});
