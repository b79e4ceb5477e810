/** Replies with what a careful reader takes from them, labelled without the parser. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ParameterVector } from '../../../src/policies/policy.js';
import type { ParseContext } from '../../../src/prompting/answer/failure.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { shareOf } from './agreement.js';

const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/judged-replies/${name}.txt`, import.meta.url), 'utf8');

interface Judged {
  readonly isInteger: boolean;
  /** The vector that is meant; of a reply without one, how many parameters are asked. */
  readonly numbers: readonly number[];
  readonly reply: string;
}

/** Replies follow lines such as `=== 1.5 -2` or `=== int 0 1`. */
function judgedReplies(name: string): readonly Judged[] {
  return fixture(name)
    .split(/^=== /m)
    .slice(1)
    .map((block) => {
      const end = block.indexOf('\n');
      const words = block.slice(0, end).split(' ');
      const isInteger = words[0] === 'int';
      const numbers = words.slice(isInteger ? 1 : 0).map((word) => Number(word) + 0);
      return { isInteger, numbers, reply: block.slice(end + 1).replace(/\n$/, '') };
    });
}

const range = { low: -1000, high: 1000 };
const read = (reply: string, count: number, isInteger = false, context: ParseContext = {}) =>
  parseParameters(
    reply,
    { count, ...range, kind: isInteger ? 'integer' : 'float', decimals: isInteger ? 0 : 6 },
    context,
  );
const meant = ({ isInteger, numbers, reply }: Judged) => ({
  meant: numbers,
  reply,
  result: read(reply, numbers.length, isInteger),
});

describe('judged replies', () => {
  it('with one proposal are read as intended at least 97 % of the time', () => {
    expect(shareOf(judgedReplies('ordinary').map(meant))).toBeGreaterThanOrEqual(0.97);
  });

  it('with several sets are read as a careful reader would read them at least 90 % of the time', () => {
    expect(shareOf(judgedReplies('several').map(meant))).toBeGreaterThanOrEqual(0.9);
  });

  it('without a complete set of plain numbers yield no parameters', () => {
    const taken = judgedReplies('none').filter(
      ({ isInteger, numbers, reply }) => read(reply, numbers[0]!, isInteger).ok,
    );
    expect(taken.map(({ reply }) => reply)).toEqual([]);
  });

  it('never yield a set that was seen before', () => {
    const wrong = ['ordinary', 'several', 'open'].flatMap((name) =>
      judgedReplies(name).filter(({ isInteger, numbers, reply }) => {
        const count = name === 'open' ? numbers[0]! : numbers.length;
        const first = read(reply, count, isInteger);
        if (!first.ok) return false;
        const seen = (vector: ParameterVector) =>
          String(vector) === String(first.value) ? { iteration: 3, score: 42 } : undefined;
        const again = read(reply, count, isInteger, { seen });
        return again.ok && String(again.value) === String(first.value);
      }),
    );
    expect(wrong).toEqual([]);
  });

  it.each(fixture('reasons').trim().split('\n'))('yield the answer above this reason: %s', (line) => {
    const reason = line.replaceAll('\\n', '\n');
    for (const answer of ['params[0]: 0.5, params[1]: 1.2', '{"params": [0.5, 1.2]}'])
      expect(read(`${answer}\n\n${reason}`, 2)).toMatchObject({ ok: true, value: [0.5, 1.2] });
  });
});
