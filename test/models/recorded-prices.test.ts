import { expect, test } from 'vitest';
import { parseConfig, resolvedYaml } from '../../src/config/load.js';
import { withDefaultsOf } from '../../src/config/resolve.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import { Ledger, usageConfig } from '../../src/proposers/budget.js';

const env = { OPENAI_API_KEY: 'none' };
const written = (more: object = {}) =>
  parseConfig({
    environment: 'CartPole-v1',
    model: { provider: 'openai', name: 'gpt-5-mini' },
    iterations: 1,
    ...more,
  });

async function started(more: object = {}, variables: Readonly<Record<string, string>> = {}) {
  const assembly = await assemble(written(more), { ...env, ...variables });
  await assembly.environment.close?.();
  return assembly.config;
}

test('a new run records the list price of its model, so that its cost is known', async () => {
  const config = await started();
  expect(resolvedYaml(config)).toContain('listed: 2026-09');
  const { totals } = new Ledger({ limits: {}, ...usageConfig(config.model) });
  expect(totals).toMatchObject({ cost: 0, listed: '2026-09' });
});

test('a resumed run keeps the price it started with', () => {
  const price = { input: 7, output: 9, listed: '2025-01' };
  const was = written({ model: { provider: 'openai', name: 'gpt-5-mini', price } });
  expect(withDefaultsOf(was, written()).model).toHaveProperty('price', price);
  // Without a recorded price, its costs stay unknown.
  expect(withDefaultsOf(written(), written()).model).not.toHaveProperty('price');
});

test("a model without a known price has no cost and can't have a cost limit", async () => {
  const model = { provider: 'openai', name: 'gpt-7' };
  const config = await started({ model });
  expect(config.model).not.toHaveProperty('price');
  expect(new Ledger({ limits: {}, ...usageConfig(config.model) }).totals).not.toHaveProperty('cost');
  await expect(started({ model, limits: { cost: 1 } })).rejects.toThrow('limits.cost: needs model.price');
  const [baseline, unpriced] = [{ provider: 'random' }, { provider: 'ollama', name: 'x' }];
  const portfolio = { provider: 'portfolio', members: [baseline, unpriced] };
  await expect(started({ model: portfolio, limits: { cost: 1 } })).rejects.toThrow('model.members.1.price');
  await expect(started({ model: { provider: 'local' }, limits: { cost: 1 } })).rejects.toThrow(
    'limits.cost: has no effect',
  );
});

test('a cost limit works with a list price, but not on a server whose prices are unknown', async () => {
  const limits = { cost: 1 };
  expect((await started({ limits })).model).toHaveProperty('price.output', 2);
  const elsewhere = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  await expect(started({ limits }, elsewhere)).rejects.toThrow('limits.cost: needs model.price');
});
