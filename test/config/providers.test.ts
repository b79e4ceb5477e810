import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../src/base/package.js';
import { loadConfig } from '../../src/config/load.js';
import { configChanges } from '../../src/runs/fingerprint.js';

const text = (model: string) => `environment: CartPole-v1\nmodel: ${model}\n`;
const load = (model: string, ...overrides: readonly string[]) =>
  loadConfig({ file: 'my.yaml', overrides, readFile: () => text(model) });

const folder = join(packageRoot(), 'configs/providers');
const bundled = readdirSync(folder).map((file) => ({
  name: file.replace('.yaml', ''),
  source: readFileSync(join(folder, file), 'utf8'),
}));
const servers = bundled.filter(({ source }) => /baseUrl|provider: (openai|ollama)/.test(source));
const hosted = servers.filter(({ name }) => name !== 'openai' && name !== 'ollama');

const anthropic =
  /hint: write `\{provider: openai, baseUrl: https:\/\/api\.anthropic\.com\/v1\/, apiKeyEnv: ANTHROPIC_API_KEY, name: /;
const gemini = /generativelanguage[^`]*name: gemini-pro/;

test.each([
  ['{provider: anthropic}', anthropic],
  ['{provider: Claude, name: claude-opus}', /api\.anthropic\.com[^`]*name: claude-opus/],
  ['{provider: anthropic, name: "qwen3:8b"}', /name: claude-sonnet/],
  ['{provider: gemini, name: "phi4:14b"}', /name: gemini-/],
  ['{provider: anthropic, name: gpt-5-mini}', /name: claude-sonnet/],
  ['{provider: Groq, name: llama-3.3-70b-versatile}', /name: llama-3\.3-70b-versatile/],
  ['{provider: google_genai, name: gemini-pro}', gemini],
  ['google/gemini-pro', gemini],
  ['anthropic', anthropic],
  ['{provider: groqq}', /api\.groq\.com/],
  ['{provider: together_ai}', /api\.together\.xyz/],
  ['{provider: llama.cpp}', /127\.0\.0\.1:8080/],
  ['{provider: portfolio, members: [{provider: mistral}, {provider: random}]}', /api\.mistral\.ai/],
  ['openai/gpt-5', /hint: write `\{provider: openai, name: gpt-5, /],
  ['{provider: gpt}', /hint: write `\{provider: openai, /],
  [
    '{provider: cohere}',
    /hint: for a server that implements OpenAI's API, write `\{provider: openai, baseUrl/,
  ],
  ['{provider: opanai}', /hint: did you mean `openai`\?/],
  ['{relay: [{provider: gp}, {provider: gp}]}', /leg 2 would never begin\s+hint: set model\.relay\.0\.calls/],
  ['{relay: [{provider: gp, calls: 2}, {provider: gp, calls: 3}]}', /hint: remove it, or add another leg/],
  ['{relay: [{provider: gp, calls: 2, patience: 3}, {provider: gp}]}', /hint: .*relay\.0\.until=stalled/],
  ['{relay: [{provider: ollama, name: m, calls: 1}, {provider: local}]}', /hint: keep one language model/],
  ['{relay: [{provider: grok, calls: 1}, {provider: gp}]}', /api\.x\.ai/],
  ['./my-model.js', /hint: write `model: \{provider: \.\/my-model\.js, …\}`/],
])('model: %s is rejected, and the error says what to do instead', (model, message) => {
  expect(() => load(model)).toThrow(message);
});

test.each(hosted)('the error for provider: $name shows a section that loads', ({ name, source }) => {
  const told = (() => {
    try {
      return load(`{provider: ${name}}`) && '';
    } catch (error) {
      return String(error);
    }
  })();
  const { model } = load(/write `(\{.*\})`/.exec(told)![1]!).config;
  expect(model).toMatchObject({ provider: 'openai', name: parse(source).model.name });
});

it('the error for an unknown provider in an override or a stage shows what to write', () => {
  expect(() => load('{provider: random}', 'model={provider: groq}')).toThrow(/api\.groq\.com/);
  expect(() => load('{provider: random}', 'critic.model.provider=anthropic')).toThrow(anthropic);
});

test.each(servers)('docs/reference/providers.md shows the section of $name', ({ source }) => {
  const section = /^model:\n(?: {2}.*\n)+/m.exec(source)![0];
  expect(readFileSync(join(packageRoot(), 'docs/reference/providers.md'), 'utf8')).toContain(section);
});

it('a relay needs no provider; overrides change a leg by its number, or replace the relay', () => {
  const relay = (...overrides: readonly string[]) =>
    load('{relay: [{provider: ./my.js, calls: 20, options: {a: 1}}, {provider: gp}]}', ...overrides);
  const { config } = relay('model.relay.0.calls=5');
  expect(config.model).toMatchObject({ provider: 'relay', relay: [{ provider: 'module', calls: 5 }, {}] });
  const { config: alone, notes } = relay('model.provider=gp');
  expect([alone.model, notes.join()]).toEqual([{ provider: 'gp' }, expect.stringContaining('model.relay')]);
  const single = 'evaluation.episodes=1';
  expect(() => relay('model.relay.0.until=signal', single)).toThrow(/evaluation\.episodes to 2/);
  // A resumed run can't have other ends.
  expect(configChanges(relay().config, config)).toMatchObject([{ key: 'model.relay.0.calls' }]);
});
