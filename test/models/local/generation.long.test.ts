import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Engine, loadEngine } from '../../../src/models/local/generation/engine.js';
import { AbortedError } from '../../../src/models/local/generation/generation.js';
import type { GenerationJob } from '../../../src/models/local/generation/protocol.js';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { answerGrammar } from '../../../src/prompting/notation/grammar.js';
import { byteFallbackModel, readReference, referenceDirectory, referenceModels } from './fixture.js';

const hooks = { isAborted: () => false };
const settings = {
  device: 'cpu',
  quantization: 'none',
  threads: 1,
  contextTokens: undefined,
  template: {},
} as const;

const messages = readReference('llama3-rope-bf16').messages;
const job: GenerationJob = { messages, seeds: [1], maxTokens: 20, sampling: { temperature: 1 } };
const grown = [...messages, { role: 'user' as const, content: 'params[0]: 2.0; f(params): 13' }];

/** Cached prompts are reused in whole chunks. */
const chunk = 64;

let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine({ ...settings, path: referenceDirectory('llama3-rope-bf16') });
});
afterAll(() => engine.close());

async function freshly<T>(use: (engine: Engine) => Promise<T>): Promise<T> {
  const fresh = await loadEngine({ ...settings, path: referenceDirectory('llama3-rope-bf16') });
  try {
    return await use(fresh);
  } finally {
    await fresh.close();
  }
}

test('a prompt that grew costs little more than its new part, and the cache changes no reply', async () => {
  const first = await engine.generate({ ...job, seeds: [1, 2] }, hooks);
  expect(first.cachedTokens).toBe(0);
  const second = await engine.generate({ ...job, messages: grown }, hooks);
  // All but the header of the assistant's turn, which now comes later.
  expect(first.promptTokens - second.cachedTokens).toBeLessThan(12 + chunk);
  const alone = await freshly((fresh) => fresh.generate({ ...job, messages: grown }, hooks));
  expect(alone.cachedTokens).toBe(0);
  expect(second.replies).toEqual(alone.replies);
});

test('a system message stays cached when a prompt with another one comes in between', async () => {
  const told = (system: string, user: string) => ({
    ...job,
    messages: [
      { role: 'system' as const, content: `${system} ${'params[0]: 1.2; '.repeat(20)}` },
      { role: 'user' as const, content: user },
    ],
  });
  await freshly(async (fresh) => {
    const first = await fresh.generate(told('Propose.', 'one'), hooks);
    const other = await fresh.generate(told('Revise.', 'two'), hooks);
    expect(other.cachedTokens).toBeLessThan(20);
    const next = await fresh.generate(told('Propose.', 'three'), hooks);
    expect(first.promptTokens - next.cachedTokens).toBeLessThan(20 + chunk);
    const alone = await freshly((another) => another.generate(told('Propose.', 'three'), hooks));
    expect(next.replies).toEqual(alone.replies);
  });
});

test('each reply of a group equals the reply to its seed alone, however long the others are', async () => {
  const seeds = [11, 12, 13, 14, 15];
  const together = await engine.generate({ ...job, seeds, maxTokens: 300 }, hooks);
  const lengths = together.replies.map(({ ids }) => ids.length);
  expect(new Set(lengths).size).toBeGreaterThan(1);
  for (const [i, seed] of seeds.entries()) {
    const alone = await engine.generate({ ...job, seeds: [seed], maxTokens: 300 }, hooks);
    expect(alone.replies[0]).toEqual(together.replies[i]);
  }
});

test('an abort ends the reply, and the prompt stays cached', async () => {
  let asked = 0;
  const aborting = { isAborted: () => ++asked > 5 };
  await expect(engine.generate({ ...job, messages: grown }, aborting)).rejects.toThrow(AbortedError);
  expect(asked).toBe(6);
  const next = await engine.generate({ ...job, messages: grown }, hooks);
  expect(next.cachedTokens).toBe(Math.floor((next.promptTokens - 1) / chunk) * chunk);
});

test('the end token ends a reply', async () => {
  const lengths: number[] = [];
  for (let seed = 0; seed < 6; seed++) {
    const { replies } = await engine.generate(
      { ...job, seeds: [seed], maxTokens: 300, sampling: { temperature: 1.5 } },
      hooks,
    );
    const { ids, finishReason } = replies[0]!;
    if (finishReason === 'stop') expect(ids.at(-1)).toBe(2);
    expect(ids.slice(0, -1)).not.toContain(2);
    lengths.push(ids.length);
  }
  expect(Math.min(...lengths)).toBeLessThan(300);
});

const specs: readonly ParameterSpec[] = [
  { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 },
  { count: 10, kind: 'float', low: -6, high: 6, decimals: 2 },
  { count: 4, kind: 'integer', low: 0, high: 3, decimals: 0, choices: [0, 1, 3] },
];

test('reading forced tokens together changes no ids, and log-probabilities only by rounding', async () => {
  const one = await loadEngine({ ...settings, path: referenceDirectory('llama3-rope-bf16'), batch: 2 });
  const scored = { ...job, maxTokens: 100, grammar: answerGrammar(specs[1]!), sampledLogProbabilities: true };
  const counted = async (use: Engine, seeds: number[]) => {
    let runs = 0;
    const { replies } = await use.generate({ ...scored, seeds }, { isAborted: () => ++runs < 0 });
    return { replies, runs };
  };
  try {
    for (const seeds of [[1], [2], [1, 2, 3]]) {
      const together = await counted(engine, seeds);
      // In a batch of requests each token is read by itself.
      const apart = await counted(one, seeds);
      expect(together.replies.map(({ ids }) => ids)).toEqual(apart.replies.map(({ ids }) => ids));
      for (const [i, { ids, sampledLogProbabilities }] of together.replies.entries()) {
        expect(sampledLogProbabilities).toHaveLength(ids.length);
        for (const [place, value] of sampledLogProbabilities!.entries())
          expect(Math.abs(value - apart.replies[i]!.sampledLogProbabilities![place]!)).toBeLessThan(1e-5);
      }
      if (seeds.length === 1) expect(together.runs).toBeLessThan(0.7 * apart.runs);
      const plain = await engine.generate({ ...scored, seeds, sampledLogProbabilities: false }, hooks);
      expect(plain.replies.map(({ ids }) => ids)).toEqual(together.replies.map(({ ids }) => ids));
    }
  } finally {
    await one.close();
  }
});

async function countValid(path: string): Promise<number> {
  const constrained = await loadEngine({ ...settings, path });
  try {
    let valid = 0;
    for (let call = 0; call < 10; call++) {
      const spec = specs[call % specs.length]!;
      const seeds = Array.from({ length: 10 }, (_, i) => call * 10 + i);
      const { replies } = await constrained.generate(
        { ...job, seeds, grammar: answerGrammar(spec), maxTokens: 140 },
        hooks,
      );
      for (const { text, finishReason } of replies)
        if (parseParameters(text, spec, { finishReason, constrained: true }).ok) valid++;
    }
    return valid;
  } finally {
    await constrained.close();
  }
}

test.each(referenceModels)('%s: 100 of 100 constrained replies are valid', async (name) => {
  expect(await countValid(referenceDirectory(name))).toBe(100);
});

test('100 of 100 constrained replies are valid with a byte-fallback tokenizer', async () => {
  const path = byteFallbackModel();
  try {
    expect(await countValid(path)).toBe(100);
  } finally {
    rmSync(path, { recursive: true });
  }
});
