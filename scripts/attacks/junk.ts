/** Draws values, texts and changes that might break programs. */
import type { RandomGenerator } from '../../src/random/generator.js';

const numbers = [0, -1, 1e9, 4e9, 2 ** 53, 1e308, -1e308, 0.1, 5e-324, 2 ** 31, Number.MAX_VALUE];
const texts = [
  '',
  ' ',
  '\u0000',
  '\u001b[31mred\u001b[0m',
  '\u001b]0;title\u0007',
  '\r\nINFO forged',
  '\u202egnp.exe',
  '../../../etc/passwd',
  '/dev/zero',
  '__proto__',
  'constructor',
  'length',
  '=cmd|calc!A1',
  '{{7*7}}',
  '{% for i in range(1000000000) %}{% endfor %}',
  '(a+)+$',
  '%00',
  '\ud800',
  '😀',
  'NaN',
  '-',
];

export const drawn = (random: RandomGenerator, below: number) => random.integers(0, below);

export function junkText(random: RandomGenerator): string {
  const text = random.choice(texts);
  return random.random() < 0.1 ? text.repeat(drawn(random, 5000)) : text;
}

/** Any JSON value, sometimes a deep or long one. */
export function junkValue(random: RandomGenerator): unknown {
  switch (drawn(random, 9)) {
    case 0:
      return null;
    case 1:
      return random.random() < 0.5;
    case 2:
    case 3:
      return random.choice(numbers);
    case 4:
    case 5:
      return junkText(random);
    case 6:
      return Array.from({ length: drawn(random, 2000) }, () => random.choice(numbers));
    case 7: {
      let value: unknown = 1;
      for (let depth = drawn(random, 2000); depth > 0; depth--) value = [value];
      return value;
    }
    default:
      return Object.fromEntries(
        Array.from({ length: drawn(random, 300) }, (_, i) => [`${junkText(random)}${i}`, i]),
      );
  }
}

/** A copy of `value` with a few values replaced, removed or added. */
export function mutated(value: unknown, random: RandomGenerator): unknown {
  const copy: unknown = structuredClone(value);
  for (let times = 1 + drawn(random, 3); times > 0; times--) mutateOnce(copy, random);
  return copy;
}

function mutateOnce(value: unknown, random: RandomGenerator): void {
  if (typeof value !== 'object' || value === null) return;
  const record = value as Record<string, unknown>;
  const keys = Object.keys(record);
  if (keys.length === 0 || random.random() < 0.05) {
    if (Array.isArray(value)) value.push(junkValue(random));
    else record[junkText(random)] = junkValue(random);
    return;
  }
  const key = random.choice(keys);
  const isInner = typeof record[key] === 'object' && record[key] !== null && random.random() < 0.7;
  if (isInner) mutateOnce(record[key], random);
  else if (random.random() < 0.15) delete record[key];
  else record[key] = junkValue(random);
}

/** A copy of `bytes` with some changed, cut, repeated or inserted. */
export function mutatedBytes(bytes: Buffer, random: RandomGenerator): Buffer {
  const at = drawn(random, bytes.length + 1);
  switch (drawn(random, 5)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(junkText(random)), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([bytes, bytes.subarray(at)]);
    case 3: {
      const changed = Buffer.from(bytes);
      for (let i = 0; i < 8 && bytes.length > 0; i++)
        changed[drawn(random, bytes.length)] = drawn(random, 256);
      return changed;
    }
    default:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(JSON.stringify(junkValue(random))),
        bytes.subarray(at),
      ]);
  }
}
