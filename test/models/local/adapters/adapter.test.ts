import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { loadEngine } from '../../../../src/models/local/generation/engine.js';
import { readAdapter } from '../../../../src/models/local/graph/adapter.js';
import { createLocalModel } from '../../../../src/models/local/process/local-model.js';
import { localSchema } from '../../../../src/models/local/settings.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { readReference, referenceDirectory, referenceModels } from '../fixture.js';

const folder = temporaryDirectory();

const adapterOf = (name: string) => path.join(referenceDirectory(name), 'adapter-after-12-steps');

test.each(referenceModels)(
  "%s with its adapter gives the greedy tokens of PEFT's merged model",
  async (name) => {
    const directory = referenceDirectory(name);
    const file = readFileSync(path.join(directory, 'reference.json'), 'utf8');
    const { merged_greedy_ids: expected } = JSON.parse(file) as { merged_greedy_ids: number[] };
    const engine = await loadEngine({
      path: directory,
      adapter: adapterOf(name),
      device: 'cpu',
      quantization: 'none',
      threads: 1,
      template: {},
    });
    const { replies } = await engine.generate(
      { messages: readReference(name).messages, seeds: [1], maxTokens: 24, sampling: { temperature: 0 } },
      { isAborted: () => false },
    );
    await engine.close();
    const { ids } = replies[0]!;
    // The reference went on after the end of the reply.
    expect(ids).toEqual(expected.slice(0, ids.length));
    expect(ids).not.toEqual(readReference(name).greedy_ids.slice(0, ids.length));
  },
);

describe('an adapter', () => {
  const model = (adapter: string, name = 'qwen2-tied-bf16-sharded') =>
    createLocalModel(localSchema.parse({ provider: 'local', path: referenceDirectory(name), adapter }));

  it('appears in the id, following the name of the model', () => {
    expect(model(adapterOf('qwen2-tied-bf16-sharded')).id).toBe(
      'local/qwen2-tied-bf16-sharded+adapter-after-12-steps',
    );
  });

  it('is rejected if it belongs to another model', () => {
    expect(() => model(adapterOf('qwen3-fp32'))).toThrow(/belongs to another model/);
  });

  it('is rejected if its directory or config is missing', () => {
    expect(() => model(path.join(folder, 'nothing'))).toThrow(/model.adapter: there is no such directory/);
    expect(() => model(folder)).toThrow(/no adapter_config.json/);
  });

  it("is rejected if it isn't LoRA or its tensors are missing", () => {
    const other = path.join(folder, 'other');
    cpSync(adapterOf('qwen3-fp32'), other, { recursive: true });
    const file = path.join(other, 'adapter_config.json');
    const stated = readFileSync(file, 'utf8');
    writeFileSync(file, stated.replace('"LORA"', '"IA3"'));
    expect(() => readAdapter(other)).toThrow(/peft_type: this kind of adapter is not supported/);
    rmSync(path.join(other, 'adapter_model.safetensors'));
    writeFileSync(file, stated);
    expect(() => readAdapter(other)).toThrow(/no adapter_model.safetensors/);
  });
});
