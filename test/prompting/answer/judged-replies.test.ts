/** Replies written by someone who had read neither the parser nor its tests, each with what a reader takes from it. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseParameters } from '../../../src/prompting/answer/format.js';

const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/judged-replies/${name}.txt`, import.meta.url), 'utf8');

interface Judged {
  readonly isInteger: boolean;
  /** The numbers behind the `===`: the vector that is meant, or how many parameters are asked. */
  readonly numbers: readonly number[];
  readonly reply: string;
}

/** Replies stand behind lines such as `=== 1.5 -2` or `=== int 0 1`. */
function judgedReplies(name: string): readonly Judged[] {
  return fixture(name)
    .split(/^=== /m)
    .slice(1)
    .map((block) => {
      const end = block.indexOf('\n');
      const words = block.slice(0, end).split(' ');
      const isInteger = words[0] === 'int';
      const numbers = words.slice(isInteger ? 1 : 0).map(Number);
      return { isInteger, numbers, reply: block.slice(end + 1).replace(/\n$/, '') };
    });
}

const read = (reply: string, count: number, isInteger = false) =>
  parseParameters(reply, {
    count,
    kind: isInteger ? 'integer' : 'float',
    low: -1000,
    high: 1000,
    decimals: isInteger ? 0 : 6,
  });

const labelled = (items: readonly Judged[]) =>
  items.map((item) => [JSON.stringify(item.reply.slice(0, 120)), item] as const);

describe('a reply that a reader understands in one way is read so', () => {
  it.each(labelled(judgedReplies('meant')))('%s', (_label, { reply, numbers, isInteger }) => {
    expect(read(reply, numbers.length, isInteger)).toEqual({ ok: true, value: numbers.map((n) => n + 0) });
  });
});

describe('a reply that leaves a reader in doubt is refused', () => {
  it.each(labelled(judgedReplies('refused')))('%s', (_label, { reply, numbers, isInteger }) => {
    expect(read(reply, numbers[0]!, isInteger).ok).toBe(false);
  });
});

const lines = (name: string) =>
  fixture(name)
    .trim()
    .split('\n')
    .map((line) => line.replaceAll('\\n', '\n'));

describe('a reason behind the answer leaves it as it is', () => {
  it.each(lines('reasons'))('%s', (reason) => {
    const readBehind = (answer: string) => read(`${answer}\n\n${reason}`, 2);
    expect(readBehind('params[0]: 0.5, params[1]: 1.2')).toEqual({ ok: true, value: [0.5, 1.2] });
    expect(readBehind('{"params": [0.5, 1.2]}')).toEqual({ ok: true, value: [0.5, 1.2] });
  });
});

describe('words that take the answer back, or change it, are heeded', () => {
  it.each(lines('withdrawals'))('%s', (words) => {
    expect(read(`params[0]: 0.5, params[1]: 1.2\n\n${words}`, 2)).not.toMatchObject({ value: [0.5, 1.2] });
  });
});
