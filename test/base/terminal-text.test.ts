import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../src/base/errors.js';
import { safeLine, safeLines, safeText, streamText } from '../../src/base/terminal-text.js';

const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

describe('terminal text', () => {
  it.each([
    ['\u001b[2J\u001b[31mred', '\\u001b[2J\\u001b[31mred'],
    ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['\u009b2J', '\\u009b2J'],
    ['over\rwritten', 'over\\u000dwritten'],
    ['a\u202egnp.exe', 'a\\u202egnp.exe'],
    ['line\r\nbreak\ttab', 'line\nbreak\ttab'],
    ['grüße 中文 😀 −1 …', 'grüße 中文 😀 −1 …'],
  ])('%j is shown as %j', (text, shown) => expect(safeText(text)).toBe(shown));

  it('has no control characters but tabs and line breaks, and JSON still parses to the same value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, isStyled) => {
        expect(safeText(text).replaceAll(/[\n\t]/g, '')).not.toMatch(steering);
        expect(streamText(safeLine(text), isStyled).replaceAll('\t', '')).not.toMatch(/\p{Cc}/u);
        expect(JSON.parse(streamText(JSON.stringify(text), isStyled))).toBe(text);
      }),
    );
  });

  it('cannot forge a line of our own output', () => {
    expect(safeLines('failed\nerror nothing is wrong')).toBe('failed\n  error nothing is wrong');
    expect(safeLine(' failed \r\n error nothing ')).toBe('failed error nothing');
    const problem = { message: 'bad\nerror forged', alternatives: ['a\nerror b'], value: '\u001b[2J\u202e' };
    expect(formatProblem(problem)).toBe(
      'bad\n  error forged\n  got: "\\u001b[2J\\u202e"\n  expected: a error b',
    );
  });

  it('keeps our own styles on a styled stream and removes them on a plain one', () => {
    const text = '\u001b[1mbold\u001b[22m \u001b[8mhidden\u001b[31mred\u001b[39m';
    expect(streamText(text, true)).toBe('\u001b[1mbold\u001b[22m \\u001b[8mhidden\u001b[31mred\u001b[39m');
    expect(streamText(text, false)).toBe('bold \\u001b[8mhiddenred');
  });
});
