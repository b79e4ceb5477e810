/** Exports of an adapter that was trained on a GGUF file. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { writeGguf } from '../../../finetune/export/gguf/gguf.js';
import { mergeAdapter } from '../../../finetune/export/merged/merge.js';
import { ggufModelfile } from '../../../finetune/export/ollama/modelfile.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../../src/models/local/graph/adapter.js';
import { openGguf } from '../../../src/models/local/weights/gguf.js';
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

it('merging into a directory needs a model directory as the base', async () => {
  const model = base();
  const adapter = openAdapter(
    randomAdapter({ model, rank: 2, modules: ['q_proj'], seed: 4 }),
    readDecoderConfig(model),
  );
  await expect(mergeAdapter(model, adapter, path.join(folder, 'never'), 'stored')).rejects.toThrow(
    /GGUF file[\s\S]*hint: use --to gguf/,
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
