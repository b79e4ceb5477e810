import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { execute as checkModelCommand } from '../../src/commands/models/check.js';
import { referenceDirectory } from '../models/local/fixture.js';
import { randomAdapter } from '../models/local/random-adapter.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

const model = referenceDirectory('llama3-rope-bf16');
const adapter = randomAdapter({ model, rank: 4, modules: ['q_proj', 'down_proj'], seed: 3 });

async function check(directory: string, options: { base?: string; json?: boolean } = {}) {
  const { context, printed } = recordingContext(temporaryDirectory());
  const code = await checkModelCommand({ directory, json: false, ...options }, context);
  return { code, text: printed.join('\n') };
}

test('models check describes an adapter and compares it with the model that it names', async () => {
  const { code, text } = await check(adapter);
  expect(code).toBe(0);
  expect(text).toMatch(/^adapter +LoRA of rank 4, alpha 3: scaled by 0\.75$/m);
  expect(text).toMatch(/^modules +3 q_proj, 3 down_proj$/m);
  // Rank 4, three layers; q_proj is 64 × 64 and down_proj 64 × 160.
  expect(text).toMatch(/^parameters +4224$/m);
  expect(text).toContain(`base        ${model}`);
  expect(text).toMatch(/^fits +yes \(checked against .*llama3-rope-bf16\)$/m);
  expect(text).toMatch(/^verdict +can be used with llama3-rope-bf16$/m);
});

test('models check describes an adapter as JSON', async () => {
  expect(JSON.parse((await check(adapter, { json: true })).text)).toMatchObject({
    kind: 'adapter',
    base: model,
    adapter: { rank: 4, alpha: 3, scale: 0.75, modules: { q_proj: 3, down_proj: 3 } },
    fit: { model, fits: true },
    problems: [],
  });
});

test("--base replaces the base that an adapter names, and the check fails if the two don't fit", async () => {
  const { code, text } = await check(adapter, { base: referenceDirectory('qwen3-fp32') });
  expect(code).toBe(1);
  expect(text).toMatch(/^fits +no \(checked against .*qwen3-fp32\)$/m);
  expect(text).toMatch(/^verdict +can't be used as it is$/m);
  expect(text).toMatch(/belongs to another model/);
  const missing = await check(adapter, { base: '/nowhere' });
  expect(missing.code).toBe(1);
  expect(missing.text).toMatch(/there is no such directory/);
});

test('an adapter whose base is missing is not checked against any model', async () => {
  const copy = join(temporaryDirectory(), 'adapter');
  cpSync(join(model, 'adapter-after-12-steps'), copy, { recursive: true });
  const { code, text } = await check(copy);
  expect(code).toBe(0);
  expect(text).toMatch(/^fits +not checked; pass the directory of the base model with --base$/m);
  expect(text).toMatch(/^verdict +can be read$/m);
});

test('an unsupported kind of adapter is reported', async () => {
  const copy = join(temporaryDirectory(), 'adapter');
  cpSync(adapter, copy, { recursive: true });
  writeFileSync(join(copy, 'adapter_config.json'), '{"peft_type": "IA3"}');
  const { code, text } = await check(copy);
  expect(code).toBe(1);
  expect(text).toMatch(/peft_type: this kind of adapter is not supported/);
});

test('models check rejects --base if it checks a model instead of an adapter', async () => {
  await expect(check(model, { base: model })).rejects.toThrow(/--base: only/);
});
