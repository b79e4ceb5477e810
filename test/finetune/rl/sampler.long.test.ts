import { describe, expect, it, vi } from 'vitest';
import { type OpenedLearning, openLearning, planLearning } from '../../../finetune/rl/assemble.js';
import { scoreBeforeUpdate } from '../../../finetune/rl/improvement.js';
import { episodeOf, hadChoice, type SampledSequence } from '../../../finetune/rl/learning/episode.js';
import type { DecoderSession } from '../../../src/models/local/engine/runtime.js';
import { largest } from '../../../src/statistics/descriptive.js';
import { tinyConfig } from './tiny-learning.js';

/** Number of rows in each forward pass of the sampler. */
const passes = vi.hoisted((): number[] => []);
vi.mock('../../../src/models/local/engine/runtime.js', async (original) => {
  const runtime = await original<typeof import('../../../src/models/local/engine/runtime.js')>();
  const openSession = async (...given: Parameters<typeof runtime.openSession>): Promise<DecoderSession> => {
    const session = await runtime.openSession(...given);
    return {
      ...session,
      forward(input) {
        passes.push(input.rows);
        return session.forward(input);
      },
    };
  };
  return { ...runtime, openSession };
});

/** Largest difference between the sampler's and the training graph's log-probabilities of trained tokens. */
async function mismatch(learning: OpenedLearning, sequences: readonly SampledSequence[]): Promise<number> {
  const { parameters, reference, sessions, settings } = learning;
  const read = await scoreBeforeUpdate(sessions, parameters, sequences, reference, settings);
  return largest(
    sequences.flatMap((sequence) => {
      const { oldLogp, samplerLogp, trained } = read(sequence);
      return samplerLogp.map((logp, i) => (trained[i] ? Math.abs(logp - oldLogp![i]!) : 0));
    }),
  );
}

const sequencesOf = (groups: Awaited<ReturnType<OpenedLearning['task']['play']>>) =>
  groups.flat().flatMap(({ sequences }) => sequences);

async function opened<T>(written: object, use: (learning: OpenedLearning) => Promise<T>): Promise<T> {
  const learning = await openLearning(planLearning(tinyConfig(written)));
  try {
    return await use(learning);
  } finally {
    await learning.close();
  }
}

