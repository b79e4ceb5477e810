/** GGUF files: their blocks, their tokenizers, models that run from them, and invalid files. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type GgufTensorType, ggufValue } from '../../../../finetune/export/gguf/format.js';
import { writeGguf } from '../../../../finetune/export/gguf/gguf.js';
import { formatProblem } from '../../../../src/base/errors.js';
import { checkModel, inspectModel } from '../../../../src/models/local/engine/inspect.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { buildGraph } from '../../../../src/models/local/generation/engine.js';
import { createLocalModel } from '../../../../src/models/local/process/local-model.js';
import { localSchema } from '../../../../src/models/local/settings.js';
import { openTokenizer } from '../../../../src/models/local/tokens/tokenizer.js';
import { openGguf } from '../../../../src/models/local/weights/gguf.js';
import { blockTypes } from '../../../../src/models/local/weights/gguf-blocks.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { readRows } from '../../../../src/models/local/weights/rows.js';
import { largestDifference } from '../../../finetune/reference-training.js';
import { lastLogits } from '../../../support/last-logits.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { readReference, referenceDirectory, referenceModels } from '../fixture.js';
import { ggufBytes, type TestTensor, text, tokenizerMetadata, writeTestGguf } from './gguf-writer.js';
import { architectureMetadata, asDirectory, decoderTensors, hidden, randomTensor } from './random-gguf.js';

const folder = temporaryDirectory();
let files = 0;
const newFile = () => path.join(folder, `${files++}.gguf`);

const golden = JSON.parse(
  readFileSync(new URL('../../../fixtures/gguf/blocks.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, { readonly bytes: string; readonly values: string }>>;

const packedTypes = blockTypes.filter(({ packing }) => packing !== undefined);

describe('blocks', () => {
  it.each(packedTypes.map(({ dtype }) => dtype))(
    'of type %s decode to the values that the Python package gguf reads',
    (dtype) => {
      const bytes = Buffer.from(golden[dtype]!.bytes, 'base64');
      const values = Buffer.from(golden[dtype]!.values, 'base64');
      const expected = new Float32Array(new Uint8Array(values).buffer);
      const file = writeTestGguf(newFile(), {}, [
        { name: 't', shape: [3, expected.length / 3], dtype, bytes },
      ]);
      const read = readRows(openGguf(file).tensors.get('t')!);
      const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      for (let i = 0; i < expected.length; i++)
        expect(Math.abs(read[i]! - expected[i]!)).toBeLessThanOrEqual(largest * 3e-7);
    },
  );
});

describe.each(referenceModels)('%s written as GGUF', (name) => {
  const model = referenceDirectory(name);
  const reference = readReference(name);

  it.each([
    ['F32', 1e-5],
    ['BF16', name === 'llama-untied-fp32' || name === 'qwen3-fp32' ? 0.02 : 1e-5],
    ['F16', 0.002],
    ['Q8_0', 0.05],
  ] as const)('with %s tensors keeps the prompt, and nearly keeps the logits', async (type, tolerance) => {
    const file = newFile();
    await writeGguf(model, undefined, file, type satisfies GgufTensorType);
    const tokenizer = openTokenizer(file);
    expect(tokenizer.encodePrompt(reference.messages)).toEqual(reference.prompt_ids);
    expect(tokenizer.promptText(reference.messages)).toBe(reference.prompt_text);
    const logits = await lastLogits(file, reference.prompt_ids);
    const spread = Math.max(...reference.last_logits) - Math.min(...reference.last_logits);
    expect(largestDifference(logits, reference.last_logits)).toBeLessThan(spread * tolerance);
    expect(inspectModel(file)).toMatchObject({ problems: [], tokenizer: { system: 'rendered' } });
  });
});

describe('GGUF models', () => {
  const ids = [1, 104, 20, 33, 250, 7, 7, 91, 12, 200, 3];

  it.each(packedTypes.map(({ dtype }) => dtype))(
    'with %s blocks give logits close to those in float32',
    async (dtype) => {
      const tensors = decoderTensors(dtype, dtype === 'Q4_K' ? 'Q6_K' : undefined);
      const file = writeTestGguf(newFile(), { ...architectureMetadata(), ...tokenizerMetadata() }, tensors);
      const exact = await lastLogits(asDirectory(file, path.join(folder, `directory-${files++}`)), ids);
      const spread = Math.max(...exact) - Math.min(...exact);
      expect(largestDifference(await lastLogits(file, ids, { quantization: 'float32' }), exact)).toBeLessThan(
        spread * 1e-5,
      );
      expect(largestDifference(await lastLogits(file, ids), exact)).toBeLessThan(spread * 0.05);
    },
  );

  it('with an unknown key are rejected unless that key is ignored', () => {
    const metadata = { ...architectureMetadata(), ...tokenizerMetadata() };
    const key = 'llama.some.new_key';
    const file = writeTestGguf(
      newFile(),
      { ...metadata, [key]: ggufValue.float32(2) },
      decoderTensors('Q4_0'),
    );
    expect(() => checkModel(file)).toThrow(/some\.new_key.*unknown key[\s\S]*model\.ignoreKeys/);
    expect(() => checkModel(file, [key])).not.toThrow();
    expect(inspectModel(file, [key]).problems).toEqual([]);
  });

  it.each([
    ['none', /, Q4_K, Q6_K weights, /],
    ['float32', /, float32 weights, /],
  ] as const)(
    'report the type of their weights with model.quantization %s',
    async (quantization, expected) => {
      const file = writeTestGguf(
        newFile(),
        { ...architectureMetadata(), ...tokenizerMetadata() },
        decoderTensors('Q4_K', 'Q6_K'),
      );
      const settings = { provider: 'local', path: file, device: 'cpu', threads: 1, quantization };
      const model = createLocalModel(localSchema.parse(settings));
      try {
        expect(await model.open?.()).toMatch(expected);
      } finally {
        await model.close?.();
      }
    },
  );

  it("with quantised weights can't be quantised again", () => {
    const file = writeTestGguf(
      newFile(),
      { ...architectureMetadata(), ...tokenizerMetadata() },
      decoderTensors('Q4_0'),
    );
    const rounding = () =>
      buildGraph({ path: file, quantization: 'int4' }, readDecoderConfig(file), openWeights(file));
    expect(rounding).toThrow(/model\.quantization: .*already quantised \(Q4_0\)/);
  });
});

describe('invalid GGUF files', () => {
  const metadata = { ...architectureMetadata(), ...tokenizerMetadata() };
  const tensors = decoderTensors('Q4_0');
  const good = ggufBytes(metadata, tensors);
  const without = (key: string) => {
    const { [key]: _, ...rest } = metadata;
    return rest;
  };
  const value = (key: string, changed: Buffer) => ggufBytes({ ...metadata, [key]: changed }, tensors);
  const patched = (change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(good);
    change(bytes);
    return bytes;
  };
  const first = tensors[0]!;
  const withFirst = (changed: Partial<TestTensor>) =>
    ggufBytes(metadata, [{ ...first, ...changed }, ...tensors.slice(1)]);
  const infoOf = (name: string) => good.indexOf(text(name)) + text(name).length;
  const huge = 2n ** 60n;

  const wrong: Readonly<Record<string, readonly [bytes: Buffer, message: RegExp]>> = {
    empty: [Buffer.alloc(0), /begins with "", not with "GGUF"/],
    'three bytes': [good.subarray(0, 3), /begins with ""/],
    'only the magic': [good.subarray(0, 4), /ends within its header/],
    'a Git LFS pointer': [
      Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:1\n'),
      /begins with "vers"/,
    ],
    'an older format': [Buffer.from('ggjt\u0003\0\0\0'), /begins with "ggjt"/],
    'big-endian': [patched((bytes) => bytes.swap32().write('GGUF')), /little-endian/],
    'version 1': [ggufBytes(metadata, tensors, { version: 1 }), /version is 1/],
    'version 99': [ggufBytes(metadata, tensors, { version: 99 }), /version is 99/],
    '1e9 tensors': [ggufBytes(metadata, tensors, { tensors: 1_000_000_000 }), /declares 1000000000 tensors/],
    '2^60 tensors': [ggufBytes(metadata, tensors, { tensors: huge }), /declares .* tensors/],
    '2^60 pairs': [ggufBytes(metadata, tensors, { pairs: huge }), /declares .* pairs/],
    'a tensor count that is too high': [ggufBytes(metadata, tensors, { tensors: 40 }), /GGUF file/],
    'cut off in the metadata': [good.subarray(0, 300), /GGUF file: it (ends|declares)/],
    'cut off in the tensor infos': [good.subarray(0, infoOf('blk.0.ffn_up.weight')), /GGUF file/],
    'cut off in the data': [good.subarray(0, good.length - 4096), /reaches beyond the end of the file/],
    'a huge text': [patched((bytes) => bytes.writeBigUInt64LE(huge, 24)), /declares .* bytes of text/],
    'a huge array': [
      value(
        'tokenizer.ggml.scores',
        Buffer.concat([Buffer.from([9, 0, 0, 0, 6, 0, 0, 0]), Buffer.from(BigUint64Array.of(huge).buffer)]),
      ),
      /declares .* values of "tokenizer\.ggml\.scores"/,
    ],
    'arrays of arrays': [
      value('general.x', Buffer.from([9, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])),
      /unknown type 9/,
    ],
    'an unknown kind of value': [value('general.x', Buffer.from([77, 0, 0, 0])), /unknown type 77/],
    'an unknown tensor type': [
      withFirst({ dtype: '99' }),
      /token_embd.*tensors of this type are not supported[\s\S]*99/,
    ],
    'no dimensions': [patched((bytes) => bytes.writeUInt32LE(0, infoOf(first.name))), /0 dimensions/],
    'a thousand dimensions': [
      patched((bytes) => bytes.writeUInt32LE(1000, infoOf(first.name))),
      /1000 dimensions/,
    ],
    'a huge dimension': [
      patched((bytes) => bytes.writeBigUInt64LE(huge, infoOf(first.name) + 12)),
      /beyond the end of the file/,
    ],
    'rows with a partial block': [
      patched((bytes) => bytes.writeBigUInt64LE(250n, infoOf(first.name) + 4)),
      /not a multiple of 32/,
    ],
    'a tensor outside the file': [
      patched((bytes) => bytes.writeBigUInt64LE(huge, infoOf(first.name) + 24)),
      /beyond the end/,
    ],
    'overlapping tensors': [
      patched((bytes) => bytes.writeBigUInt64LE(32n, infoOf('blk.0.attn_norm.weight') + 16)),
      /overlaps another/,
    ],
    'unaligned tensors': [
      patched((bytes) => bytes.writeBigUInt64LE(7n, infoOf('blk.0.attn_norm.weight') + 16)),
      /is not aligned/,
    ],
    'a duplicate tensor': [ggufBytes(metadata, [...tensors, first]), /token_embd\.weight" twice/],
    'an invalid alignment': [value('general.alignment', ggufValue.uint32(0)), /general\.alignment is 0/],
    'no architecture': [ggufBytes(without('general.architecture'), tensors), /general\.architecture/],
    'an unsupported architecture': [
      value('general.architecture', ggufValue.string('mamba')),
      /general\.architecture.*not supported[\s\S]*mamba/,
    ],
    'no layer count': [ggufBytes(without('llama.block_count'), tensors), /llama\.block_count.*is missing/],
    'an unknown key': [value('llama.expert_count', ggufValue.uint32(8)), /llama\.expert_count.*unknown key/],
    'no tokenizer': [
      ggufBytes(without('tokenizer.ggml.model'), tensors),
      /tokenizer\.ggml\.model: this tokenizer/,
    ],
    'no tokens': [ggufBytes(without('tokenizer.ggml.tokens'), tensors), /tokenizer\.ggml\.tokens: must be/],
    'an unknown pre-tokenizer': [
      value('tokenizer.ggml.pre', ggufValue.string('constructor')),
      /tokenizer\.ggml\.pre[\s\S]*constructor/,
    ],
    'a huge chat template': [
      value('tokenizer.chat_template', ggufValue.string('x'.repeat(2 ** 20 + 1))),
      /no chat template/,
    ],
    'no chat template': [ggufBytes(without('tokenizer.chat_template'), tensors), /no chat template/],
    'a missing tensor': [
      ggufBytes(
        metadata,
        tensors.filter(({ name }) => !name.includes('ffn_up')),
      ),
      /model\.layers\.0\.mlp\.up_proj/,
    ],
    'a tensor with the wrong width': [
      ggufBytes(
        metadata,
        tensors.map((one) => (one.name.includes('attn_k') ? { ...one, shape: [256, 128] } : one)),
      ),
      /this tensor doesn't have the shape/,
    ],
    'an unknown tensor': [
      ggufBytes(metadata, [...tensors, randomTensor('blk.0.ssm_a.weight', [hidden], 'F32')]),
      /ssm_a.*unknown tensor/,
    ],
  };

  it.each(Object.entries(wrong))(
    'give a short, clear error and take little memory: %s',
    (_, [bytes, message]) => {
      const file = newFile();
      writeFileSync(file, bytes);
      const before = process.memoryUsage().rss;
      const { problems } = inspectModel(file);
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.map(formatProblem).join('\n')).toMatch(message);
      expect(JSON.stringify(problems).length).toBeLessThan(4000);
      expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
    },
  );

  it('include a split with a missing part, which the error names, but not a complete split', () => {
    const parts = [tensors.slice(0, 6), tensors.slice(6)].map((some, index) => {
      const file = path.join(folder, `split-0000${index + 1}-of-00002.gguf`);
      const own = { 'split.count': Buffer.from([2, 0, 0, 0, 2, 0]), ...(index === 0 ? metadata : {}) };
      writeFileSync(file, ggufBytes(own, some));
      return file;
    });
    expect(inspectModel(parts[0]!).problems).toEqual([]);
    expect(() => openGguf(parts[1]!)).toThrow(/lacks the metadata[\s\S]*use the first/);
    const alone = path.join(folder, 'lonely-00001-of-00002.gguf');
    copyFileSync(parts[0]!, alone);
    expect(() => openGguf(alone)).toThrow(/part lonely-00002-of-00002\.gguf is missing/);
  });
});
