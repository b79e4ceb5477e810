/** Attacks on the hiding of secrets, by servers that repeat a key in other forms. */
import { hideSecrets, redact } from '../../src/base/errors.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { type AttackKind, shorten } from './attack.js';
import { drawn, junkText } from './junk.js';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const reversed = (text: string) => [...text].reverse().join('');
const bytesOf = (text: string, written: (byte: string) => string) =>
  [...Buffer.from(text)].map((byte) => written(byte.toString(16).padStart(2, '0'))).join('');
const pieces = (text: string, length: number) => text.match(new RegExp(`.{1,${length}}`, 'g')) ?? [];

const disguises: readonly ((key: string, random: RandomGenerator) => string)[] = [
  (key) => key,
  (key) => key.toUpperCase(),
  (key) => key.toLowerCase(),
  reversed,
  (key) => Buffer.from(key).toString('base64'),
  (key) => Buffer.from(`Bearer ${key}`).toString('base64url'),
  (key) => Buffer.from(JSON.stringify({ key })).toString('base64'),
  (key) => Buffer.from(key).toString('hex'),
  (key) => bytesOf(key, (byte) => `%${byte.toUpperCase()}`),
  (key) => bytesOf(key, (byte) => `\\x${byte}`),
  (key) => bytesOf(key, (byte) => `\\u00${byte}`),
  (key) => key.slice(0, 20),
  (key) => key.slice(-20),
  (key) => reversed(key.slice(-20)).toUpperCase(),
  (key, random) => [...key].join(random.choice([' ', '-', '.', ', ', '\n', '_', '\u200b', '" + "'])),
  (key, random) =>
    pieces(key, 4 + drawn(random, 9)).join(random.choice([' ', ' and ', '\n', ' … ', ', then '])),
  (key) =>
    pieces(key, 8)
      .map((piece, i) => `part ${i + 1}: ${piece}`)
      .join('; '),
  (key) => JSON.stringify(pieces(key, 5)),
];

/** Length of the longest run of the key's letters and digits in a text, forwards or backwards. */
function longestRun(text: string, key: string): number {
  const plain = (one: string) => one.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const [within, own] = [plain(text), plain(key)];
  let longest = 0;
  for (const form of [own, reversed(own)])
    for (let from = 0; from < form.length; from++)
      while (from + longest < form.length && within.includes(form.slice(from, from + longest + 1))) longest++;
  return longest;
}

/** A text, and the text with its words decoded in several ways. */
const readings = (text: string): readonly string[] => {
  const words = text.split(/[^A-Za-z0-9+/=_-]+/).filter((word) => word.length >= 8);
  const unescaped = text.replaceAll(/(?:%|\\x|\\u00)([0-9a-f]{2})/gi, (_, byte) =>
    String.fromCharCode(Number.parseInt(byte, 16)),
  );
  return [
    text,
    unescaped,
    ...words.flatMap((word) => [
      Buffer.from(word, 'base64').toString('latin1'),
      Buffer.from(word, 'hex').toString('latin1'),
    ]),
  ];
};

const ordinary = [
  'HTTP 429: Rate limit reached for gpt-4o-mini in organization org-abc123 on tokens per min (TPM): Limit 200000, Used 199987.',
  'This model\u2019s maximum context length is 8192 tokens. However, you requested 9011 tokens (8499 in the messages, 512 in the completion).',
  'model "qwen3:0.6b" not found, try pulling it first; request id 4f1c2d9e-8a77-4b0e-9d1f-2f6f0c3b7e55',
  'params[0]: -0.0123456789, params[1]: 1234567.25, params[2]: 6.02214076e23 at 2026-11-26T17:00:00.000Z',
  'The quick brown fox jumps over the lazy dog; sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
];

export const secrets: AttackKind = {
  name: 'secrets',
  percent: 100,
  async open() {
    return {
      attack(random) {
        const key = `${random.choice(['sk-', 'sk-proj-', 'gsk_', 'hf_', ''])}${Array.from({ length: 24 + drawn(random, 40) }, () => random.choice([...alphabet])).join('')}`;
        const text = random.choice(ordinary);
        for (const shown of [redact(text, [key]), hideSecrets(text, [key])])
          if (shown !== text) return `changes ordinary text: ${shorten(shown)} for ${key}`;
        const sent = `${text} key ${random.choice(disguises)(key, random)}, ${junkText(random).slice(0, 100)}`;
        const shown = redact(sent, [key]);
        const run = Math.max(...readings(shown).map((reading) => longestRun(reading, key)));
        return run >= 8 ? `${run} characters of ${key} are left in ${shorten(shown)}` : undefined;
      },
    };
  },
};
