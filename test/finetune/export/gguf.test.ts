import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gguf } from '@huggingface/gguf';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GgufTensorType } from '../../../finetune/export/gguf/format.js';
import { writeGguf } from '../../../finetune/export/gguf/gguf.js';
import { mergeAdapter } from '../../../finetune/export/merged/merge.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../../src/models/local/graph/adapter.js';
import { ropeFrequencies } from '../../../src/models/local/graph/rotation.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../../src/models/local/weights/safetensors.js';
import {
  byteFallbackModel,
  readReference,
  referenceDirectory,
  referenceModels,
} from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { largestDifference } from '../reference-training.js';

const folder = temporaryDirectory();

let files = 0;
async function write(model: string, type: GgufTensorType = 'F32', adapter?: string): Promise<string> {
  const file = path.join(folder, `${files++}.gguf`);
  const merged = adapter === undefined ? undefined : openAdapter(adapter, readDecoderConfig(model));
  await writeGguf(model, merged, file, type);
  return file;
}

/** The contents of a file, according to another reader of the format. */
async function read(file: string) {
  const { metadata, tensorInfos, tensorDataOffset } = await gguf(file, { allowLocalFile: true });
  const bytes = readFileSync(file);
  const tensor = (name: string) => {
    const info = tensorInfos.find((one) => one.name === name);
    if (info === undefined) throw new Error(`no tensor ${name}`);
    const start = Number(tensorDataOffset + info.offset);
    const elements = info.shape.reduce((product, size) => product * Number(size), 1);
    return {
      info,
      shape: info.shape.map(Number).reverse(),
      values: toFloat32(bytes.subarray(start, start + 4 * elements), 'F32'),
    };
  };
  return { metadata: metadata as unknown as Readonly<Record<string, unknown>>, tensorInfos, tensor };
}

function stored(model: string, name: string): Float32Array {
  const tensor = openWeights(model).get(name)!;
  return toFloat32(readTensorBytes(tensor), tensor.dtype);
}

interface TokenizerJson {
  pre_tokenizer: unknown;
  post_processor: unknown;
  model: { ignore_merges: boolean };
}

/** A copy of a model whose tokenizer.json is changed. */
function withTokenizer(change: (json: TokenizerJson) => unknown): string {
  const directory = path.join(folder, `model-${files++}`);
  cpSync(referenceDirectory('qwen3-fp32'), directory, { recursive: true });
  const file = path.join(directory, 'tokenizer.json');
  const json = JSON.parse(readFileSync(file, 'utf8')) as TokenizerJson;
  change(json);
  writeFileSync(file, JSON.stringify(json));
  return directory;
}

describe.each(referenceModels)('%s as GGUF', (name) => {
  const model = referenceDirectory(name);
  const config = readDecoderConfig(model);
  let file: Awaited<ReturnType<typeof read>>;
  beforeAll(async () => {
    file = await read(await write(model));
  });

  it('contains the tokenizer and the chat template', () => {
    const json = JSON.parse(readFileSync(path.join(model, 'tokenizer.json'), 'utf8')) as {
      model: { vocab: Record<string, number>; merges: string[][] };
    };
    const tokens = file.metadata['tokenizer.ggml.tokens'] as string[];
    expect(Object.entries(json.model.vocab).filter(([token, id]) => tokens[id] !== token)).toEqual([]);
    expect(file.metadata['tokenizer.ggml.merges']).toEqual(json.model.merges.map((pair) => pair.join(' ')));
    expect((file.metadata['tokenizer.ggml.token_type'] as number[]).slice(0, 4)).toEqual([3, 3, 3, 1]);
    expect(file.metadata).toMatchObject({
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'gpt-2',
      'tokenizer.ggml.bos_token_id': 0,
      'tokenizer.ggml.eos_token_id': 2,
      'tokenizer.ggml.add_bos_token': false,
      'tokenizer.chat_template': readFileSync(path.join(model, 'chat_template.jinja'), 'utf8'),
    });
  });

  it('contains the weights, with an output layer only if it is untied', () => {
    expect(file.tensor('token_embd.weight')).toMatchObject({
      shape: [512, 64],
      values: stored(model, 'model.embed_tokens.weight'),
    });
    expect(file.tensor('blk.2.ffn_down.weight')).toMatchObject({
      shape: [64, 160],
      values: stored(model, 'model.layers.2.mlp.down_proj.weight'),
    });
    const outputs = file.tensorInfos.filter((tensor) => tensor.name === 'output.weight');
    expect(outputs).toHaveLength(config.tied ? 0 : 1);
  });
});

