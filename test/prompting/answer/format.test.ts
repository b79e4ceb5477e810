import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParameterSpec, ParameterVector } from '../../../src/policies/policy.js';
import type { ParseResult } from '../../../src/prompting/answer/failure.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { statedReason } from '../../../src/prompting/answer/reason.js';
import { exampleAnswer, formatParameters, formatValue } from '../../../src/prompting/notation/grammar.js';

const spec: ParameterSpec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 };

const failureOf = (result: ParseResult) => (result.ok ? undefined : result.failure);

/** A spec, and a vector that it allows. */
const specAndVector = fc
  .record({
    count: fc.integer({ min: 1, max: 60 }),
    decimals: fc.integer({ min: 0, max: 6 }),
    low: fc.integer({ min: -1000, max: 0 }),
    span: fc.integer({ min: 1, max: 2000 }),
    asChoices: fc.boolean(),
  })
  .chain(({ count, decimals, low, span, asChoices }) => {
    const high = low + span;
    const choices = Array.from({ length: Math.min(span, 5) + 1 }, (_, i) => low + i);
    const chosen: ParameterSpec = asChoices
      ? { count, kind: 'integer', low, high: choices.at(-1)!, decimals: 0, choices }
      : { count, kind: decimals === 0 ? 'integer' : 'float', low, high, decimals };
    const scale = 10 ** decimals;
    const value = asChoices
      ? fc.constantFrom(...choices)
      : fc
          .integer({ min: low * scale, max: high * scale })
          .map((n) => Number((n / scale).toFixed(decimals)) + 0);
    return fc.tuple(fc.constant(chosen), fc.array(value, { minLength: count, maxLength: count }));
  });

describe('formatParameters', () => {
  it('writes every value with the decimals of the spec', () => {
    expect(formatParameters([1.2, -0.5, 3], spec)).toBe('params[0]: 1.2, params[1]: -0.5, params[2]: 3.0');
    expect(formatParameters([2, 0, 3], { ...spec, kind: 'integer', decimals: 0 })).toBe(
      'params[0]: 2, params[1]: 0, params[2]: 3',
    );
  });

  it('like formatValue, never writes a negative zero', () => {
    expect(formatValue(-0, 1)).toBe('0.0');
    expect(formatParameters([-0, -0.04, 3], spec)).toBe('params[0]: 0.0, params[1]: 0.0, params[2]: 3.0');
    expect(formatValue(-0.05, 2)).toBe('-0.05');
  });

  it('round-trips through parseParameters', () => {
    fc.assert(
      fc.property(specAndVector, ([chosen, vector]) => {
        expect(parseParameters(formatParameters(vector, chosen), chosen)).toEqual({
          ok: true,
          value: vector,
        });
      }),
    );
  });
});

describe('exampleAnswer', () => {
  it('shows the first two and the last of many parameters', () => {
    expect(exampleAnswer({ count: 10, kind: 'float' })).toBe(
      'params[0]: <number>, params[1]: <number>, ..., params[9]: <number>',
    );
    expect(exampleAnswer({ count: 2, kind: 'integer' })).toBe('params[0]: <integer>, params[1]: <integer>');
  });

  it('counts as an echo if a model sends it back', () => {
    fc.assert(
      fc.property(specAndVector, ([chosen]) => {
        expect(failureOf(parseParameters(exampleAnswer(chosen), chosen))).toEqual({ kind: 'echo' });
      }),
    );
  });
});

