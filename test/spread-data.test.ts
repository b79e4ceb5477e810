/** Data spread into the arguments of a call throws a RangeError beyond about 100,000 items: no call may do that. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';
import { append } from '../src/base/append.js';
import { largest, smallest } from '../src/statistics/descriptive.js';

const root = join(import.meta.dirname, '..');

/** Functions that take any number of arguments. */
const variadic = new Set('max min push unshift splice of fromCharCode fromCodePoint concat'.split(' '));

/** The calls of these functions in a program that have spread arguments. */
function spreadCalls(file: string, text: string): readonly string[] {
  const { errors, program } = parseSync(file, text);
  expect(errors, file).toEqual([]);
  const found: string[] = [];
  new Visitor({
    CallExpression({ arguments: given, callee, end, start }) {
      const name =
        callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
          ? callee.property.name
          : '';
      if (variadic.has(name) && given.some(({ type }) => type === 'SpreadElement'))
        found.push(`${file}: ${text.slice(start, end)}`);
    },
  }).visit(program);
  return found;
}

const sources = ['src', 'finetune'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file)),
);

it('push, Math.max and similar methods are never called with spread arguments in src or finetune', () => {
  expect(sources.length).toBeGreaterThan(500);
  expect(sources.flatMap((file) => spreadCalls(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
  expect(spreadCalls('a.ts', 'f(...a); [...a]; Math.max(1, 2); list.push(a)')).toEqual([]);
  expect(spreadCalls('a.ts', 'Math.max(...a); list.push(b, ...a); x.y.splice(0, 1, ...a)')).toHaveLength(3);
});

it('smallest, largest and append handle a million numbers', () => {
  const numbers = Array.from({ length: 1_000_000 }, (_, i) => i);
  expect([smallest(numbers), largest(numbers)]).toEqual([0, 999_999]);
  const list = [1];
  append(list, numbers);
  expect(list).toHaveLength(1_000_001);
  expect([smallest([]), largest([])]).toEqual([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  expect(largest([1, Number.NaN])).toBeNaN();
});
