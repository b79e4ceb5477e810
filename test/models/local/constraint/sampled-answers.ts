/** Replies by a model that takes any token that a constraint allows. */
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createGenerator } from '../../../../src/base/random/generator.js';
import { createConstraint, createVocabulary } from '../../../../src/models/local/constraint/constraint.js';
import { type ChatTokenizer, openTokenizer } from '../../../../src/models/local/tokens/tokenizer.js';
import type { ParameterSpec } from '../../../../src/policies/policy.js';
import { parseParameters } from '../../../../src/prompting/answer/parse.js';
import { type AnswerForm, answerGrammar, freeForm } from '../../../../src/prompting/notation/grammar.js';
import { byteFallbackModel, referenceDirectory } from '../fixture.js';

export const spec: fc.Arbitrary<ParameterSpec> = fc
  .record({
    count: fc.integer({ min: 1, max: 12 }),
    kind: fc.constantFrom('float' as const, 'integer' as const),
    ends: fc.tuple(fc.integer({ min: -30_000, max: 30_000 }), fc.integer({ min: 0, max: 3000 })),
    decimals: fc.integer({ min: 0, max: 3 }),
    choices: fc.option(fc.uniqueArray(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 6 }), {
      nil: undefined,
    }),
  })
  .map(({ count, kind, ends, decimals, choices }) => {
    const digits = kind === 'integer' ? 0 : decimals;
    const low = ends[0] / 10 ** digits;
    const high = (ends[0] + ends[1]) / 10 ** digits;
    return { count, kind, decimals: digits, low, high, ...(choices && { choices, low: -20, high: 20 }) };
  });

export const tokenizer = openTokenizer(referenceDirectory('qwen3-fp32'));
export const eos = new Set(tokenizer.eosTokens);
export const vocabulary = createVocabulary(tokenizer, 520, eos);

const byteFallback = byteFallbackModel();
afterAll(() => rmSync(byteFallback, { recursive: true }));
export const byteFallbackTokenizer = openTokenizer(byteFallback);
export const vocabularies = {
  'byte-level': { tokenizer, vocabulary },
  'byte-fallback': {
    tokenizer: byteFallbackTokenizer,
    vocabulary: createVocabulary(byteFallbackTokenizer, 512, eos),
  },
};

/** Tokens that spell what a careless model writes around and instead of an answer. */
const habits = (of: ChatTokenizer) =>
  [
    'params',
    'params[',
    'params[1]: 99, ',
    'params: [1, 2]',
    '</think>',
    '<think>',
    'f(params): 3',
    '\n',
    '[',
    'PARAM [3] = 2',
    'Parameters: [',
  ].map((text) => of.encodeText(text));

/** A reply by a model that takes allowed tokens at random, with a liking for bad habits. */
function randomReply(
  kind: keyof typeof vocabularies,
  given: ParameterSpec,
  form: AnswerForm,
  thinking: boolean,
  extra: number,
  seed: number,
) {
  const { tokenizer, vocabulary } = vocabularies[kind];
  const size = vocabulary.bytes.length;
  const random = createGenerator(seed);
  const constraint = createConstraint(answerGrammar(given, form), vocabulary, thinking);
  const maxTokens = constraint.answerTokens + extra;
  const state = constraint.start();
  const ids: number[] = [];
  let habit: readonly number[] = [];
  while (ids.length < maxTokens) {
    const mask = state.mask(maxTokens - ids.length);
    const allowed = (id: number) => mask.ids.includes(id) === (mask.kind === 'only');
    if (habit.length === 0 && random.random() < 0.2) habit = random.choice(habits(tokenizer));
    const wanted = habit[0];
    habit = habit.slice(1);
    let id: number;
    if (wanted !== undefined && allowed(wanted)) id = wanted;
    else if (mask.kind === 'only') id = mask.ids[random.integers(0, mask.ids.length)]!;
    else
      do id = random.integers(0, size);
      while (!allowed(id));
    ids.push(id);
    if (eos.has(id)) return { text: tokenizer.decode(ids), finishReason: 'stop' as const };
    state.accept(id);
  }
  return { text: tokenizer.decode(ids), finishReason: 'length' as const };
}

const forms: readonly AnswerForm[] = [
  freeForm,
  { notation: 'labels', isStrict: true, reason: 'none' },
  { notation: 'json', isStrict: true, reason: 'none' },
];

/** @param numRuns replies of each kind of vocabulary */
export const testSampledAnswers = (numRuns: number) =>
  test.each(['byte-level', 'byte-fallback'] as const)(
    '%s: sampling within the masks gives a valid answer, for any spec and any sufficient budget',
    (kind) => {
      fc.assert(
        fc.property(
          spec,
          fc.constantFrom(...forms),
          fc.boolean(),
          fc.integer({ min: 0, max: 300 }),
          fc.nat(),
          (given, form, thinking, extra, seed) => {
            const { text, finishReason } = randomReply(kind, given, form, thinking, extra, seed);
            const reply = thinking ? `<think>${text}` : text;
            const result = parseParameters(reply, given, { finishReason, constrained: true });
            expect(result, JSON.stringify(reply)).toMatchObject({ ok: true });
            if (!form.isStrict) return;
            const answer = text.slice(text.lastIndexOf(form.notation === 'json' ? '{' : 'params[0]'));
            const before = text.slice(0, text.length - answer.length);
            expect(thinking ? before.slice(before.indexOf('</think>') + 8).trim() : before).toBe('');
            if (form.notation === 'json') expect(JSON.parse(answer).params).toHaveLength(given.count);
            else expect(answer).toMatch(/^[^\n]*\d$/);
          },
        ),
        { numRuns },
      );
    },
  );
