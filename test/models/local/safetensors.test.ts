import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { readSafetensors, readTensorBytes } from '../../../src/models/local/weights/safetensors.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { referenceDirectory } from './fixture.js';

let directory: string;
beforeAll(() => {
  directory = temporaryDirectory();
});

function safetensors(header: object, data: Uint8Array): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, data]);
}

const two = { dtype: 'F32', shape: [2], data_offsets: [0, 8] };

test('the bytes of a tensor are read from where the header places them', () => {
  const file = path.join(directory, 'a.safetensors');
  writeFileSync(
    file,
    safetensors({ __metadata__: { format: 'pt' }, w: two }, new Uint8Array(Float32Array.of(1.5, -2).buffer)),
  );
  const { tensors, metadata } = readSafetensors(file);
  expect(metadata).toEqual({ format: 'pt' });
  const [w] = tensors;
  expect(w).toMatchObject({ name: 'w', dtype: 'F32', shape: [2], length: 8 });
  const bytes = readTensorBytes(w!);
  expect([bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([1.5, -2]);
  expect(readTensorBytes(w!, 4, 4).readFloatLE()).toBe(-2);
});

test('shards are found through the index', () => {
  const tensors = openWeights(referenceDirectory('qwen2-tied-bf16-sharded'));
  expect(new Set([...tensors.values()].map((tensor) => path.basename(tensor.file))).size).toBe(4);
  expect(tensors.get('model.embed_tokens.weight')).toMatchObject({ dtype: 'BF16', shape: [512, 64] });
});

test('a symbolic link is followed to its file', () => {
  const blobs = path.join(directory, 'blobs');
  const snapshot = path.join(directory, 'snapshot');
  mkdirSync(blobs);
  mkdirSync(snapshot);
  writeFileSync(path.join(blobs, 'abc'), safetensors({ w: two }, new Uint8Array(8)));
  symlinkSync('../blobs/abc', path.join(snapshot, 'model.safetensors'));
  expect(openWeights(snapshot).get('w')?.file).toMatch(/blobs[/\\]abc$/);
});

test.each([
  ['a Git LFS pointer', Buffer.from('version https://git-lfs.github.com/spec/v1\n'), /header is cut off/],
  ['an empty file', Buffer.alloc(0), /header is cut off/],
  ['a truncated download', safetensors({ w: two }, new Uint8Array(4)), /beyond the end/],
  ['a shape that is too large', safetensors({ w: { ...two, shape: [3] } }, new Uint8Array(8)), /requires 12/],
  [
    'a header that is not JSON',
    Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{x')]),
    /not JSON/,
  ],
])('%s is rejected with a reason', (_, bytes, reason) => {
  const file = path.join(directory, 'bad.safetensors');
  writeFileSync(file, bytes);
  expect(() => readSafetensors(file)).toThrow(reason);
});

test('an error names an unsupported format and a missing shard', () => {
  const other = path.join(directory, 'other');
  mkdirSync(other);
  writeFileSync(path.join(other, 'pytorch_model.bin'), '');
  expect(() => openWeights(other)).toThrow(/only pytorch_model.bin/);
  writeFileSync(
    path.join(other, 'model.safetensors.index.json'),
    JSON.stringify({ weight_map: { w: 'model-00001-of-00001.safetensors' } }),
  );
  expect(() => openWeights(other)).toThrow(/shard model-00001-of-00001.safetensors is missing/);
});
