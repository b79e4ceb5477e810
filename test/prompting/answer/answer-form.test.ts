import { expect, test } from 'vitest';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import {
  answerFormOf,
  answerGrammar,
  freeForm,
  writeAnswer,
} from '../../../src/prompting/notation/grammar.js';

const bare = { notation: 'json', isStrict: true, reason: 'none' };

test.each([
  [undefined, { set: 'semantic' }, freeForm],
  [{ provider: 'local', format: 'text' }, { set: 'numeric' }, freeForm],
  [{ provider: 'local', format: 'constrained' }, { set: 'numeric' }, freeForm],
  [{ provider: 'local', format: 'auto' }, { set: 'numeric' }, bare],
  [{ provider: 'local', format: 'auto' }, { set: 'compact' }, { ...bare, notation: 'labels' }],
  [
    { provider: 'local', format: 'auto' },
    { set: 'numeric', answer: 'labels' },
    { ...bare, notation: 'labels' },
  ],
  [
    { provider: 'local', format: 'text' },
    { set: 'numeric', answer: 'json' },
    { ...bare, reason: 'last' },
  ],
  [{ provider: 'ollama', format: 'auto' }, { set: 'compact' }, { ...bare, reason: 'last' }],
  [{ provider: 'openai', format: 'json' }, { set: 'numeric' }, { ...bare, reason: 'first' }],
  [{ provider: 'openai', format: 'text' }, { set: 'numeric' }, freeForm],
  [{ provider: 'module' }, { set: 'numeric' }, freeForm],
] as const)('model %j with prompts %j gets the answer form %j', (model, prompts, form) => {
  expect(answerFormOf(model, prompts)).toEqual(form);
});

test('the labels of a grammar, each followed by a value, and its closing text equal the written answer', () => {
  const spec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
  for (const form of [freeForm, { ...freeForm, isStrict: true }, bare as typeof freeForm]) {
    const { closing = '', labels } = answerGrammar(spec, form);
    const text = `${labels.map((label, i) => `${label}${i}.5`).join('')}${closing}`;
    expect(text).toBe(writeAnswer([0.5, 1.5, 2.5], spec, form));
  }
});

test('only the params list of a constrained JSON answer counts, not the lists in its reason', () => {
  const spec = { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
  const seen = ([first]: readonly number[]) => (first === 1 ? { iteration: 3 } : undefined);
  const reply = (params: string) =>
    `{"params": ${params}, "reason": "not \\"params\\": [2, 2] nor [3.0, 3.0]"}`;
  const context = { constrained: true, seen };
  expect(parseParameters(reply('[0.5, -1]'), spec, context)).toEqual({ ok: true, value: [0.5, -1] });
  expect(parseParameters(reply('[1, 1]'), spec, context)).toMatchObject({ failure: { kind: 'repeated' } });
});
