import { describe, expect, it } from 'vitest';
import { hideSecrets, redact, UserError } from '../../src/base/errors.js';

const key = 'sk-proj-Ab3dE6gH1jKlMn0pQrS7uVwXyZ42abcd98';

describe('redaction', () => {
  it.each([
    ['verbatim', key],
    ['URL-encoded', encodeURIComponent('pass word/with+signs'), 'pass word/with+signs'],
  ])('hides a secret that a server repeats: %s', (_, written, secret = key) => {
    expect(redact(`HTTP 401: no such key ${written}, says the server`, [secret])).toBe(
      'HTTP 401: no such key [redacted], says the server',
    );
  });

  it.each([
    'HTTP 429: Rate limit reached for gpt-4o-mini in organization org-abc123 on tokens per min: Limit 200000, Used 199987.',
    'model "qwen3:0.6b" not found; request id 4f1c2d9e-8a77-4b0e-9d1f-2f6f0c3b7e55',
    'params[0]: -0.0123456789, params[1]: 6.02214076e23 at 2026-11-26T17:00:00.000Z, project sk-learn',
  ])('leaves ordinary text unchanged: %s', (text) => {
    expect(redact(text, [key, 'ollama', 'my-secret-api-key'])).toBe(text);
  });

  it('keeps an ordinary word that also occurs in a key', () => {
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