describe('writeGguf', () => {
  const model = referenceDirectory('llama3-rope-bf16');

  it('merges an adapter with the same result as mergeAdapter', async () => {
    const adapter = path.join(model, 'adapter-after-12-steps');
    const merged = path.join(folder, 'merged');
    await mergeAdapter(model, openAdapter(adapter, readDecoderConfig(model)), merged, 'f32');
    const [inOne, inTwo] = [await write(model, 'F16', adapter), await write(merged, 'F16')];
    const data = async (file: string) => {
      const { tensorDataOffset } = await gguf(file, { allowLocalFile: true });
      return readFileSync(file).subarray(Number(tensorDataOffset));
    };
    expect((await data(inOne)).equals(await data(inTwo))).toBe(true);
    expect((await data(inOne)).equals(await data(await write(model, 'F16')))).toBe(false);
  });

  it("converts Llama 3's rotary scaling to divisors of the frequencies", async () => {
    const rope = readDecoderConfig(model).layers[0]!.rope!;
    const { values } = (await read(await write(model))).tensor('rope_freqs.weight');
    const plain = ropeFrequencies({ theta: rope.theta, scaling: 'none' }, 16);
    const scaled = ropeFrequencies(rope, 16);
    expect(
      largestDifference(
        plain.map((frequency, i) => frequency / values[i]!),
        scaled,
      ),
    ).toBeLessThan(1e-7);
    expect([values[0], values.at(-1)]).toEqual([1, 8]);
  });

  it.each([
    ['F16', 1, 2],
    ['BF16', 30, 2],
    ['Q8_0', 8, 34 / 32],
  ] as const)('uses %s for matrices and float32 for vectors', async (type, number, width) => {
    const { tensorInfos, tensor } = await read(await write(model, type));
    for (const { name, dtype } of tensorInfos)
      expect(dtype, name).toBe(/norm|rope_freqs/.test(name) ? 0 : number);
    const [first, second] = [tensor('token_embd.weight').info, tensorInfos[2]!];
    expect(Number(second.offset - first.offset)).toBe(512 * 64 * width);
  });

  it('rejects weights that are too large for float16', async () => {
    const directory = path.join(folder, 'large');
    cpSync(referenceDirectory('qwen3-fp32'), directory, { recursive: true });
    const weights = path.join(directory, 'model.safetensors');
    const { file: _, offset } = openWeights(directory).get('model.embed_tokens.weight')!;
    const bytes = readFileSync(weights);
    bytes.writeFloatLE(70_000, offset);
    writeFileSync(weights, bytes);
    await expect(write(directory, 'F16')).rejects.toThrow(
      /embed_tokens[\s\S]*too large for float16[\s\S]*--dtype f32/,
    );
    await expect(write(directory, 'BF16')).resolves.toMatch(/gguf$/);
  });
});

