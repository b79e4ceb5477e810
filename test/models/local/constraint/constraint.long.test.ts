import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createGenerator } from '../../../../src/base/random/generator.js';
import { createConstraint, createVocabulary } from '../../../../src/models/local/constraint/constraint.js';
import { createNumberGrammar } from '../../../../src/models/local/constraint/number-grammar.js';
import type { ParameterSpec } from '../../../../src/policies/policy.js';
import { parseParameters } from '../../../../src/prompting/answer/parse.js';
import { answerGrammar } from '../../../../src/prompting/notation/grammar.js';
import {
  byteFallbackTokenizer,
  eos,
  spec,
  testSampledAnswers,
  tokenizer,
  vocabularies,
  vocabulary,
} from './sampled-answers.js';

describe('the grammar of one value', () => {
  test('accepts every allowed value, character by character', () => {
    fc.assert(
      fc.property(spec, fc.integer({ min: 0, max: 1_000_000 }), (given, pick) => {
        const grammar = createNumberGrammar(answerGrammar(given).number);
        const unit = 10 ** given.decimals;
        const steps = Math.round((given.high - given.low) * unit);
        const value =
          given.choices === undefined
            ? (Math.round(given.low * unit) + (pick % (steps + 1))) / unit
            : given.choices[pick % given.choices.length]!;
        const text = (value === 0 ? 0 : value).toFixed(given.decimals);
        for (let to = 0; to <= text.length; to++) expect(grammar.isFeasible(text.slice(0, to))).toBe(true);
        expect(grammar.isComplete(text)).toBe(true);
      }),
    );
  });

  test('completes only allowed values, and gives the minimum number of characters still needed', () => {
    fc.assert(
      fc.property(spec, fc.integer(), (given, seed) => {
        const grammar = createNumberGrammar(answerGrammar(given).number);
        const random = createGenerator(Math.abs(seed));
        let text = '';
        for (let step = 0; step < 12; step++) {
          const options = [...'0123456789-.'].filter((next) => grammar.isFeasible(text + next));
          if (grammar.isComplete(text)) {
            const value = Number(text);
            expect(given.choices?.includes(value) ?? (value >= given.low && value <= given.high)).toBe(true);
            expect(Object.is(value, -0)).toBe(false);
            expect(Number(value.toFixed(given.decimals))).toBe(value);
            expect(grammar.shortfall(text)).toBe(0);
          } else {
            expect(options.length).toBeGreaterThan(0);
            const after = options.map((next) => grammar.shortfall(text + next));
            expect(grammar.shortfall(text)).toBe(1 + Math.min(...after));
          }
          if (options.length === 0) break;
          text += random.choice(options);
        }
      }),
    );
  });

  test.each([
    ['-0', false],
    ['-0.0', false],
    ['1.', false],
    ['01', false],
    ['+1', false],
    ['1e1', false],
    ['6.1', false],
    ['6.0', true],
    ['-6', true],
    ['.5', false],
  ])('accepts %s as a number from -6 to 6 with at most one decimal: %s', (text, allowed) => {
    expect(createNumberGrammar({ low: -6, high: 6, decimals: 1 }).isComplete(text)).toBe(allowed);
  });
});

testSampledAnswers(60);

test('free text may come before and after the answer', () => {
  const given: ParameterSpec = { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 };
  const state = createConstraint(answerGrammar(given), vocabulary, false).start();
  const reply = 'I try something new, x < 3 [sic].\nparams[0]: -1.5, params[1]: 6\nThat should do.';
  tokenizer.encodeText(reply).forEach((id, at) => {
    const mask = state.mask(500 - at);
    expect(mask.ids.includes(id), `${tokenizer.decode([id])} at ${at}`).toBe(mask.kind === 'only');
    state.accept(id);
  });
  expect([...eos].every((id) => !state.mask(100).ids.includes(id))).toBe(true);
});

test('a model that writes free text until the answer must begin still has room for every value', () => {
  const given: ParameterSpec = { count: 12, kind: 'float', low: -6, high: 6, decimals: 2 };
  const state = createConstraint(answerGrammar(given), vocabulary, false).start();
  const [talk, ...full] = 'x-5.99'.split('').map((character) => tokenizer.encodeText(character)[0]!);
  const ids: number[] = [];
  for (let remaining = 400; remaining > 0; remaining--) {
    const mask = state.mask(remaining);
    const wanted = mask.kind === 'except' ? talk : full.find((id) => mask.ids.includes(id));
    const id = wanted ?? mask.ids[0]!;
    if (eos.has(id)) break;
    ids.push(id);
    state.accept(id);
  }
  const text = tokenizer.decode(ids);
  expect(text).toMatch(/^x{50,}\n/);
  expect(parseParameters(text, given, { finishReason: 'stop', constrained: true })).toMatchObject({
    ok: true,
    value: Array.from({ length: 12 }, () => -5.55),
  });
});

test('an answer without free text starts at once, or after thinking if the model has a token for that', () => {
  const given: ParameterSpec = { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 };
  const grammar = answerGrammar(given, { notation: 'json', isStrict: true, reason: 'none' });
  const [brace] = tokenizer.encodeText('{"params": [');
  const plain = createConstraint(grammar, vocabulary, false).start();
  expect([...plain.mask(200).ids]).toEqual([brace]);

  const thinkId = [...vocabulary.bytes.keys()].find((id) => vocabulary.bytes[id]!.length > 3)!;
  const thinker = {
    ...tokenizer,
    bytes: {
      ...tokenizer.bytes,
      get: (id: number) => (id === thinkId ? Buffer.from('<think>') : tokenizer.bytes.get(id)),
    },
  };
  const state = createConstraint(grammar, createVocabulary(thinker, 520, eos), false).start();
  const say = (text: string) => {
    for (const id of tokenizer.encodeText(text)) {
      const mask = state.mask(200);
      expect(mask.ids.includes(id), `${JSON.stringify(text)}: ${id}`).toBe(mask.kind === 'only');
      state.accept(id);
    }
  };
  expect(state.mask(200).ids).toContain(thinkId);
  expect(state.mask(200).ids).not.toContain(tokenizer.encodeText('x')[0]);
  state.accept(thinkId);
  say('Let me see.</think>\n\n{"params": [1.5, -2]}');
  expect([...state.mask(200).ids].every((id) => eos.has(id))).toBe(true);
});

test('fixed text is spelled with ordinary tokens instead of byte tokens where possible', () => {
  const ids = vocabularies['byte-fallback'].vocabulary.spell('\nparams[0]:');
  expect(ids.map((id) => byteFallbackTokenizer.bytes.isByte(id))).toEqual([
    true,
    ...Array.from('params[0]:', () => false),
  ]);
});

test('a tokenizer without single-character tokens is rejected', () => {
  const lacking = {
    ...tokenizer,
    bytes: {
      ...tokenizer.bytes,
      get: (id: number) => (id < 300 ? new Uint8Array(0) : tokenizer.bytes.get(id)),
    },
  };
  const poor = createVocabulary(lacking, 512, eos);
  const grammar = answerGrammar({ count: 1, kind: 'float', low: 0, high: 1, decimals: 1 });
  expect(() => createConstraint(grammar, poor, false)).toThrow(
    /model\.format[\s\S]*no single-character token for/,
  );
});