/** Ways in which models dress an answer, none of which changes it. */
type Dress = (items: readonly string[], vector: ParameterVector) => string;
const line: Dress = (items) => items.join(', ');
const dresses: Record<string, Dress> = {
  fence: (items, v) => `\`\`\`\n${line(items, v)}\n\`\`\``,
  'fence with a language': (items, v) => `\`\`\`text\n${line(items, v)}\n\`\`\`\nDone.`,
  think: (items, v) =>
    `<think>\nparams[0]: 3.3 was bad, ${line(items.slice(1), v)}\n</think>\n${line(items, v)}`,
  reason: (items, v) => `${line(items, v)}\nI changed params[0]: 0.4 because f(params) fell.`,
  reordered: (items, v) => line(items.toReversed(), v),
  'with a repeated value': (items, v) => `${line(items, v)}, ${items[0]}`,
  'one per line': (items) => items.join('\n'),
  bullets: (items) => items.map((item) => `* **${item}** — as before`).join('\n'),
  numbered: (items) => `Proposal:\n\n${items.map((item, i) => `${i + 1}. ${item}`).join('\n')}\n\nGood luck!`,
  'semicolons and equals signs': (items) => items.map((item) => item.replace(': ', '=')).join(';'),
  'typographic minus': (items, v) => line(items, v).replaceAll('-', '\u2212'),
  'windows line ends': (items) => `${items.join(',\r\n')}\r\n\r\nBecause.\r\n`,
  'json list': (_items, v) => JSON.stringify({ params: v, reason: 'params[0]: 1' }),
  'json by index': (_items, v) =>
    JSON.stringify(Object.fromEntries(v.map((x, i) => [`params[${i}]`, x])), null, 2),
  'json in a fence': (_items, v) =>
    `Sure!\n\`\`\`json\n${JSON.stringify({ parameters: v }, null, 1)}\n\`\`\``,
  'bare list': (_items, v) => JSON.stringify(v),
  'after a history line': (items, v) =>
    `${items.map(() => '').join('')}params[0]: 9; f(params): 3.00\n\n${line(items, v)}`,
};

