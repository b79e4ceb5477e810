import { describe, expect, it } from 'vitest';
import {
  distinctFormat,
  formatBytes,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatInterval,
  formatNumber,
  formatReturn,
  formatShare,
  formatSigned,
  formatTime,
  plural,
  withSign,
} from '../../../src/base/text/numbers.js';

describe('number formatting', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [1.5, '1.5'],
    [-12.3456, '−12.35'],
    [1234567, '1\u202f234\u202f567'],
    [0.00012345, '0.000123'],
    [1e-9, '1.000e−9'],
    [Number.NaN, '–'],
    [Number.NEGATIVE_INFINITY, '−∞'],
  ])('writes the number %d as %s', (value, expected) => expect(formatNumber(value)).toBe(expected));

  it.each([
    [500, '500.0'],
    [-0.00001, '−1.000e−5'],
    [0.0512, '0.0512'],
    [0.05, '0.050'],
    [0, '0.000'],
    [-200, '−200.0'],
    [9.5, '9.500'],
    [12345.6, '12\u202f346'],
    [undefined, '–'],
  ])('writes the return %s as %s', (value, expected) => expect(formatReturn(value)).toBe(expected));

  it.each([
    [0, '0 s'],
    [0.4, '< 1 ms'],
    [850, '850 ms'],
    [4200, '4.2 s'],
    [200_000, '3 min 20 s'],
    [25 * 60_000, '25 min'],
    [59.9 * 60_000, '1 h'],
    [125 * 60_000, '2 h 5 min'],
  ])('writes a duration of %d ms as %s', (value, expected) => expect(formatDuration(value)).toBe(expected));

  it('writes bytes, shares, signed numbers and intervals', () => {
    const bytes = [0, 512, 12_345, 988e6, 1.98e9].map(formatBytes);
    expect(bytes).toEqual(['0 B', '512 B', '12.3 kB', '988 MB', '1.98 GB']);
    expect([0, 0.625, 1].map(formatShare)).toEqual(['0 %', '62.5 %', '100 %']);
    expect([5.25, -5.25, 0].map((value) => formatSigned(value))).toEqual(['+5.250', '−5.250', '0.000']);
    expect(withSign(formatShare)(0.5)).toBe('+50 %');
    expect([formatInterval([-1, 2]), formatInterval(null)]).toEqual(['−1.000 … 2.000', '–']);
  });

  it('uses enough digits to tell different numbers apart, up to rounding error', () => {
    const told = (values: readonly number[], format?: (value: number, digits?: number) => string) =>
      values.map(distinctFormat(values, format));
    expect(told([131.36, 500, 9.35])).toEqual(['131.4', '500.0', '9.350']);
    expect(told([1e-4, 1.2e-4, 0])).toEqual(
      ['0.0001000', '0.0001200', '0.000'].map((text) => text.replace(/(\.\d{3}\d*?)0+$/, '$1')),
    );
    expect(told([1.00031, 1.00012, 7])).toEqual(['1.0003', '1.0001', '7.000']);
    expect(told([12_345.6, 12_345.7])).toEqual(['12\u202f345.6', '12\u202f345.7']);
    expect(told([5, 5])).toEqual(['5.000', '5.000']);
    expect(told([0.3, 0.1 + 0.2])).toEqual(['0.300', '0.300']);
    expect(told([-1231.383251022, -1231.383251023])).toEqual(['−1231', '−1231']);
    const random = Array.from({ length: 200 }, (_, i) => 1e6 + ((i * 37) % 200) * 1e-4);
    const texts = told(random).map((text) => Number(text.replaceAll('\u202f', '')));
    expect(new Set(texts).size).toBe(200);
    expect(random.toSorted((a, b) => texts[random.indexOf(a)]! - texts[random.indexOf(b)]!)).toEqual(
      random.toSorted((a, b) => a - b),
    );
    expect(formatInterval([1.00011, 1.00012])).toBe('1.00011 … 1.00012');
  });

  it('writes counts, costs and times', () => {
    expect([812, 43_120, 1_234_000, 999_600].map(formatCompact)).toEqual(['812', '43.1k', '1.23M', '1M']);
    expect([0, 0.00234, 1.5, 12].map(formatCost)).toEqual(['0', '0.00234', '1.50', '12.00']);
    expect([plural(1, 'call'), plural(12_000, 'call')]).toEqual(['1 call', '12\u202f000 calls']);
    expect(formatCount(1234)).toBe('1234');
    expect(formatTime('2025-11-21T07:04:59.123Z')).toBe('2025-11-21 07:04 UTC');
    expect(formatTime('<b>')).toBe('<b>');
  });
});
