/** Frozen matrices in int8 with one scale per row, computed on first use and cached (see `ensureCachedFile`). */
import { multipliedMatrices } from '../../src/models/local/graph/packed-parameters.js';
import {
  type PackedMatrix,
  type PackedWeights,
  readPackedRows,
} from '../../src/models/local/graph/packed-weights.js';
import { ensureCachedFile } from '../../src/models/local/graph/weight-cache.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { quantizeRows } from '../../src/models/local/weights/quantization.js';
import { readRows } from '../../src/models/local/weights/rows.js';
import {
  readSafetensors,
  type StoredTensor,
  type StoredTensors,
} from '../../src/models/local/weights/safetensors.js';
import { type Int8Weights, rotateRows } from './int8-product.js';
import { type TensorToWrite, tensorOf, writeSafetensors } from './safetensors-writer.js';

/** Increase this if the same weights get different codes after a change to this file. */
const formatVersion = 2;

/** @param quantized matrices that were quantized before (QLoRA), to convert instead of the model's own */
export function loadInt8Weights(
  model: string,
  config: DecoderConfig,
  base: StoredTensors,
  quantized: PackedWeights | undefined,
): Int8Weights {
  const matrices = multipliedMatrices(config, base);
  const packedMatrix = (tensor: StoredTensor) => quantized?.matrices.get(tensor.name);
  const sources = matrices.flatMap((tensor) => partsOf(packedMatrix(tensor)) ?? [tensor]);
  const bytes = matrices.reduce((sum, { shape }) => sum + shape[0]! * (shape[1]! + 4), 0);
  const encode = (tensor: StoredTensor) => encodeTensor(tensor, packedMatrix(tensor));
  const file = ensureCachedFile(model, 'int8-rows', formatVersion, sources, bytes, (path) =>
    writeSafetensors(path, matrices.flatMap(encode)),
  );
  const tensorsByName = new Map(readSafetensors(file).tensors.map((tensor) => [tensor.name, tensor]));
  return new Map(
    matrices.map(({ name }) => [
      name,
      { codes: tensorsByName.get(codesName(name))!, scales: tensorsByName.get(scalesName(name))! },
    ]),
  );
}

const codesName = (name: string) => `${name}.int8`;
const scalesName = (name: string) => `${name}.int8_scales`;

const partsOf = (matrix: PackedMatrix | undefined): readonly StoredTensor[] | undefined =>
  matrix && [matrix.codes, matrix.scales, ...(matrix.offsets ? [matrix.offsets] : [])];

/** Approximate number of weights read and rounded at a time. */
const chunkWeights = 1 << 22;

function encodeTensor(tensor: StoredTensor, packed: PackedMatrix | undefined): readonly TensorToWrite[] {
  const [rows, columns] = tensor.shape as [number, number];
  const scales = new Float32Array(rows);
  // A transposed matrix can only be read as a whole.
  const step = tensor.transposed ? rows : Math.max(1, Math.floor(chunkWeights / columns));
  function* chunks() {
    for (let row = 0; row < rows; row += step) {
      const count = Math.min(step, rows - row);
      const values = packed === undefined ? readRows(tensor, row, count) : readPackedRows(packed, row, count);
      rotateRows(values, columns);
      const quantized = quantizeRows(values, columns, { bits: 8, block: columns });
      scales.set(quantized.scales, row);
      // Converts unsigned codes, centred on 128, to signed codes.
      yield quantized.codes.map((code) => code ^ 0x80);
    }
  }
  const codes = { name: codesName(tensor.name), shape: [rows, columns], dtype: 'I8' };
  return [
    { ...codes, byteLength: rows * columns, chunks },
    tensorOf({ name: scalesName(tensor.name), shape: [rows] }, scales),
  ];
}