describe('tokenizers', () => {
  const split = (pattern: string) => ({
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
      { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
    ],
  });
  const pattern = (digits: string) =>
    `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
  const metadataOf = async (model: string) => (await read(await write(model))).metadata;

  it.each([
    ['qwen2', split(pattern('\\p{N}')), false],
    ['llama-bpe', split(pattern('\\p{N}{1,3}')), true],
    ['smaug-bpe', split(pattern('\\p{N}{1,3}')), false],
    [
      'smollm',
      {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Digits', individual_digits: true },
          { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
        ],
      },
      false,
    ],
  ])('are recognised by their rules: %s', async (name, preTokenizer, ignoreMerges) => {
    const model = withTokenizer((json) => {
      json.pre_tokenizer = preTokenizer;
      json.model.ignore_merges = ignoreMerges;
    });
    expect((await metadataOf(model))['tokenizer.ggml.pre']).toBe(name);
  });

  it('with rules that llama.cpp may not support are rejected', async () => {
    const model = withTokenizer((json) => {
      json.pre_tokenizer = split('\\p{L}+|\\p{N}+');
    });
    await expect(write(model)).rejects.toThrow(/pre_tokenizer[\s\S]*one of: gpt-2[\s\S]*qwen2/);
  });

  it('that begin a text with BOS set add_bos_token', async () => {
    const model = withTokenizer((json) => {
      json.post_processor = {
        type: 'TemplateProcessing',
        single: [
          { SpecialToken: { id: '<|endoftext|>', type_id: 0 } },
          { Sequence: { id: 'A', type_id: 0 } },
        ],
        pair: [],
        special_tokens: {},
      };
    });
    expect(await metadataOf(model)).toMatchObject({
      'tokenizer.ggml.add_bos_token': true,
      'tokenizer.ggml.add_eos_token': false,
    });
  });

  it('of the SentencePiece kind have the scores of tokenizer.model, byte tokens and padding for unused rows', async () => {
    const model = byteFallbackModel();
    await expect(write(model)).rejects.toThrow(/tokenizer\.model: is missing/);
    const piece = (text: string, score: number) => {
      const number = Buffer.alloc(4);
      number.writeFloatLE(score);
      const inner = Buffer.concat([
        Buffer.of(0x0a, Buffer.byteLength(text)),
        Buffer.from(text),
        Buffer.of(0x15),
        number,
      ]);
      return Buffer.concat([Buffer.of(0x0a, inner.length), inner]);
    };
    writeFileSync(path.join(model, 'tokenizer.model'), Buffer.concat([piece('i', -4.5), piece('h', -7)]));
    const metadata = await metadataOf(model);
    const scores = metadata['tokenizer.ggml.scores'] as number[];
    const kinds = metadata['tokenizer.ggml.token_type'] as number[];
    const tokens = metadata['tokenizer.ggml.tokens'] as string[];
    expect(['i', 'h', '<0x0A>'].map((token) => scores[tokens.indexOf(token)])).toEqual([-4.5, -7, -1000]);
    expect(kinds[tokens.indexOf('<0x0A>')]).toBe(6);
    expect([tokens[511], kinds[511]]).toEqual(['[PAD511]', 5]);
    expect(metadata).toMatchObject({
      'tokenizer.ggml.model': 'llama',
      'tokenizer.ggml.add_space_prefix': true,
    });
  });
});

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const hasTransformers = spawnSync(python, ['-c', 'import torch, transformers, gguf']).status === 0;

describe.skipIf(!hasTransformers)('Python (torch, transformers and gguf: POLICYLOOP_PYTHON)', () => {
  it('reads our files: same logits and tokens in Transformers, same tensors in gguf', async () => {
    // Transformers knows neither Llama 3's scaling nor Qwen3's head size from a GGUF file.
    const requests = await Promise.all(
      (['llama-untied-fp32', 'qwen2-tied-bf16-sharded'] as const).map(async (name) => {
        const model = referenceDirectory(name);
        const { prompt_ids: ids, prompt_text: text, last_logits: logits } = readReference(name);
        const [file, small] = [await write(model), await write(model, 'Q8_0')];
        return {
          name,
          model,
          logits,
          asked: { file, ids, text, logits: true },
          small: { file: small, exact: file, logits: false },
        };
      }),
    );
    const script = path.join(import.meta.dirname, '../gguf-logits.py');
    const asked = [...requests.map((one) => one.asked), ...requests.map((one) => one.small)];
    const output = execFileSync(python, [script, JSON.stringify(asked)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const answers = JSON.parse(output) as {
      logits: number[];
      ids: number[];
      template: string;
      tensors: Record<string, { type: string; shape: number[]; equal?: boolean }>;
    }[];
    requests.forEach(({ model, logits, asked: { ids } }, i) => {
      const [answer, small] = [answers[i]!, answers[requests.length + i]!];
      expect(largestDifference(answer.logits, logits)).toBeLessThan(1e-4);
      expect(answer.ids).toEqual(ids);
      expect(answer.template).toBe(readFileSync(path.join(model, 'chat_template.jinja'), 'utf8'));
      expect(answer.tensors['blk.0.ffn_up.weight']).toMatchObject({ type: 'F32', shape: [160, 64] });
      expect(small.tensors['blk.0.ffn_up.weight']).toMatchObject({ type: 'Q8_0', shape: [160, 64] });
      // Tensors equal, bit for bit, those that the format's own library makes of the float32 file.
      expect(Object.values(small.tensors).filter(({ type }) => type === 'Q8_0')).toHaveLength(
        i === 0 ? 23 : 22,
      );
      expect(Object.entries(small.tensors).filter(([, { equal }]) => !equal)).toEqual([]);
    });
  }, 120_000);
});
