import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseValues, rejectLists, splitItems } from '../../../src/base/settings/value-lists.js';

/** Values as a user may write them: plain words and numbers, quoted texts, JSON. */
const plain = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.stringMatching(/^[a-z][a-z0-9.:/'-]{0,8}[a-z0-9]$/),
);
const doubleQuoted = fc.string().map((text) => JSON.stringify(text));
const singleQuoted = fc.string().map((text) => `'${text.replaceAll("'", "''")}'`);
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value));
const item = fc.oneof(plain, doubleQuoted, singleQuoted, json);

it('splitItems recovers items that were joined by commas', () => {
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 6 }), (items) => {
      expect(splitItems(items.join(','))).toEqual(items);
    }),
    { numRuns: 500 },
  );
});

it('the parts from splitItems join back to the original text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab,[]{}()\'"\\.: '.split('')) }), (text) => {
      expect(splitItems(text).join(',')).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

it('splitItems never splits inside brackets, braces or quotes', () => {
  fc.assert(
    fc.property(fc.array(item, { minLength: 2, maxLength: 4 }), (items) => {
      for (const [open, close] of ['[]', '{}']) {
        const around = `${open}${items.join(',')}${close}`;
        expect(splitItems(around)).toEqual([around]);
      }
      const quoted = JSON.stringify(items.join(','));
      expect(splitItems(quoted)).toEqual([quoted]);
      expect(parseValues(quoted, 'key')).toBeUndefined();
    }),
  );
});

it('parseValues splits a list of JSON values into items that parse to the original values', () => {
  fc.assert(
    fc.property(fc.array(json, { minLength: 2, maxLength: 5 }), (items) => {
      const values = parseValues(items.join(', '), 'key');
      expect(values).toMatchObject({ kind: 'list' });
      const read = values?.kind === 'list' ? values.items.map((text) => parse(text) as unknown) : [];
      expect(read).toEqual(items.map((text) => parse(text) as unknown));
    }),
  );
});

it.each([
  ['0.2,0.7,1', ['0.2', '0.7', '1']],
  ['1..4', ['1', '2', '3', '4']],
  ['-1..1', ['-1', '0', '1']],
  ['1..3,7', ['1', '2', '3', '7']],
  ['choice(4,8)', ['4', '8']],
  ['choice(1..2, 9)', ['1', '2', '9']],
  ['[1,2],[3,4]', ['[1,2]', '[3,4]']],
  ['{a: 1, b: 2}, {a: 3}', ['{a: 1, b: 2}', '{a: 3}']],
  ['"a,b","c..d"', ['"a,b"', '"c..d"']],
  ["it's,that's", ["it's", "that's"]],
  // In braces, a colon without a space separates only after a quoted key.
  [`{a:'0,"'}",0},1`, [`{a:'0,"'}",0}`, '1']],
  [`{"a":'}'},1`, [`{"a":'}'}`, '1']],
])('parseValues parses %s as a list', (text, items) => {
  expect(parseValues(text, 'key')).toEqual({ kind: 'list', items });
});

it.each(['0.5', '[1,2]', '{a: 1, b: 2}', '"1..3"', '../runs/a', 'a..b', '[1..3]', "'a,b'", '[1,2'])(
  "parseValues doesn't parse %s as a list",
  (text) => {
    expect(parseValues(text, 'key')).toBeUndefined();
    expect(() => rejectLists([`key=${text}`])).not.toThrow();
  },
);

it('parseValues parses uniform and loguniform ranges', () => {
  expect(parseValues('uniform(-1,2.5)', 'key')).toEqual({ kind: 'uniform', low: -1, high: 2.5 });
  expect(parseValues('loguniform(1e-4, 0.01)', 'key')).toEqual({ kind: 'loguniform', low: 1e-4, high: 0.01 });
});

it.each([
  ['0.1..0.5', /whole numbers/],
  ['5..1', /the lower first/],
  ['1..999999', /at most 100000/],
  ['uniform(1)', /uniform takes two numbers/],
  ['uniform(2,1)', /the lower first/],
  ['loguniform(0,1)', /above 0/],
])('parseValues rejects %s', (text, message) => {
  expect(() => parseValues(text, 'key')).toThrow(message);
});

it.each(['seed=1,2,3', 'seed=1..9', 'memory.best=choice(4,8)', 'model.sigma=uniform(0,1)', 'model.name=a,b'])(
  'a single run rejects %s, and the error points to policyloop sweep',
  (text) => {
    expect(() => rejectLists([text])).toThrow(/lists several values[\s\S]*policyloop sweep/);
  },
);