describe('the sampler', () => {
  it.each([
    ['all weights', { method: { kind: 'scratch' } }],
    [
      'an adapter, at another temperature',
      {
        model: 'package:models/tiny-improver',
        method: { kind: 'lora', rank: 4 },
        agent: { maxTokens: 6, fallback: 'first', temperature: 0.7 },
      },
    ],
  ])('has the same probabilities as the training graph: %s', async (_, written) => {
    await opened({ environment: 'probe-discount', epochs: 2, ...written }, async (learning) => {
      const { sampler, task, parameters } = learning;
      for (const { values } of parameters)
        for (let i = 0; i < values.length; i++) values[i]! += 0.01 * Math.sin(i);
      sampler.refresh(parameters);
      const sequences = sequencesOf(await task.play(sampler, [1, 2], 8, 3));
      expect(await mismatch(learning, sequences)).toBeLessThan(1e-5);
    });
  });

  it('follows a grammar and gives forced tokens a log-probability of 0', async () => {
    const written = {
      environment: 'bandit',
      model: 'package:models/tiny-improver',
      method: { kind: 'full' },
    };
    await opened({ ...written, agent: { maxTokens: 24 } }, async ({ sampler, parameters }) => {
      sampler.refresh(parameters);
      const number = { low: -6, high: 6, decimals: 1 };
      const grammar = { labels: ['params[0]: ', ', params[1]: '], number, mention: 'param', key: 'params' };
      const messages = [{ role: 'user', content: 'next' }] as const;
      const [held, free] = await sampler.answer([
        { messages, grammar, seed: 1 },
        { messages, seed: 1 },
      ]);
      expect(held!.text).toMatch(/params\[0\]: -?\d(\.\d)?, params\[1\]: -?\d(\.\d)?/);
      expect(held!.allowed).toHaveLength(held!.ids.length);
      const chosen = held!.allowed.map(hadChoice);
      expect(new Set(chosen)).toEqual(new Set([true, false]));
      held!.ids.forEach((id, i) => {
        expect(held!.allowed[i] ?? [id]).toContain(id);
        if (!chosen[i]) expect(held!.logp[i]).toBe(0);
      });
      expect(free!.allowed.every((some) => some === null)).toBe(true);
    });
  });

  it('samples only the given choices, with the same probabilities as the training graph', async () => {
    const choices = ['go', 'go north', 'go east', 'gold', 'x'].map((text, action) => ({ text, action }));
    const agent = { act: 'constrained', maxTokens: 8, temperature: 0.7 };
    const epochs = 2;
    await opened({ environment: 'probe-discount', epochs, agent }, async (learning) => {
      learning.sampler.refresh(learning.parameters);
      const replies = await learning.sampler.reply(
        Array.from({ length: 64 }, (_, seed) => ({
          system: '',
          before: [],
          isComplete: true,
          message: `turn ${seed % 3}`,
          seed,
          choices,
          game: seed,
          turn: 0,
        })),
      );
      const names = choices.map(({ text }) => text);
      expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(names));
      const { sequences } = episodeOf({
        turns: replies.map((reply) => ({ reply, reward: 0, valid: true })),
        truncated: false,
      });
      expect(await mismatch(learning, sequences)).toBeLessThan(1e-5);
      // Relative to all tokens, the probabilities differ.
      const among = sequences.map(({ allowed: _, ...one }) => one);
      expect(await mismatch(learning, among)).toBeGreaterThan(1);
      // 'gold' is chosen at its first and its third letter, where 'go' might end or have a space.
      const gold = sequences.find(
        ({ completionIds }) => completionIds.length === 3 && completionIds[2] !== 0,
      );
      expect(gold!.trained).toEqual([true, false, true]);
      expect(gold!.allowed!.map((some) => some!.length)).toEqual([2, 1, 3]);
    });
  });

  it('rejects an agent.maxTokens that is too small for the longest choice', async () => {
    const agent = { act: 'constrained', maxTokens: 1, prompts: 'blackjack-short' };
    await opened({ environment: 'Blackjack-v1', agent }, async (learning) => {
      learning.sampler.refresh(learning.parameters);
      await expect(learning.task.play(learning.sampler, [1], 2, 3)).rejects.toThrow(
        /maxTokens: an answer may need 5 tokens/,
      );
    });
  });

  it('decodes different prompts together, with the same replies as one at a time', async () => {
    const agent = { maxTokens: 12, fallback: 'first' };
    await opened({ environment: 'bandit', agent }, async ({ sampler, parameters }) => {
      sampler.refresh(parameters);
      const prompts = Array.from({ length: 8 }, (_, i) => ({
        messages: [{ role: 'user', content: `prompt ${i}` }] as const,
        seed: i,
      }));
      const sample = async (some: typeof prompts) => {
        passes.length = 0;
        const replies = await sampler.answer(some);
        const longest = largest(replies.map(({ ids }) => ids.length));
        return {
          decoded: passes.length,
          most: largest(passes),
          longest,
          texts: replies.map(({ text }) => text),
        };
      };
      const together = await sample(prompts);
      // A pass for the prompt of each, then one for a token of all.
      expect(together.decoded).toBeLessThanOrEqual(2 * prompts.length + together.longest);
      expect(together.most).toBe(prompts.length);
      sampler.refresh(parameters);
      let apart = 0;
      const texts: string[] = [];
      for (const prompt of prompts) {
        const one = await sample([prompt]);
        apart += one.decoded;
        texts.push(...one.texts);
      }
      expect(apart).toBeGreaterThan(3 * together.decoded);
      expect(together.texts).toEqual(texts);
    });
  });

  it('continues from its sampled ids, so that a conversation is one sequence in which only the replies are trained', async () => {
    const written = { environment: 'probe-discount', agent: { maxTokens: 5, fallback: 'first' } };
    await opened(written, async ({ sampler, task, parameters }) => {
      sampler.refresh(parameters);
      const groups = await task.play(sampler, [1], 16, 3);
      for (const { sequences, ends, tokens } of groups.flat()) {
        expect(sequences).toHaveLength(1);
        const [{ completionIds, trained, samplerLogp }] = sequences as [SampledSequence];
        expect(trained.filter(Boolean)).toHaveLength(tokens);
        expect(samplerLogp.every((logp, i) => (trained[i] ? logp < 0 : logp === 0))).toBe(true);
        // <|end|> where the reply was cut, <|user|>last<|assistant|>
        const between = completionIds.filter((_, i) => !trained[i]);
        expect(between.slice(-6)).toHaveLength(6);
        expect([0, 2]).toContain(between[0]);
        // The end of each turn, in trained tokens.
        expect(ends.at(-1)).toBe(tokens);
        expect(trained.slice(0, ends[0]).every(Boolean)).toBe(true);
        expect(trained[ends[0]!]).toBe(false);
      }
    });
  });
});
