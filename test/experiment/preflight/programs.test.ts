import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { preflight } from '../../../src/experiment/preflight/preflight.js';
import { promptSize } from '../../../src/experiment/preflight/prompt-size.js';
import { assemble, closeEnvironment } from '../../../src/experiment/setup/assemble.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const config: ConfigInput = {
  environment: 'CartPole-v1',
  policy: { kind: 'program' },
  model: { provider: 'openai', name: 'gpt-x', maxTokens: 2000 },
};

async function made(more: Partial<ConfigInput> = {}) {
  const assembly = await assemble(parseConfig({ ...config, ...more }), { OPENAI_API_KEY: 'k' });
  try {
    return { findings: preflight(assembly), size: promptSize(assembly) };
  } finally {
    await closeEnvironment(assembly);
  }
}

test('for programs, no finding mentions parameters, and the size of the last prompt includes the shown programs', async () => {
  const { findings, size } = await made();
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
  expect(findings.map(({ message }) => message).join('\n')).not.toMatch(/params\[|[0-9] parameters/);
  // By default, a prompt shows six programs.
  expect(size.lastTokens).toBeGreaterThan(6 * size.entryTokens);
});

test('a prompt set for parameters is replaced if a baseline writes programs, and rejected if a model does', () => {
  const prompts = { set: 'numeric' };
  const model = { provider: 'genetic' } as const;
  expect(parseConfig({ ...config, model, prompts }).prompts.set).toBe('programs');
  expect(() => parseConfig({ ...config, prompts })).toThrow(
    /hint: set prompts\.set=programs, or change policy/,
  );
});

test('a finding reports a prompt that never shows how to write a program', async () => {
  const set = join(temporaryDirectory(), 'own');
  mkdirSync(set);
  for (const file of ['system', 'user', 'format-correction'])
    writeFileSync(join(set, `${file}.hbs`), 'Write a better policy.');
  const { findings } = await made({ prompts: { set }, warmup: 0, memory: { best: 0, recent: 0 } });
  const messages = findings.flatMap(({ level, message }) => (level === 'ok' ? [] : [message]));
  expect(messages).toContain(
    'the prompt never shows how to write a program, so replies are likely to be rejected',
  );
});
