import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { execute as checkModelCommand } from '../../src/commands/models/check.js';
import { parseDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { type ModelSummary, memoryRequirements } from '../../src/models/local/summary/model-summary.js';
import { referenceDirectory } from '../models/local/fixture.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

const reference = referenceDirectory('llama3-rope-bf16');

/** A copy of a reference model whose files may be changed. */
function copy(change: (directory: string) => void): string {
  const directory = join(temporaryDirectory(), 'model');
  cpSync(reference, directory, { recursive: true });
  change(directory);
  return directory;
}

async function check(directory: string, options: { json?: boolean } = {}) {
  const { context, printed } = recordingContext(temporaryDirectory());
  const code = await checkModelCommand({ directory, json: false, ...options }, context);
  return { code, text: printed.join('\n') };
}

test('models check describes a sound model on one screen', async () => {
  const { code, text } = await check(reference);
  expect(code).toBe(0);
  expect(text).toMatch(/^architecture +llama, 3 layers of width 64/m);
  expect(text).toMatch(/^parameters +[\d\u202f]+, BF16, \d+ kB in 1 file$/m);
  expect(text).toMatch(
    /^memory +\d+ kB \(none\), \d+ kB \(int8\), [\d.]+ kB \(int4\), [\d.]+ kB \(int4-block128\) for the weights/m,
  );
  expect(text).toMatch(/^context +512 tokens/m);
  expect(text).toMatch(/^template +chat_template\.jinja, accepts a system message$/m);
  expect(text).toMatch(/^tokenizer +tokenizer\.json; a reply ends at token \d/m);
  expect(text).toMatch(/^verdict +can run$/m);
  expect(text.split('\n').length).toBeLessThan(20);
});

test('models check describes a model as JSON', async () => {
  const facts = JSON.parse((await check(reference, { json: true })).text) as ModelSummary;
  expect(facts).toMatchObject({
    config: { architecture: 'llama', contextTokens: 512 },
    weights: { dtypes: ['BF16'] },
    problems: [],
  });
  const { none = 0, int8 = 0, int4 = 0 } = facts.memory!.weights;
  expect(none).toBe(facts.weights!.parameters * 4);
  expect(int8).toBeLessThan(none / 3);
  expect(int4).toBeLessThan(int8);
});

const written = (file: string, text: string) => (directory: string) =>
  writeFileSync(join(directory, file), text);

test('missing or invalid files and unsupported features are reported, with exit code 1', async () => {
  const cases: readonly (readonly [(directory: string) => void, RegExp])[] = [
    [(d) => rmSync(join(d, 'tokenizer.json')), /tokenizer\.json: this file is missing[\s\S]*hint: /],
    [(d) => rmSync(join(d, 'chat_template.jinja')), /has no chat template[\s\S]*use the instruction-tuned/],
    [(d) => rmSync(join(d, 'model.safetensors')), /safetensors/],
    [written('generation_config.json', '{"top_k": "many"}'), /generation_config\.json: top_k/],
    [
      written('config.json', '{"model_type": "mamba"}'),
      /model_type: this architecture is not supported[\s\S]*one of: llama, mistral, qwen2, qwen3/,
    ],
    [
      written(
        'chat_template.jinja',
        "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}",
      ),
      /rejects system messages[\s\S]*hint: /,
    ],
  ];
  for (const [change, pattern] of cases) {
    const { code, text } = await check(copy(change));
    expect(text).toMatch(pattern);
    expect(text).toMatch(/^verdict +can't run as it is$/m);
    expect(code).toBe(1);
  }
  const folder = temporaryDirectory();
  expect((await check(join(folder, 'Qwen', 'Qwen3-4B'))).text).toMatch(
    /no such dir.*\n.* hf:Qwen\/Qwen3-4B /,
  );
  expect((await check(folder)).text).toMatch(/has no config\.json, and contains no GGUF file or model/);
  written('one.gguf', '')(folder);
  expect((await check(folder)).text).toMatch(/has no config\.json\n.*\n.*\n *expected: .*one\.gguf/);
  expect((await check(join(folder, 'on.gguf'))).text).toMatch(
    /there is no such file\n.*\n.*\n *expected: .*one\.gguf/,
  );
});

test('tied and untied embeddings need the same memory', () => {
  const config = JSON.parse(readFileSync(join(reference, 'config.json'), 'utf8')) as object;
  const need = (tied: boolean) =>
    memoryRequirements(parseDecoderConfig({ ...config, tie_word_embeddings: tied }, 'config.json')).weights;
  expect(need(true)).toEqual(need(false));
});
