import { expect, test } from 'vitest';
import type { TextForm } from '../../../../../src/models/language-model.js';
import { constraintVocabulary } from '../../../../../src/models/local/constraint/constraint.js';
import { FormError } from '../../../../../src/models/local/constraint/form/expression-table.js';
import { formConstraint } from '../../../../../src/models/local/constraint/form/form-constraint.js';
import { sealForm } from '../../../../../src/models/local/constraint/form/text-form.js';
import type { ChatTokenizer } from '../../../../../src/models/local/tokens/tokenizer.js';
import { randomAnswer } from './random-answers.js';

const answers = (form: TextForm, seeds = 8) =>
  Array.from({ length: seeds }, (_, seed) => randomAnswer(form, seed, 200)).filter(
    (text) => text !== undefined,
  );

test.each([
  '[ab]{3}-\\d{2}',
  '(yes|no|maybe (so|not))!?',
  '[^\\x00-\\x7f"]{2,4}',
  '(?=.*\\d)[a-c\\d]{1,6}',
  '(?!bad)[a-d]{3}',
  '\\p{Lu}\\p{Ll}{0,3}',
  '.{0,5}',
  '\\u{1F600}|\\cJ|\\/|\\.',
  '^a?$|^b{2,}$',
])('random text under the pattern %s matches it as a whole', (pattern) => {
  const texts = answers({ kind: 'regex', pattern });
  expect(texts.length).toBeGreaterThan(1);
  for (const text of texts) expect(text).toMatch(new RegExp(`^(?:${pattern})$`, 'u'));
});

test('random text follows a GBNF grammar with recursion, sets, repeats and comments', () => {
  const grammar = `# sums
    root ::= term (" " [-+*] " " term){1,3}
    term ::= number | "(" root ")"   # recursion
    number ::= [1-9] [0-9]{0,2} ("." [0-9]+)?`;
  const texts = answers({ kind: 'gbnf', grammar }, 20);
  expect(texts.length).toBeGreaterThan(3);
  for (const text of texts) {
    expect(text).toMatch(/^[\d.()+* -]+$/);
    expect(Number.isFinite(Function(`return ${text.replaceAll('- -', '+')}`)())).toBe(true);
  }
});

test('random text follows a GBNF grammar with escapes and negated sets', () => {
  const grammar = 'root ::= "\\"\\n\\x41\\u00e9" [^a-z\\]\\x00-\\x1f\\u007f-\\U0010FFFF]+ .';
  for (const text of answers({ kind: 'gbnf', grammar })) expect(text).toMatch(/^"\nAé[ -\\^-`{-~]+(.|\n)$/su);
});

test.each([
  ['root = "a"', /character 1: expected a rule|character 6: unexpected/],
  ['root ::= "a', /character 10: unexpected symbol/],
  ['root ::= ("a"', /a parenthesis isn’t closed/],
  ['root ::= *', /nothing to repeat/],
  ['root ::= x', /no rule x/],
  ['x ::= "a"', /no rule root/],
  ['root ::= "a"\nroot ::= "b"', /defined twice/],
  ['root ::= root "a" | "b"', /begins with itself/],
  ['root ::= "a" root', /no text has this form/],
])('an error names the mistake in the grammar %j', (grammar, message) => {
  expect(() => sealForm({ kind: 'gbnf', grammar })).toThrow(FormError);
  expect(() => sealForm({ kind: 'gbnf', grammar })).toThrow(message);
});

test('a form with characters that the vocabulary lacks is refused', () => {
  const bytes = ['a', ''].map((token) => new Uint8Array(Buffer.from(token)));
  const tokenizer = {
    bytes: {
      of: (id: number) => bytes[id] ?? new Uint8Array(0),
      isByte: () => false,
      stripsFirstSpace: false,
    },
    controlIds: new Set([1]),
    encodeText: () => [],
  } as unknown as ChatTokenizer;
  const vocabulary = constraintVocabulary(tokenizer, 2, new Set([1]));
  const state = formConstraint(sealForm({ kind: 'literal', text: 'äbc' }), vocabulary).start();
  expect(() => state.mask(9)).toThrow(/can’t write the characters/);
});

test.each(['((a{0,1000}){0,1000}){0,1000}', '(a|b)*a(a|b){1000}', '((a|aa)*)*b'])(
  'the pattern %s takes less than 20 seconds',
  (pattern) => {
    const start = performance.now();
    try {
      randomAnswer({ kind: 'regex', pattern }, 1, 30);
    } catch (error) {
      expect(error).toBeInstanceOf(FormError);
    }
    expect(performance.now() - start).toBeLessThan(20_000);
  },
);
