import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeText, encodeText } from '../../../src/base/files/text-parts.js';

const line = (i: number) => `params[0]: ${i / 10}; params[1]: ${-i}; f(params): ${i * 1.25}`;
const history = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => line(from + i)).join('\n');

describe('parts of a text', () => {
  it('reproduce the text exactly, including lone surrogates', () => {
    // Halves of surrogate pairs too: a cut may fall between them.
    const text = fc
      .array(fc.constantFrom('a', '\n', '😀', '\ud83d', '\ude00', 'line '.repeat(12), '"', '\u0000'), {
        maxLength: 40,
      })
      .map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, text, (now, earlier) => {
        const written = JSON.parse(JSON.stringify(encodeText(now, earlier))) as ReturnType<typeof encodeText>;
        expect(decodeText(written, earlier)).toBe(now);
      }),
    );
  });

  it.each([
    ['one more line', history(0, 400), history(0, 401), 3],
    [
      'a window that moved',
      `Evaluations:\n${history(0, 400)}\nGo on.`,
      `Evaluations:\n${history(100, 401)}\nGo on.`,
      4,
    ],
    [
      'one line among others',
      history(0, 200) + history(200, 400),
      `${history(0, 200)}new${history(200, 400)}`,
      3,
    ],
    ['the same lines in another order', history(0, 200), `${history(100, 200)}\n${history(0, 100)}`, 6],
    ['a history on one line', JSON.stringify([history(0, 300)]), JSON.stringify([history(0, 301)]), 3],
  ])('are few and short for %s', (_, earlier, now, most) => {
    const parts = encodeText(now, earlier);
    expect(decodeText(parts, earlier)).toBe(now);
    expect(parts.length).toBeLessThanOrEqual(most);
    expect(JSON.stringify(parts).length).toBeLessThan(250);
  });

  it('are the text itself if nothing is shared', () => {
    expect(encodeText('nothing of this', 'stands there')).toEqual(['nothing of this']);
    expect(decodeText([], 'earlier')).toBe('');
  });

  it('are rejected if they refer to an invalid range of the earlier text', () => {
    expect(() => decodeText([[2, 9]], 'short')).toThrow(RangeError);
    expect(() => decodeText([[-1, 2]], 'short')).toThrow(RangeError);
    expect(() => decodeText([[0.5, 2]], 'short')).toThrow(RangeError);
  });
});
