/** Exports of an adapter that was trained over a GGUF file. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { writeGguf } from '../../../finetune/export/gguf/gguf.js';
import { mergeAdapter } from '../../../finetune/export/merged/merge.js';
import { ggufModelfile } from '../../../finetune/export/ollama/modelfile.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../../src/models/local/graph/adapter.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import { readGenerationDefaults } from '../../../src/models/local/weights/generation-config.js';
import { openGguf } from '../../../src/models/local/weights/gguf.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { readTensorBytes } from '../../../src/models/local/weights/safetensors.js';
import { tokenizerMetadata, writeTestGguf } from '../../models/local/gguf/gguf-writer.js';
import { architectureMetadata, decoderTensors } from '../../models/local/gguf/random-gguf.js';
import { randomAdapter } from '../../models/local/random-adapter.js';
import { lastLogits } from '../../support/last-logits.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const folder = temporaryDirectory();
const ids = [5, 8, 13, 21, 34, 55, 89, 144, 233];
const farthest = (a: Float32Array, b: Float32Array) =>
  Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));

const base = (architecture = 'llama') =>
  writeTestGguf(
    path.join(folder, `${architecture}.gguf`),
    { ...architectureMetadata(architecture), ...tokenizerMetadata() },
    decoderTensors('Q4_1', 'Q8_0'),
  );

it.each(['llama', 'granite'])(
  '%s: the merged GGUF file gives the same logits as base plus adapter',
  async (architecture) => {
    const model = base(architecture);
    const directory = randomAdapter({ model, rank: 2, modules: ['q_proj', 'v_proj', 'down_proj'], seed: 3 });
    const adapter = openAdapter(directory, readDecoderConfig(model));
    const out = path.join(folder, `${architecture}-tuned.gguf`);
    await writeGguf(model, adapter, out, 'F32');
    const quantization = 'float32';
    const [merged, adapted, plain] = [
      await lastLogits(out, ids, { quantization }),
      await lastLogits(model, ids, { adapter: directory, quantization }),
      await lastLogits(model, ids, { quantization }),
    ];
    expect(farthest(merged, adapted)).toBeLessThan(1e-4);
    expect(farthest(plain, adapted)).toBeGreaterThan(1e-2);
    const [before, after] = [openGguf(model), openGguf(out)];
    const types = [...after.tensors.values()].map(({ name, dtype }) => `${name} ${dtype}`);
    expect(types).toContain('blk.0.attn_q.weight F32');
    expect(types).toContain('blk.0.attn_k.weight Q4_1');
    for (const name of ['blk.0.attn_k.weight', 'token_embd.weight'])
      expect(readTensorBytes(after.tensors.get(name)!)).toEqual(readTensorBytes(before.tensors.get(name)!));
    expect(after.metadata).toEqual(before.metadata);
  },
);

it.each([
  ['float32', 1e-4, 'F32'],
  ['stored', 2e-2, 'F16'],
] as const)(
  'a directory merged in %s keeps the logits, prompt tokens and generation defaults',
  async (dtype, tolerance, stored) => {
    const model = base();
    const directory = randomAdapter({ model, rank: 2, modules: ['q_proj', 'v_proj', 'down_proj'], seed: 3 });
    const out = path.join(folder, `merged-${dtype}`);
    await mergeAdapter(model, openAdapter(directory, readDecoderConfig(model)), out, dtype);
    const adapted = await lastLogits(model, ids, { adapter: directory, quantization: 'float32' });
    expect(farthest(await lastLogits(out, ids), adapted)).toBeLessThan(tolerance);
    expect(openWeights(out).get('model.layers.0.self_attn.k_proj.weight')!.dtype).toBe(stored);
    const messages = [{ role: 'user', content: 'he said: 12.5 <|im_end|> ünd' }] as const;
    const [before, after] = [openTokenizer(model), openTokenizer(out)];
    expect(after.encodePrompt(messages)).toEqual(before.encodePrompt(messages));
    expect(after.promptText(messages)).toEqual(before.promptText(messages));
    expect(readGenerationDefaults(out)).toEqual(readGenerationDefaults(model));
  },
);

it('merging to a directory in float16 rejects a weight that is too large and suggests float32', async () => {
  const model = base();
  const directory = randomAdapter({ model, rank: 2, modules: ['q_proj'], seed: 5 });
  const file = path.join(directory, 'adapter_config.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), lora_alpha: 1e9 }));
  const adapter = openAdapter(directory, readDecoderConfig(model));
  await expect(mergeAdapter(model, adapter, path.join(folder, 'huge'), 'stored')).rejects.toThrow(
    /q_proj[\s\S]*too large for float16[\s\S]*expected: --dtype f32$/,
  );
});

it('merging to a directory fails if config.json can’t express the model', async () => {
  const model = writeTestGguf(
    path.join(folder, 'divided.gguf'),
    { ...architectureMetadata(), ...tokenizerMetadata() },
    [
      ...decoderTensors('Q4_1', 'Q8_0'),
      {
        name: 'rope_freqs.weight',
        shape: [32],
        dtype: 'F32',
        bytes: new Uint8Array(new Float32Array(32).fill(2).buffer),
      },
    ],
  );
  const directory = randomAdapter({ model, rank: 2, modules: ['q_proj'], seed: 4 });
  const adapter = openAdapter(directory, readDecoderConfig(model));
  await expect(mergeAdapter(model, adapter, path.join(folder, 'never'), 'stored')).rejects.toThrow(
    /rope_freqs[\s\S]*--to gguf/,
  );
});

it('exporting a GGUF base without an adapter is rejected', async () => {
  const out = path.join(folder, 'copy.gguf');
  await expect(writeGguf(base(), undefined, out, 'F16')).rejects.toThrow(/already a GGUF file/);
});

it('the Modelfile of a GGUF base names the file and its stop token', () => {
  const { text } = ggufModelfile(base(), 'tuned.gguf', {}, 512);
  expect(text).toMatch(/^FROM \.\/tuned\.gguf\n/);
  expect(text).toContain('PARAMETER stop "<|im_end|>"');
});
