import { describe, expect, it } from 'vitest';
import { hideSecrets, redact, UserError } from '../../src/base/errors.js';

const key = 'sk-proj-Ab3dE6gH1jKlMn0pQrS7uVwXyZ42abcd98';
const reversed = [...key].reverse().join('');
const bytes = (write: (byte: string) => string) =>
  [...Buffer.from(key)].map((byte) => write(byte.toString(16))).join('');
const parts = (length: number) => key.match(new RegExp(`.{1,${length}}`, 'g'))!;

describe('a secret repeated by a server', () => {
  it.each(
    Object.entries({
      'as it is': key,
      'in capitals': key.toUpperCase(),
      reversed,
      'its last 20 characters': key.slice(-20),
      'its first 20 characters': key.slice(0, 20),
      'in base64': Buffer.from(key).toString('base64'),
      'in base64url, after other text': Buffer.from(`Bearer ${key}`).toString('base64url'),
      'reversed in base64': Buffer.from(reversed).toString('base64'),
      'in hexadecimal digits': bytes((byte) => byte),
      'in an address': bytes((byte) => `%${byte.toUpperCase()}`),
      'in escapes': bytes((byte) => `\\u00${byte}`),
      'as numbers': [...Buffer.from(key)].join(', '),
      'letter by letter': [...key].join('-'),
      'on lines': parts(7).join('\n'),
      'as a list': JSON.stringify(parts(6)),
      'in pieces with words between them': parts(4).join(' and then '),
      'in numbered pieces': parts(8)
        .map((part, i) => `${i}: ${part}`)
        .join('; '),
    }),
  )('is hidden: %s', (_, form) => {
    const shown = redact(`HTTP 401: no such key ${form}, says the server`, [key]);
    expect(shown).toContain('[redacted]');
    const letters = shown.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
    // The beginning is that of every such key.
    for (const text of [key.slice(8), [...key.slice(8)].reverse().join('')])
      for (const part of text
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/g, '')
        .matchAll(/(?=(.{6}))/g))
        expect(letters).not.toContain(part[1]);
  });

  it.each([
    'HTTP 429: Rate limit reached for gpt-4o-mini in organization org-abc123 on tokens per min: Limit 200000, Used 199987.',
    'model "qwen3:0.6b" not found; request id 4f1c2d9e-8a77-4b0e-9d1f-2f6f0c3b7e55',
    'params[0]: -0.0123456789, params[1]: 6.02214076e23 at 2026-11-26T17:00:00.000Z, project sk-learn',
  ])('redaction leaves ordinary text unchanged: %s', (text) => {
    expect(redact(text, [key, 'ollama', 'my-secret-api-key'])).toBe(text);
  });

  it('hideSecrets keeps an ordinary word that also occurs in a key', () => {
    expect(hideSecrets('the embedding of embeds', ['embedding-key'])).toBe('the embedding of embeds');
  });
});

it('an error message redacts a key that was given in the wrong place', () => {
  const shown = (message: string) => new UserError({ message }).message;
  expect(shown('override model.apiKey=plain-secret is unknown')).toBe(
    'override model.apiKey=[redacted] is unknown',
  );
  expect(shown('override model={name: m, apiKey: plain}')).toBe(
    'override model={name: m, apiKey: [redacted]}',
  );
  expect(shown('me:pass@host:1/v1 is no address')).toBe('[redacted]@host:1/v1 is no address');
  for (const text of [
    'hf:ORG/NAME@main:x.gguf',
    'write key=value',
    'model.apiKeyEnv=MY_KEY',
    'at 12:30 of qwen3:0.6b',
  ])
    expect(shown(text)).toBe(text);
});
