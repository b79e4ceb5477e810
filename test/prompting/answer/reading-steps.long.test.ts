import { afterEach, expect, it, vi } from 'vitest';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';

const spec: ParameterSpec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 };
/** Text that can make a parser backtrack again and again if a reply repeats it. */
const units = [
  ...['params[0]: 1,', 'params[0] (', 'params: [', '[1,\n', '{"a":', '["', '| 1 ', '<think>', '<a> b\n'],
  ...['```\n', '1\n', 'Wait, no. ', 'params[0]: 1 to ', 'params[0]: 1\n\n', '[1,2,3],', 'f(params): ', ' '],
  ...['params[0]: 1, params[1]: 2, params[2]: 3\n', '| params[0] | 1 |\n', '"reason": "', '</a>'],
];

afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts the searches, and the characters copied, while a reply is read. */
function steps(reply: string): number {
  let count = 0;
  const exec = RegExp.prototype.exec;
  const slice = String.prototype.slice;
  vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text) {
    count++;
    return exec.call(this, text);
  });
  vi.spyOn(String.prototype, 'slice').mockImplementation(function (this: string, from, to) {
    const part = slice.call(this, from, to);
    count += part.length;
    return part;
  });
  parseParameters(reply, spec);
  vi.restoreAllMocks();
  return count;
}

it.each(units)('reading repeated %j takes a number of steps roughly linear in the length', (unit) => {
  const reply = (length: number) => unit.repeat(Math.ceil(length / unit.length));
  const [small, large] = [steps(reply(6000)), steps(reply(24_000))];
  expect(large / small).toBeLessThan(6);
});

it.each(['', 'params[0]: 1, params[1]: 2, params[2]: 3\n'])(
  'parseParameters does not throw on 300 kB of repeated text after %j',
  (start) => {
    for (const unit of ['1,', '[', '<think>', 'params[0]: 1,', '| 1 ', '|\n'])
      expect(() => parseParameters(start + unit.repeat(3e5 / unit.length), spec)).not.toThrow();
  },
);