describe('parseParameters', () => {
  it.each(Object.entries(dresses))('reads an answer in this form: %s', (_name, dress) => {
    fc.assert(
      fc.property(specAndVector, ([chosen, vector]) => {
        const reply = dress(formatParameters(vector, chosen).split(', '), vector);
        expect(parseParameters(reply, chosen)).toEqual({ ok: true, value: vector });
      }),
      { numRuns: 50 },
    );
  });

  it('never returns negative zero', () => {
    const result = parseParameters('params[0]: -0, params[1]: -0.0, params[2]: 1\nf(params): -0', spec);
    expect(result).toStrictEqual({ ok: true, value: [0, 0, 1], predicted: 0 });
  });

  type Found = readonly (readonly [index: number, text: string])[];
  const values = (...found: Found) => found.map(([index, text]) => ({ index, text }));
  const count = (found: number, absent: readonly number[], unknown: readonly number[]) =>
    ({ kind: 'count', expected: 3, found, absent, unknown }) as const;
  const notFinite = (...found: Found) => ({ kind: 'not-finite', values: values(...found) });

  it.each<readonly [string, object]>([
    ['params[0]: 1, params[1]: 2', count(2, [2], [])],
    ['params[0]: 1, params[1]: 2, params[3]: 2', count(3, [2], [3])],
    [
      'params[0]: 1, params[1]: -6.1, params[2]: 1e9',
      { kind: 'range', values: values([1, '-6.1'], [2, '1e9']), low: -6, high: 6 },
    ],
    [
      'params[0]: 1, params[1]: 0.35, params[2]: 1',
      { kind: 'decimals', values: values([1, '0.35']), decimals: 1 },
    ],
    ['params[0]: 1, params[1]: 2, params[2]: 3, params[0]: 2', { kind: 'duplicate-index', indices: [0] }],
    ['params[0]: 1, params[1]: -Infinity, params[2]: 1e999', notFinite([1, '-Infinity'], [2, '1e999'])],
    ['params[0]: 1.2.3, params[1]: 1 + 2, params[2]: 2', notFinite([0, '1.2.3'], [1, '1 + 2'])],
    ['params[0]: 1 score, params[1]: 1, params[2]: 2', notFinite([0, '1 score'])],
    ['params[0]: 50 %, params[1]: 2, params[2]: 3 cm', notFinite([0, '50 %'], [2, '3 cm'])],
    ['params[0]: 1,5, params[1]: ?, params[2]: 3', notFinite([0, '1,5'], [1, '?'])],
    // If several sets are incomplete, the one with a name counts, or else the largest.
    ['[4, 5]\nparams[1]: 2', count(1, [0, 2], [])],
    ['params[0]: 1\n\nweights[0]: 1, weights[1]: 2', count(2, [2], [])],
    ['', { kind: 'missing' }],
  ])('reports the failure in: %j', (reply, failure) => {
    expect(parseParameters(reply, spec)).toEqual({ ok: false, failure });
  });

  it('rejects a number that is not among the choices', () => {
    const choices = [1, 3];
    const table: ParameterSpec = { count: 2, kind: 'integer', low: 1, high: 3, decimals: 0, choices };
    const failure = failureOf(parseParameters('params[0]: 1, params[1]: 2', table));
    expect(failure).toEqual({ kind: 'range', values: values([1, '2']), low: 1, high: 3, choices });
    // Half of the values are no attempt.
    expect(failureOf(parseParameters('[3]', table))).toEqual({ kind: 'missing' });
    expect(parseParameters('1, 3\n3, 3', table)).toEqual({ ok: true, value: [1, 3] });
  });

  it('rejects parameters evaluated before and reports their iteration and score', () => {
    const seen = (v: ParameterVector) => (v[0] === 1 ? { iteration: 4, score: 12.5 } : undefined);
    const result = parseParameters('params[0]: 1, params[1]: 2, params[2]: 3', spec, { seen });
    expect(failureOf(result)).toEqual({ kind: 'repeated', iteration: 4, score: 12.5 });
  });

  it('prefers a new answer to a quoted one that was evaluated before', () => {
    const reply =
      'I propose: params[0]: 1, params[1]: 2, params[2]: 3. The best was: params[0]: 0, params[1]: 0, params[2]: 1';
    const seen = (v: ParameterVector) => (v[0] === 0 ? { score: 9 } : undefined);
    expect(parseParameters(reply, spec, { seen })).toEqual({ ok: true, value: [1, 2, 3] });
  });

  it.each([
    ['params:\n- 0.1\n- 0.2\n- 0.3', [0.1, 0.2, 0.3]],
    ['{"params": [\n 0.1,\n 0.2,\n - 0.3\n]}', [0.1, 0.2, -0.3]],
  ])('a dash is a bullet only if every line has one: %j', (reply, value) => {
    expect(parseParameters(reply, spec)).toMatchObject({ ok: true, value });
  });

  it('does not trust a number at the end of a truncated reply', () => {
    const reply = 'params[0]: 1, params[1]: 2, params[2]: 3';
    const cut = { finishReason: 'length' } as const;
    expect(failureOf(parseParameters(reply, spec, cut))).toEqual({ kind: 'truncated' });
    expect(parseParameters(`${reply}\nI ch`, spec, cut)).toEqual({ ok: true, value: [1, 2, 3] });
    for (const open of ['{"params": [1, 2, 3', '{"params": [1, 2, -0.'])
      expect(failureOf(parseParameters(open, spec))).toEqual({ kind: 'truncated' });
  });

  it.each([
    ['params = [-1.5, 0.3, -*1.4]', 3],
    ['[-)0.1*,0.1,-0.2]', 3],
    ['[1,5; 2,5]', 4],
    ['[1,5; 2,5]', 2],
    ['{"params_low": [1, 2, 3], "params_high": [4, 5, 6]}', 3],
    ['params_low[0]: 1, params_low[1]: 2, params_low[2]: 3', 3],
    ['low: [1, 2, 3]\nhigh: [4, 5, 6]', 3],
    ['gradient = [0.1, 0.2, 0.3]', 3],
    ['params:\n0.1\n- 0.2\n0.3', 3],
  ])('takes no parameters from: %j', (reply, count) => {
    expect(parseParameters(reply, { ...spec, count }).ok).toBe(false);
  });

  it('never throws, and returns only values that the reply contains and the spec allows', () => {
    const numbers = [
      ...['1', '-2.5', '+0.5', '.5', '1e-1', '5 %', '1,5', '3 cm', '\u22124', '2 to 3', '6.', '-0'],
    ];
    const pieces = [
      ...['-', '\u2212', '1e', '.', '[', ']', '{', '}', '"params": [', '\n', '```json', '<think>'],
      ...['</think>', 'f(params): ', ', ', '; ', 'NaN', '*', '**', '(', ')', '|', '\u0000', '\ud800'],
      ...['   ', 'params[2]: 3'],
      ...['params[999999999999]: 1', 'param', '<number>', '\r\n', '- ', '1. ', 'Answer: ', 'w0', ' = '],
    ];
    const anything = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc
        .array(fc.oneof(fc.constantFrom(...pieces, ...numbers), fc.double().map(String)), { maxLength: 30 })
        .map((parts) => parts.join('')),
    );
    /** An answer into which up to three pieces are inserted. */
    const changed = fc
      .tuple(
        fc.array(fc.integer({ min: -70, max: 70 }), { minLength: 3, maxLength: 3 }),
        fc.constantFrom(...Object.values(dresses)),
        fc.array(fc.tuple(fc.nat(), fc.constantFrom(...pieces, ...numbers, '')), { maxLength: 3 }),
      )
      .map(([tenths, dress, insertions]) => {
        const vector = tenths.map((value) => value / 10);
        const answer = dress(formatParameters(vector, spec).split(', '), vector);
        return insertions.reduce((text, [at, piece]) => {
          const position = at % (text.length + 1);
          return text.slice(0, position) + piece + text.slice(position);
        }, answer);
      });
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.oneof({ weight: 1, arbitrary: anything }, { weight: 3, arbitrary: changed }),
        fc.boolean(),
        (reply, cut) => {
          expect(statedReason(reply).length).toBeLessThanOrEqual(600);
          const result = parseParameters(reply, spec, cut ? { finishReason: 'length' } : {});
          if (!result.ok) return;
          accepted++;
          expect(result.value).toHaveLength(3);
          const text = reply.replaceAll('\u2212', '-');
          const written = text.match(/[+-]? ?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?/gi)!;
          // At the start of a line, "- " may be a bullet.
          const bullets = text.match(/(?<=^\s*- )(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?/gim) ?? [];
          const held = new Set([...written, ...bullets].map((one) => Number(one.replace(' ', '')) + 0));
          for (const value of result.value) {
            expect(held).toContain(value);
            expect(Math.abs(value)).toBeLessThanOrEqual(6);
            expect(Number(value.toFixed(1))).toBe(value);
          }
        },
      ),
      { numRuns: 3000 },
    );
    expect(accepted).toBeGreaterThan(300);
  });

  it.each([
    ['params[0]: 1; params[1]: 2; params[2]: 3; f(params): -31.80\n\nJustification: none.', -31.8],
    ['params[0]: 1, params[1]: 2, params[2]: 3\nf(params): 12', 12],
    ['{"params": [1, 2, 3], "score": 24}', 24],
    ['{"params": [1, 2, 3], "reason": "up", "predicted_return": 24.5}', 24.5],
    ['params[0]: 1, params[1]: 2, params[2]: 3 (predicted return: 40)', 40],
    ['params[0]: 1, params[1]: 2, params[2]: 3, score 24', 24],
    ['params[0]: 1, params[1]: 2, params[2]: 3\nI raised two.\nExpected return: ~95.', 95],
    ['99 params[0]: 1, params[1]: 2, params[2]: 3', 99],
    ['params[0]: 1, params[1]: 2, params[2]: 3\nThe score of iteration 3 was 12.', undefined],
  ])('reads the predicted score, if any, in: %j', (reply, predicted) => {
    expect(parseParameters(reply, spec)).toEqual({
      ok: true,
      value: [1, 2, 3],
      ...(predicted && { predicted }),
    });
  });

  it.each([
    'Iteration 12: params[0]: 1, params[1]: 2, params[2]: 3',
    'To maximize the return: params[0]: 1, params[1]: 2, params[2]: 3',
    "I'll change direction:\n[1, 2, 3]",
    'My best guess: 1, 2, 3',
    'Both:\nparams[0]: 1, params[1]: 2, params[2]: 3\nparams[0]: 4, params[1]: 4, params[2]: 4; f(params): 9',
    'params[0]: 1, params[1]: 2, params[2]: 3\nAlternatively, if that fails, I would try params[0]: 4, params[1]: 4, params[2]: 4.',
    'params[0]: 1, params[1]: 2, params[2]: 3; f(params): 9\nparams[0]: 4, params[1]: 4, params[2]: 4; f(params): 10',
    'params[0]: 1, params[1]: 2, params[2]: 3\n99 params[0]: 4, params[1]: 4, params[2]: 4\n98 params[0]: 4',
    'nextparams[0]: 1, nextparams[1]: 2, params[2]: 3',
    'params[0]: 1e0, params[1]: 02.0, params[2]: 0.03e2',
    'Maybe\nparams[0]: 4, params[1]: 2, params[2]: 3\nor rather\nparams[0]: 1, params[1]: 2, params[2]: 3',
    'params[0]: 1，params[1]: 2，params[2]: 3。值在总返回上更高',
    'params[0]: 1, params[1]: 2, params[2]: 3 Justification: params[1] > 0.',
    'params[0]: 9, params[1]: 2, params[2]: 3\nI apologize. Here is a correct one:\nparams[0]: 1, params[1]: 2, params[2]: 3',
    'params = np.array([[1.], [2.], [3.]])',
    '| params[0] | 1 |\n| params[1] | 2 |\n| params[2] | 3 |',
    '{"params": {"state_0": 1, "state_1": 2, "state_2": 3}}',
    'The best so far is params[0]: 4, params[1]: 4, params[2]: 4, f(params): 9.\nparams[0]: 1, params[1]: 2, params[2]: 3',
  ])('reads 1, 2, 3 from: %j', (reply) => {
    expect(parseParameters(reply, spec)).toMatchObject({ ok: true, value: [1, 2, 3] });
  });

  it.each([
    '{"params": [[0, 1, 2], [3, 0, 1]]}',
    '{"params": {"s0": 0, "s1": 1, "s2": 2, "s3": 3, "s4": 0, "s5": 1.0}}',
  ])('reads the table: %s', (reply) => {
    const table: ParameterSpec = { count: 6, kind: 'integer', low: 0, high: 3, decimals: 0 };
    expect(parseParameters(reply, table)).toEqual({ ok: true, value: [0, 1, 2, 3, 0, 1] });
  });

  it('reports several known sets as an echo, and a single known set as repeated', () => {
    const seen = (v: ParameterVector) => (v[0] === 1 || v[0] === 0 ? { iteration: 4 } : undefined);
    const [one, other] = [formatParameters([1, 2, 3], spec), formatParameters([0, 2, 3], spec)];
    const kindOf = (reply: string) => failureOf(parseParameters(reply, spec, { seen }));
    expect(kindOf(`${one}\n${one}`)).toMatchObject({ kind: 'repeated' });
    expect(kindOf(`${one}\n${other}`)).toEqual({ kind: 'echo' });
  });

  it.each([
    [
      'params[0]: 1.0, params[1]: 2.0, params[2]: 3.0; params[0]: 4, params[1]: 4, params[2]: 4 was bad',
      'stop',
    ],
    ['Let me see. params[0]: 1.0, params[1]: 2.0, params[2]: 3.0', 'length'],
    ['{"params": [1.0, 2.0, 3.0], "reason": "params[0]: 4', 'length'],
  ] as const)('reads a constrained reply unless it may end within a value: %s', (reply, finishReason) => {
    const context = { constrained: true, finishReason };
    const cut = finishReason === 'length' && reply.endsWith('3.0');
    expect(parseParameters(reply, spec, context)).toEqual(
      cut ? { ok: false, failure: { kind: 'truncated' } } : { ok: true, value: [1, 2, 3] },
    );
  });

  it('misreads at most one value if up to two characters are inserted into an answer', () => {
    let accepted = 0;
    fc.assert(
      fc.property(specAndVector, fc.nat(), fc.string({ maxLength: 2 }), ([chosen, vector], at, inserted) => {
        const text = formatParameters(vector, chosen);
        const position = at % (text.length + 1);
        const result = parseParameters(text.slice(0, position) + inserted + text.slice(position), chosen);
        if (!result.ok) return;
        accepted++;
        // An inserted digit, sign or dot may make another number; all other values must be untouched.
        const changed = result.value.filter((value, i) => value !== vector[i]);
        expect(changed.length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(150);
  });

  it('reads an answer followed by megabytes of remarks', () => {
    const answer = 'params[0]: 1, params[1]: 2, params[2]: 3\n';
    const remarks = 'The angle matters. '.repeat(60_000);
    expect(parseParameters(answer + remarks.repeat(2), spec)).toEqual({ ok: true, value: [1, 2, 3] });
  });
});

describe('statedReason', () => {
  it.each([
    ['params[0]: 1, params[1]: 2\nReason: it climbs.', 'it climbs.'],
    ['params[0]: 1, params[1]: 2\n\n**Explanation:** raised\nparams[0]: 3', 'raised params[0]: 3'],
    ['{"params": [1, 2], "reason": "a \\"steep\\" slope\\nhere"}', 'a "steep" slope here'],
    ['{"params": [1, 2], "reason": "cut off', 'cut off'],
    ['<think>secret</think>params[0]: 1', ''],
    ['I refuse.', 'I refuse.'],
    ['', ''],
  ])('of %j is %j', (reply, reason) => {
    expect(statedReason(reply)).toBe(reason);
  });

  it('is cut to the given length, by default 600 characters', () => {
    const [whole, cut] = [undefined, 100].map((limit) =>
      statedReason(`params[0]: 1\n${'word '.repeat(1000)}`, limit),
    );
    expect([whole!.length, cut!.length]).toEqual([600, 100]);
  });
});
