import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParameterSpec } from '../../src/policies/policy.js';
import { encodingForSpec } from '../../src/prompting/notation/encoding.js';

const box = (low: number, high: number, decimals: number, count = 2): ParameterSpec => ({
  count,
  kind: 'float',
  low,
  high,
  decimals,
});

const onGrid = (value: number, decimals: number) => Number(value.toFixed(decimals)) === value;

describe('the encoding of the compact prompt set', () => {
  it('maps boxes to -6.0 to 6.0 in tenths and decodes to within half a step, plus rounding', () => {
    const boxes = fc
      .record({
        low: fc.integer({ min: -30, max: 29 }),
        width: fc.integer({ min: 1, max: 60 }),
        decimals: fc.integer({ min: 1, max: 3 }),
        shares: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 2 }),
      })
      .map(({ decimals, low, shares, width }) => ({ spec: box(low, low + width, decimals), shares }));
    fc.assert(
      fc.property(boxes, ({ spec, shares }) => {
        const { decimals, high, low } = spec;
        const { decode, spec: toldSpec, encode } = encodingForSpec(spec, 'compact');
        const parameters = shares.map((share) => Number((low + share * (high - low)).toFixed(decimals)));
        const encoded = encode(parameters);
        expect(toldSpec).toMatchObject({ low: -6, high: 6, decimals: 1, count: 2 });
        expect(encoded.every((value) => value >= -6 && value <= 6 && onGrid(value, 1))).toBe(true);
        const back = decode(encoded);
        const most = (0.05 * (high - low)) / 12 + 0.5 * 10 ** -decimals + 1e-9;
        for (const [i, value] of back.entries()) {
          expect(value >= low && value <= high && onGrid(value, decimals)).toBe(true);
          expect(Math.abs(value - parameters[i]!)).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  it('maps the ends and the middle of a box exactly', () => {
    const { decode, encode } = encodingForSpec(box(-1, 3, 2, 3), 'compact');
    expect(encode([-1, 1, 3])).toEqual([-6, 0, 6]);
    expect(decode([-6, 0, 6])).toEqual([-1, 1, 3]);
    expect(decode([0.1, -0.1, 5.9])).toEqual([1.03, 0.97, 2.97]);
  });

  it('leaves the box from -6.0 to 6.0 and integers unchanged, and is not used by other prompt sets', () => {
    const table: ParameterSpec = { count: 2, kind: 'integer', low: 0, high: 3, decimals: 0 };
    for (const [spec, set] of [
      [box(-6, 6, 1), 'compact'],
      [table, 'compact'],
      [box(-1, 1, 2), 'numeric'],
      [box(-1, 1, 2), './compact'],
    ] as const) {
      const { decode, spec: encoded, encode } = encodingForSpec(spec, set);
      expect(encoded).toBe(spec);
      expect([encode([1, 2]), decode([1, 2])]).toEqual([
        [1, 2],
        [1, 2],
      ]);
    }
  });
});

describe('an encoded answer', () => {
  const encoding = encodingForSpec(box(-1, 1, 2), 'compact');

  it('is decoded to parameters', () => {
    expect(encoding.read('params[0]: 6.0, params[1]: -0.3')).toEqual({ ok: true, value: [1, -0.05] });
  });

  it('is rejected outside the encoded range or with too many decimals', () => {
    const read = encoding.read('params[0]: 6.1, params[1]: 0.15');
    expect(read).toMatchObject({ ok: false, failure: { kind: 'range', low: -6, high: 6 } });
    expect(encoding.read('params[0]: 1.0, params[1]: 0.15')).toMatchObject({
      failure: { kind: 'decimals', decimals: 1 },
    });
  });

  it('counts as repeated if its decoded parameters were seen', () => {
    const seen = (parameters: readonly number[]) =>
      parameters.join() === '0.02,0' ? { iteration: 3, score: 5 } : undefined;
    expect(encoding.read('params[0]: 0.1, params[1]: 0.0', { seen })).toEqual({
      ok: false,
      failure: { kind: 'repeated', iteration: 3, score: 5 },
    });
    expect(encoding.read('params[0]: 0.2, params[1]: 0.0', { seen })).toMatchObject({ ok: true });
  });
});
