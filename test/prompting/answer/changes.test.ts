import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { changesGrammar, exampleChanges, parseChanges } from '../../../src/prompting/notation/changes.js';
import { formatValue } from '../../../src/prompting/notation/grammar.js';

const spec: ParameterSpec = { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 };
const parent = [1, 5];
const parse = (reply: string) => parseChanges(reply, parent, spec);

describe('changes', () => {
  it('are parsed into the resulting parameters, for any parent and range', () => {
    const setting = fc
      .record({
        decimals: fc.integer({ min: 0, max: 3 }),
        pairs: fc.array(fc.tuple(fc.integer({ min: -500, max: 500 }), fc.integer({ min: -500, max: 500 })), {
          minLength: 1,
          maxLength: 12,
        }),
        json: fc.boolean(),
      })
      .map(({ decimals, pairs, json }) => ({ decimals, json, pairs, scale: 10 ** decimals }));
    fc.assert(
      fc.property(setting, ({ decimals, json, pairs, scale }) => {
        const own: ParameterSpec = {
          ...{ count: pairs.length, kind: 'float', low: -500 / scale, high: 500 / scale, decimals },
        };
        const from = pairs.map(([a]) => a / scale);
        const to = pairs.map(([, b]) => b / scale);
        const changes = pairs.map(([a, b]) => formatValue((b - a) / scale, decimals));
        const reply = json
          ? `{"reason": "why", "delta": [${changes.join(', ')}]}`
          : `${changes.map((change, i) => `delta[${i}]: ${change}`).join(', ')}\nA small step.`;
        expect(parseChanges(reply, from, own)).toEqual({ ok: true, value: to.map((value) => value + 0) });
      }),
    );
  });

  it('are read even if the reply also mentions parameters', () => {
    const expected = { ok: true, value: [1.5, 4.8] };
    expect(parse('delta[0]: 0.5, delta[1]: -0.2\nThis gives params[0]: 1.5, params[1]: 4.8.')).toEqual(
      expected,
    );
    expect(parse('The parent is params[0]: 1.0, params[1]: 5.0.\ndelta[0]: 0.5, delta[1]: -0.2')).toEqual(
      expected,
    );
  });

  it('are missing if the reply has only parameters', () => {
    expect(parse('params[0]: 1.5, params[1]: 4.8')).toEqual({ ok: false, failure: { kind: 'missing' } });
  });

  it('must not leave the range: the failure gives the resulting value', () => {
    expect(parse('delta[0]: 0.5, delta[1]: 1.1')).toEqual({
      ok: false,
      failure: {
        kind: 'range',
        values: [{ index: 1, text: '1.1, which makes params[1] 6.1' }],
        low: -6,
        high: 6,
      },
    });
    expect(parse('delta[0]: -7, delta[1]: -11')).toEqual({ ok: true, value: [-6, -6] });
  });

  it('are rejected like parameters: too many decimals, too few values, the example, no numbers', () => {
    const kindOf = (reply: string) => {
      const read = parse(reply);
      return read.ok ? read.value : read.failure.kind;
    };
    expect(kindOf('delta[0]: 0.55, delta[1]: 0')).toBe('decimals');
    expect(kindOf('delta[0]: 0.5')).toBe('count');
    expect(kindOf(exampleChanges(spec))).toBe('echo');
    expect(kindOf('delta[0]: NaN, delta[1]: 0')).toBe('not-finite');
    expect(kindOf('no idea')).toBe('missing');
  });

  it('of zero repeat the parent: the failure gives its iteration and score', () => {
    const seen = ([a]: readonly number[]) => (a === 1 ? { iteration: 4, score: 3 } : undefined);
    expect(parseChanges('delta[0]: 0, delta[1]: 0', parent, spec, { seen })).toEqual({
      ok: false,
      failure: { kind: 'repeated', iteration: 4, score: 3 },
    });
  });

  it('have a grammar that spans the width of the range in both directions', () => {
    expect(changesGrammar(spec)).toEqual({
      labels: ['delta[0]: ', ', delta[1]: '],
      number: { low: -12, high: 12, decimals: 1 },
      mention: 'delta',
      key: 'delta',
    });
  });

  it('are rejected when parameters are expected', () => {
    expect(parseParameters('delta[0]: 0.5, delta[1]: -0.2', spec).ok).toBe(false);
  });
});
