import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAnswer, reasonIn } from '../../../finetune/dataset/source-run.js';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { encodingForSpec } from '../../../src/prompting/notation/encoding.js';
import { type AnswerForm, freeForm } from '../../../src/prompting/notation/grammar.js';

const floats = encodingForSpec({ count: 2, kind: 'float', low: -6, high: 6, decimals: 1 }, 'numeric');

const specAndVector = fc
  .record({
    count: fc.integer({ min: 1, max: 12 }),
    decimals: fc.integer({ min: 0, max: 4 }),
    high: fc.integer({ min: 1, max: 50 }),
  })
  .chain(({ count, decimals, high }) => {
    const spec: ParameterSpec = {
      count,
      kind: decimals === 0 ? 'integer' : 'float',
      low: -high,
      high,
      decimals,
    };
    const value = fc
      .integer({ min: -high * 10 ** decimals, max: high * 10 ** decimals })
      .map((steps) => Number((steps / 10 ** decimals).toFixed(decimals)));
    return fc.tuple(fc.constant(spec), fc.array(value, { minLength: count, maxLength: count }));
  });

const anyReason = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.constantFrom(
    'params[0]: 5, params[1]: 5',
    '<think>no',
    'The best had params[0]: 1.0; params[1]: 2.0; f(params): 9.',
    '{"params": [1, 2]}',
    '',
  ),
);

const reasonFirst: AnswerForm = { notation: 'json', isStrict: true, reason: 'first' };
const bare: AnswerForm = { notation: 'json', isStrict: true, reason: 'none' };

describe('a completion', () => {
  it.each([freeForm, reasonFirst, bare])(
    'parses back to its parameters, whatever the reason (%o)',
    (form) => {
      fc.assert(
        fc.property(specAndVector, anyReason, ([spec, vector], reason) => {
          const result = parseParameters(
            formatAnswer(vector, encodingForSpec(spec, 'numeric'), form, reason),
            spec,
          );
          expect(result).toEqual({ ok: true, value: vector.map((value) => (value === 0 ? 0 : value)) });
        }),
      );
    },
  );

  it('is the answer line with the reason below it', () => {
    expect(formatAnswer([1, -0.5], floats, freeForm, 'A smaller step.')).toBe(
      'params[0]: 1.0, params[1]: -0.5\nA smaller step.',
    );
    expect(formatAnswer([1, -0.5], floats, freeForm)).toBe('params[0]: 1.0, params[1]: -0.5');
  });

  it('is a JSON object if the prompt asks for JSON', () => {
    const answer = formatAnswer([1, -0.5], floats, reasonFirst, 'It said "go".\n');
    expect(answer).toBe('{"reason": "It said \\"go\\".\\n", "params": [1.0, -0.5]}');
    expect(JSON.parse(formatAnswer([1, -0.5], floats, reasonFirst))).toEqual({
      reason: '',
      params: [1, -0.5],
    });
    expect(formatAnswer([1, -0.5], floats, bare, 'It said "go".')).toBe('{"params": [1.0, -0.5]}');
  });

  it('omits a reason that would be parsed as thinking', () => {
    expect(formatAnswer([1, 2], floats, freeForm, 'as said</think>')).toBe('params[0]: 1.0, params[1]: 2.0');
  });
});

describe('the reason in a reply', () => {
  it('is the text next to the parameters, without its label', () => {
    expect(reasonIn('params[0]: 1, params[1]: 2\nReason: more\nspeed.')).toBe('more speed.');
  });

  it('is omitted if it is very long', () => {
    const essay = 'On and on. '.repeat(100);
    expect(reasonIn(`params[0]: 1, params[1]: 2\n${essay}`)).toBe('');
  });
});
