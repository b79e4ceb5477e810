import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { fitText, padText, truncateText, wrapText } from '../../../src/base/text/width.js';

describe('the width of text on a terminal', () => {
  it.each([
    ['plain', 5],
    ['−1.5 … 3', 8],
    ['日本語', 6],
    ['한국어', 6],
    ['ｆｕｌｌ', 8],
    ['e\u0301te\u0301', 3],
    ['👩‍🔬 ok', 5],
    ['🇨🇭', 2],
    ['⚠\uFE0F', 2],
    ['a\u200Bb', 2],
    ['\x1B[1mbold\x1B[22m', 4],
    ['', 0],
  ])('of %j is %i', (text, width) => expect(stringWidth(text)).toBe(width));

  it('is respected by padding, shortening and wrapping', () => {
    expect(padText('日本', 6, 'after')).toBe('日本  ');
    expect(padText('12', 4, 'before')).toBe('  12');
    expect(truncateText('日本語の', 5)).toBe('日本…');
    expect(truncateText('short', 5)).toBe('short');
    expect(wrapText('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrapText('日本語の環境', 5)).toEqual(['日本', '語の', '環境']);
    expect(wrapText('a verylongword b', 6)).toEqual(['a', 'verylo', 'ngword', 'b']);
    expect(wrapText('one\n\ntwo', 10)).toEqual(['one', '', 'two']);
    const line = `confirmed   ${'word '.repeat(9)}`.trim();
    expect(wrapText(line, 40)[1]).toBe(`${' '.repeat(12)}word word word word`);
    expect(fitText('as it is, however long', undefined)).toBe('as it is, however long');
  });

  it('stays within the limit when lines are wrapped, and no text is lost', () => {
    const text = 'environments/日本語/very-long-name-without-a-space 👩‍🔬 and e\u0301 words';
    for (let width = 2; width < 60; width++) {
      const lines = wrapText(text, width);
      expect(lines.join('').replaceAll(' ', '')).toBe(text.normalize().replaceAll(' ', ''));
      expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(width);
    }
  });
});
