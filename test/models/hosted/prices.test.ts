import { expect, test } from 'vitest';
import { listPrice, priceLists, withListPrice } from '../../../src/models/hosted/prices.js';

const at = (name: string, more: object = {}) => listPrice({ name, ...more });

test('listPrice finds a price by model and server, in US dollars per million tokens', () => {
  expect(at('gpt-5-mini')).toEqual({ input: 0.25, cachedInput: 0.025, output: 2, listed: '2026-09' });
  expect(at('claude-haiku-4-5', { baseUrl: 'https://api.anthropic.com/v1/' })).toMatchObject({ output: 5 });
  // Groq publishes no rate for cached tokens.
  const groq = at('openai/gpt-oss-20b', { baseUrl: 'https://api.groq.com/openai/v1' });
  expect(groq).toEqual({ input: 0.075, output: 0.3, listed: '2026-09' });
});

test('a dated version has the price of its model, except gpt-4o-2024-05-13, whose price is unknown', () => {
  expect(at('gpt-5-mini-2025-08-07')).toEqual(at('gpt-5-mini'));
  expect(at('claude-haiku-4-5-20251001', { baseUrl: 'https://api.anthropic.com/v1' })?.output).toBe(5);
  expect(at('gpt-4o-2024-08-06')).toEqual(at('gpt-4o'));
  expect(at('gpt-4o-2024-05-13')).toBeUndefined();
});

test.each([
  ['an unknown model', 'gpt-7', {}],
  ['a variant', 'gpt-5-mini-search', {}],
  ['a tuned model', 'ft:gpt-4o-mini:acme', {}],
  ['a property of every object', 'constructor', {}],
  ['another server', 'gpt-5-mini', { baseUrl: 'http://localhost:8000/v1' }],
  ['a server with a similar name', 'gpt-5-mini', { baseUrl: 'https://api.openai.com.example.org/v1' }],
  ['a proxy on a port', 'gpt-5-mini', { baseUrl: 'https://api.openai.com:8443/v1' }],
  ['another provider', 'claude-haiku-4-5', {}],
  ['another service tier', 'gpt-5-mini', { extra: { service_tier: 'flex' } }],
])('%s has no price', (_, name, more) => {
  expect(at(name, more)).toBeUndefined();
});

test('OPENAI_BASE_URL selects the server whose prices apply', () => {
  const named = (OPENAI_BASE_URL: string) => listPrice({ name: 'gpt-5-mini' }, { OPENAI_BASE_URL });
  expect(named('http://127.0.0.1:8000/v1')).toBeUndefined();
  expect(named('nonsense')).toBeUndefined();
  expect(named(' ')).toEqual(at('gpt-5-mini'));
});

test('a price in the config overrides the list price', () => {
  const own = { provider: 'openai', name: 'gpt-5-mini', price: { input: 1, output: 1 } };
  expect(withListPrice(own, {})).toBe(own);
  expect(withListPrice({ provider: 'openai', name: 'gpt-5-mini' }, {})).toHaveProperty('price.listed');
  const ollama = { provider: 'ollama', name: 'gpt-5-mini' };
  expect(withListPrice(ollama, {})).toBe(ollama);
});

test('each list names its month, and its prices are plausible', () => {
  for (const { models, month } of Object.values(priceLists)) {
    expect(month).toMatch(/^20\d\d-\d\d$/);
    for (const [input, cached, output] of models) {
      expect(input).toBeLessThan(output);
      expect(cached ?? 0).toBeLessThan(input);
    }
  }
});
