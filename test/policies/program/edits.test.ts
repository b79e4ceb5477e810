import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyEdits } from '../../../src/policies/program/edits.js';
import { failureOf } from './failure-of.js';

const parent = `function act(observation) {
  const x = observation[0];
  const y = observation[1];
  if (x > 0.2) {
    return 1;
  }
  if (y > 0.2) {
    return 1;
  }
  return 0;
}`;

const block = (search: string, replace: string) =>
  `<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE`;
const faultOf = (reply: string) => failureOf(() => applyEdits(parent, reply));

describe('applyEdits', () => {
  it('applies several blocks in any order, with text around them', () => {
    const reply = `First:\n${block('  return 0;', '  return 2;\n  // end')}\nThen:\r\n${block('  const y = observation[1];', '')}\nDone.`;
    const expected = parent
      .replace('return 0;', 'return 2;\n  // end')
      .replace('  const y = observation[1];\n', '\n');
    expect(applyEdits(parent, reply)).toBe(expected);
  });

  it('ignores trailing blanks and Windows line endings', () => {
    const source = parent.replaceAll('\n', '  \r\n');
    expect(applyEdits(source, block('  return 0;   ', '  return 2;'))).toBe(
      parent.replace('0;', '2;').replace('[2;', '[0];'),
    );
  });

  it('adjusts the indentation', () => {
    const reply = block('if (x > 0.2) {\n  return 1;\n}', 'if (x > 0.5) {\n  return 2;\n}');
    expect(applyEdits(parent, reply)).toBe(
      parent.replace('x > 0.2) {\n    return 1', 'x > 0.5) {\n    return 2'),
    );
    const deeper = block('      return 0;\n    }', '      return 2;\n    }\n\n    // end');
    expect(applyEdits(parent, deeper)).toBe(`${parent.replace('return 0', 'return 2')}\n\n// end`);
    // Negative control: other relative indentation isn't the same text.
    expect(faultOf(block('if (x > 0.2) {\nreturn 1;\n}', '')).reason).toMatch(
      /no lines "if \(x > 0.2\) {", "return 1;", "}"/,
    );
  });

  it.each([
    ['nothing', 'the reply has no <<<<<<< SEARCH block', undefined],
    [block('', 'x'), "block 1 doesn't apply: its search part is empty", undefined],
    [
      `${block('  return 0;', '  return 2;')}\n${block('  retrun 0;', '')}`,
      `block 2 doesn't apply: the program has no lines "retrun 0;"`,
      undefined,
    ],
    [block('    return 1;', '    return 2;'), 'occurs 2 times, at lines 5, 8; add more lines', 5],
    [
      `${block('  const x = observation[0];\n  const y = observation[1];', '')}\n${block('  const y = observation[1];', '')}`,
      "block 2 doesn't apply: it overlaps block 1",
      3,
    ],
    ['<<<<<<< SEARCH\n  return 0;\n=======\n  return 2;', 'no >>>>>>> REPLACE line', undefined],
    ['<<<<<<< SEARCH\n  return 0;', 'no ======= line', undefined],
    ['<<<<<<< SEARCH\n  return 0;\n>>>>>>> REPLACE', 'no ======= line', undefined],
    ['  return 2;\n>>>>>>> REPLACE', 'no <<<<<<< SEARCH line', undefined],
    [`<<<<<<< SEARCH\n  return 0;\n${block('a', 'b')}`, 'no >>>>>>> REPLACE line', undefined],
    [block('  return 0;', '  return 0;'), 'the blocks change nothing', undefined],
  ])('rejects a reply with the error: $1', (reply, reason, line) => {
    expect(faultOf(reply).reason).toContain(reason);
    expect(faultOf(reply).line).toBe(line);
    expect(faultOf(reply).reason).not.toContain('\n');
  });

  it('replaces unique lines of random texts', () => {
    const line = fc.stringMatching(/^ {0,4}[a-c]{0,2}$/).map((text) => text.trimEnd());
    const lines = fc.array(line, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, fc.nat(11), fc.nat(11), (before, inserted, a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b) + 1];
        const search = before.slice(from, to);
        const places = before.filter((_, i) => search.every((text, j) => text === before[i + j])).length;
        fc.pre(
          places === 1 &&
            search.length > 0 &&
            search[0] !== '' &&
            search.at(-1) !== '' &&
            inserted.join() !== search.join(),
        );
        const expected = [...before.slice(0, from), ...inserted, ...before.slice(to)].join('\n');
        expect(applyEdits(before.join('\n'), block(search.join('\n'), inserted.join('\n')))).toBe(expected);
      }),
      { numRuns: 200, seed: 1 },
    );
  });
});
