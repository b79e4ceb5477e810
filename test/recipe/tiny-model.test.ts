import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { tinyShape, writeTinyModel } from '../../models/tiny-improver/recipe/initial-model.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { decoderTensors, requireTensor } from '../../src/models/local/graph/parameters.js';
import { type ChatTokenizer, openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { temporaryDirectory } from '../support/experiments.js';

const directory = temporaryDirectory();
let tokenizer: ChatTokenizer;
beforeAll(() => {
  writeTinyModel(directory);
  tokenizer = openTokenizer(directory);
});

const texts = (text: string) => tokenizer.encodeText(text).map((id) => tokenizer.decode([id]));

describe('the tiny model', () => {
  it('encodes each of its 64 keys, and each number of its grid, as one token', () => {
    expect(texts('params[0]: 0.0')).toEqual(['params[0]:', ' 0.0']);
    for (let i = 0; i < 64; i++) {
      const value = (((i * 19) % 121) / 10 - 6).toFixed(1).replace('-0.0', '0.0');
      const pieces = texts(`${i} params[${i}]: ${value}, params[${i}]: ${i}`);
      expect(pieces).toEqual([String(i), ` params[${i}]:`, ` ${value}`, `, params[${i}]:`, ` ${i}`]);
    }
    expect(texts('tried 40 stale 3\nrecent\nbest\nnext')).toHaveLength(10);
  });

  it('round-trips other text, and leaves the system message out of prompts', () => {
    const text = 'Grüße, params[64]: 1.25\t{"a": -7}';
    expect(tokenizer.decode(tokenizer.encodeText(text))).toBe(text);
    expect(
      tokenizer.promptText([
        { role: 'system', content: 'rules' },
        { role: 'user', content: 'next' },
      ]),
    ).toBe('<|user|>next<|assistant|>');
    expect(readDecoderConfig(directory).vocabulary).toBe(tokenizer.largestId + 1);
    expect(tokenizer.largestId).toBeLessThan(750);
  });

  it('starts with embeddings of about equal norm that are similar for neighbouring numbers and for similar keys', () => {
    const { hidden } = readDecoderConfig(directory);
    const tensor = requireTensor(openWeights(directory), 'model.embed_tokens.weight');
    const values = toFloat32(readTensorBytes(tensor), tensor.dtype);
    const row = (text: string) => {
      const [id, ...rest] = tokenizer.encodeText(text);
      expect(rest).toEqual([]);
      return values.subarray(id! * hidden, (id! + 1) * hidden);
    };
    const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, j) => sum + x * b[j]!, 0);
    const likeness = (a: string, b: string) => dot(row(a), row(b));
    const expected = hidden * 0.05 ** 2;
    for (const word of [' 1.2', ' -6.0', ' 100', '7', ', params[63]:', ' params[1]:', 'next', 'z'])
      expect(Math.abs(likeness(word, word) / expected - 1), word).toBeLessThan(0.25);
    expect(likeness(' 1.2', ' 1.3')).toBeGreaterThan(likeness(' 1.2', ' -1.2'));
    expect(likeness(' 40', ' 41')).toBeGreaterThan(likeness(' 40', ' 70'));
    expect(likeness(' params[3]:', ', params[3]:')).toBeGreaterThan(likeness(' params[3]:', ', params[4]:'));
    // Numbers of equal value differ by their spelling only, by the same each time.
    const difference = (a: string, b: string) => row(a).map((x, j) => x - row(b)[j]!);
    const [small, large] = [difference(' 0.0', ' 0'), difference(' 5.0', ' 5')];
    for (const [j, x] of small.entries()) expect(x).toBeCloseTo(large[j]!, 6);
  });

  it('supports other shapes, and is the same for the same seed', () => {
    const write = (seed: number) => {
      const other = temporaryDirectory();
      writeTinyModel(other, { ...tinyShape, layers: 2, hidden: 64, heads: 2, intermediate: 96 }, seed);
      return other;
    };
    const [first, again, another] = [write(1), write(1), write(2)];
    const weights = (folder: string) => readFileSync(path.join(folder, 'model.safetensors'));
    expect(weights(first).equals(weights(again))).toBe(true);
    expect(weights(first).equals(weights(another))).toBe(false);
    const config = readDecoderConfig(first);
    const stored = openWeights(first);
    for (const { name, shape } of decoderTensors(config))
      expect(requireTensor(stored, name).shape).toEqual(shape);
  });
});
