import { readdirSync, readFileSync } from 'node:fs';
import type { RandomGenerator } from '../../../src/base/random/generator.js';
import type { ParameterSpec } from '../../../src/policies/policy.js';
import { formatParameters } from '../../../src/prompting/notation/grammar.js';

const folder = new URL('../../fixtures/replies/', import.meta.url);

/** Replies as models wrote them. */
const collected = readdirSync(folder)
  .filter((name) => name.endsWith('.txt'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'));

/** Numbers as nobody should write them. */
const numbers = [
  '1e999',
  '-1e-999',
  '1e',
  '1E+3',
  '.5',
  '5.',
  '--1',
  '+1',
  '0x10',
  '1_000',
  '1,5',
  '1.2.3',
  '9'.repeat(400),
  `0.${'0'.repeat(400)}1`,
  'NaN',
  '-Infinity',
  '∞',
  '−1.5',
  '１２',
  '٣',
  '½',
  '1/2',
  '-0',
  '1e1e1',
  '2**3',
];

/** What stands between them. */
const pieces = [
  ...[
    'params[0]: ',
    'params[999999999999999]: 1',
    'params[-1]: 2',
    'params[1e3]: 4',
    'params[',
    'param 3 = ',
  ],
  ...[
    '\u0000',
    '\u0007',
    '\u001b[31m',
    '\ud800',
    '\udc00',
    '\u202e',
    '\ufeff',
    '\u200b',
    'e\u0301',
    '𝟏',
    '👩‍🚀',
  ],
  ...[
    '```',
    '```json\n',
    '~~~',
    '<think>',
    '</think>',
    '<|channel|>final<|message|>',
    '\\boxed{',
    '$$',
    '<number>',
  ],
  ...['[[[[', ']]]]', '{"params": [', '"params": {"0": 1}', '[1, [2, [3]]]', '{', '}', '"', '\\"', "'"],
  ...[
    '| 0 | 1 |\n|---|---|\n',
    '- ',
    '1. ',
    '**',
    '# ',
    '\r',
    '\n\n\n',
    '\t',
    ' '.repeat(200),
    '…',
    '...',
    '→',
    ' = ',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '$&',
    '%s',
    '{{params}}',
    'f(params): 3.5',
    'Reason: ',
    '%',
    'undefined',
  ],
];

/**
 * A reply that no model should write: a collected one or a correct one, changed in a few places, or pieces alone.
 * Seldom one with a line of thousands of characters.
 */
export function nastyReply(random: RandomGenerator, spec: ParameterSpec): string {
  const start = random.integers(0, 4);
  let reply =
    start === 0
      ? ''
      : start === 1
        ? formatParameters(someVector(random, spec), spec)
        : random.choice(collected);
  const changes = random.integers(start === 0 ? 1 : 0, start === 0 ? 30 : 6);
  for (let change = 0; change < changes; change++) reply = changed(reply, random);
  return reply;
}

const someVector = (random: RandomGenerator, { count, low, high, decimals, choices }: ParameterSpec) =>
  Array.from({ length: count }, () =>
    choices === undefined ? Number(random.uniform(low, high).toFixed(decimals)) : random.choice(choices),
  );

function changed(reply: string, random: RandomGenerator): string {
  const from = random.integers(0, reply.length + 1);
  const to = Math.min(reply.length, from + random.integers(0, 40));
  const [before, part, after] = [reply.slice(0, from), reply.slice(from, to), reply.slice(to)];
  switch (random.integers(0, 7)) {
    case 0: // Cut.
      return before;
    case 1: // Lost.
      return before + after;
    case 2: // Said again.
      return before + part.repeat(random.integers(1, random.random() < 0.01 ? 200 : 4)) + after;
    case 3: // Another number in place of one.
      return before + part.replace(/-?\d+(\.\d+)?/, () => random.choice(numbers)) + after;
    case 4:
      return before + random.choice(numbers) + after;
    case 5: // Any character.
      return before + String.fromCharCode(random.integers(0, 0x10000)) + after;
    default:
      return before + random.choice(pieces) + after;
  }
}
