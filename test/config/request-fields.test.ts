/** `model.extra`: fields that a server takes and policyloop has no key for. */
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load.js';
import { configChanges, fingerprint } from '../../src/runs/fingerprint.js';

const load = (extra?: unknown, ...overrides: readonly string[]) =>
  loadConfig({
    file: 'my.yaml',
    overrides,
    readFile: () =>
      stringify({
        environment: 'CartPole-v1',
        model: { provider: 'openai', name: 'm', ...(extra !== undefined && { extra }) },
      }),
  }).config;

describe('model.extra', () => {
  it('is kept unchanged, and overrides can set its fields', () => {
    const extra = { top_k: 20, chat_template_kwargs: { enable_thinking: false }, logit_bias: { '5': -1 } };
    expect(load(extra).model).toMatchObject({ extra });
    expect(load(extra, 'model.extra.top_k=40', 'model.extra.min_p=0.1').model).toMatchObject({
      extra: { ...extra, top_k: 40, min_p: 0.1 },
    });
  });

  it.each([
    [Number.NaN, 'JSON'],
    [{ deep: [Number.POSITIVE_INFINITY] }, 'JSON'],
  ])('rejects %o, which JSON cannot represent', (value, word) => {
    expect(() => load({ top_k: value })).toThrow(word);
  });

  it('is part of the fingerprint, and absent from the config if not set', () => {
    const print = (extra?: unknown) => fingerprint(load(extra), 'prompts');
    expect(print({ top_k: 20 })).not.toBe(print({ top_k: 40 }));
    expect(print({ top_k: 20 })).not.toBe(print());
    expect(configChanges(load({ top_k: 20 }), load({ top_k: 40 }))).toEqual([
      { key: 'model.extra', was: { top_k: 20 }, now: { top_k: 40 } },
    ]);
    expect(load().model).not.toHaveProperty('extra');
  });
});
