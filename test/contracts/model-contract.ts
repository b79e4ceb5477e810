import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ChatMessage, type LanguageModel, ModelError } from '../../src/models/language-model.js';
import type { ParameterSpec } from '../../src/policies/policy.js';
import { parseParameters } from '../../src/prompting/answer/parse.js';
import { answerGrammar } from '../../src/prompting/notation/grammar.js';
import { ask } from '../support/ask.js';

export interface OpenModel {
  readonly model: LanguageModel;
  close(): Promise<void>;
}

export const contractSpec: ParameterSpec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 };

const messages: readonly ChatMessage[] = Object.freeze([
  Object.freeze({ role: 'system', content: 'You improve parameters.' }),
  Object.freeze({
    role: 'user',
    content: 'params[0]: 1.0, params[1]: 0.0, params[2]: -1.0; f(params): 12.5',
  }),
]);

const grammar = Object.freeze(answerGrammar(contractSpec));

/** What every language model must do, whoever provides it. `open` gives one that answers in the answer format. */
export function testModelContract(id: string, open: () => Promise<OpenModel>): void {
  describe(`${id} as a language model`, () => {
    let opened: OpenModel;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    it('is named provider/name', () => {
      expect(opened.model.id).toBe(id);
    });

    it('replies with valid parameters and reports the usage of the call', async () => {
      const completion = await ask(opened.model, messages, { grammar, seeds: [3] });
      const parsed = parseParameters(completion.text, contractSpec, {
        finishReason: completion.finishReason,
      });
      expect(parsed).toMatchObject({ ok: true, value: { length: contractSpec.count } });
      expect(completion).toMatchObject({ finishReason: 'stop', retries: 0 });
      expect(completion.latencyMs).toBeGreaterThanOrEqual(0);
      for (const tokens of ['promptTokens', 'completionTokens'] as const)
        expect(completion.usage[tokens]).toBeGreaterThan(0);
      expect(completion.warnings).toBeUndefined();
    });

    it('gives the same answer for the same seed, but not for every seed', async () => {
      const textOf = async (seed: number) =>
        (await ask(opened.model, messages, { grammar, seeds: [seed] })).text;
      expect(await textOf(7)).toBe(await textOf(7));
      expect(new Set(await Promise.all([1, 2, 3, 4, 5].map(textOf))).size).toBeGreaterThan(1);
    });

    it('answers a prompt several times in one call if it supports that', async () => {
      if (!opened.model.givesSeveral) return;
      const group = await opened.model.generate(messages, { grammar, seeds: [1, 2, 3] });
      expect(group).toHaveLength(3);
      for (const { usage, latencyMs, retries } of group.slice(1))
        expect({ usage, latencyMs, retries }).toEqual({ usage: {}, latencyMs: 0, retries: 0 });
    });

    it('ends a call at once if the signal is already aborted', async () => {
      const call = ask(opened.model, messages, { grammar, seeds: [1], signal: AbortSignal.abort() });
      await expect(call).rejects.toThrow(ModelError);
      await expect(call).rejects.toMatchObject({ kind: 'aborted', fatal: false, retries: 0 });
    });

    it('leaves no listener on the signal', async () => {
      const { signal } = new AbortController();
      let listeners = 0;
      const { addEventListener, removeEventListener } = signal;
      signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
        listeners++;
        addEventListener.apply(signal, given);
      };
      signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
        listeners--;
        removeEventListener.apply(signal, given);
      };
      await ask(opened.model, messages, { grammar, seeds: [1], signal });
      expect(listeners).toBe(0);
    });
  });
}
