import { describe, expect, it } from 'vitest';
import {
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
} from '../../src/format/numbers.js';

describe('numbers', () => {
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
  ])('number %d', (value, expected) => expect(formatNumber(value)).toBe(expected));

  it.each([
    [500, '500.0'],
    [-0.00001, '0.000'],
    [-200, '−200.0'],
    [9.5, '9.500'],
    [12345.6, '12\u202f346'],
    [undefined, '–'],
  ])('return %d', (value, expected) => expect(formatReturn(value)).toBe(expected));

  it.each([
    [0, '0 s'],
    [0.4, '< 1 ms'],
    [850, '850 ms'],
    [4200, '4.2 s'],
    [200_000, '3 min 20 s'],
    [25 * 60_000, '25 min'],
    [59.9 * 60_000, '1 h'],
    [125 * 60_000, '2 h 5 min'],
  ])('duration %d', (value, expected) => expect(formatDuration(value)).toBe(expected));

  it('bytes, shares, changes and intervals', () => {
    expect([0, 512, 12_345, 988e6, 1.98e9].map(formatBytes)).toEqual([
      '0 B',
      '512 B',
      '12.3 kB',
      '988 MB',
      '1.98 GB',
    ]);
    expect([0, 0.625, 1].map(formatShare)).toEqual(['0 %', '62.5 %', '100 %']);
    expect([5.25, -5.25, 0].map((value) => formatSigned(value))).toEqual(['+5.250', '−5.250', '0.000']);
    expect(formatSigned(0.5, formatShare)).toBe('+50 %');
    expect([formatInterval([-1, 2]), formatInterval(null)]).toEqual(['−1.000 … 2.000', '–']);
  });

  it('counts, costs and times', () => {
    expect([812, 43_120, 1_234_000, 999_600].map(formatCompact)).toEqual(['812', '43.1k', '1.23M', '1M']);
    expect([0, 0.00234, 1.5, 12].map(formatCost)).toEqual(['0', '0.00234', '1.50', '12.00']);
    expect([plural(1, 'call'), plural(12_000, 'call')]).toEqual(['1 call', '12\u202f000 calls']);
    expect(formatCount(1234)).toBe('1234');
    expect(formatTime('2025-11-21T07:04:59.123Z')).toBe('2025-11-21 07:04 UTC');
    expect(formatTime('<b>')).toBe('<b>');
  });
});
