/** Quantised weights on disk: made on first use beside the model, or in the home directory where that is read-only. */
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { messageOf, UserError } from '../../../base/errors.js';
import { sum } from '../../../statistics/descriptive.js';
import type { DecoderConfig } from '../weights/hf-config.js';
import { type Bits, blockSize, quantizeRows, toFloat32 } from '../weights/quantization.js';
import {
  readSafetensors,
  readTensorBytes,
  type StoredTensor,
  type StoredTensors,
  sampledParts,
} from '../weights/safetensors.js';
import type { GraphBuilder, Value } from './graph.js';
import { decoderTensors, type ParameterSource, requireTensor } from './parameters.js';

/** Changes whenever the same weights would be quantised to other numbers. */
const formatVersion = 1;

export interface QuantizedWeights {
  readonly file: string;
  readonly bits: Bits;
  readonly tensors: StoredTensors;
  /** Root mean square of the errors over that of the weights. */
  readonly relativeError: number;
}

/** The quantised matrices of a model, from the cache or made now (seconds to minutes). */
export function quantizedWeights(
  directory: string,
  config: DecoderConfig,
  weights: StoredTensors,
  bits: Bits,
): QuantizedWeights {
  const matrices = matricesOf(config, weights);
  const name = `int${bits}-block${blockSize}-${fingerprint(matrices)}.safetensors`;
  const folders = [path.join(directory, '.policyloop'), path.join(homedir(), '.cache', 'policyloop')];
  const known = folders.map((folder) => path.join(folder, name)).find(isWhole);
  const file = known ?? path.join(writableFolder(folders), name);
  if (known === undefined) make(file, matrices, bits);
  const { tensors, metadata } = readSafetensors(file);
  return {
    file,
    bits,
    tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
    relativeError: Number(metadata.relativeError),
  };
}

/** All matrices that are multiplied with; the embedding only where it is the output layer too. */
function matricesOf(config: DecoderConfig, weights: StoredTensors): StoredTensor[] {
  return decoderTensors(config)
    .filter(({ name, shape }) => shape.length === 2 && (config.tied || name !== 'model.embed_tokens.weight'))
    .map(({ name }) => requireTensor(weights, name));
}

/** Hashes names, shapes and samples of every matrix, so that other weights of the same size and time are noticed. */
function fingerprint(matrices: readonly StoredTensor[]): string {
  const hash = createHash('sha256').update(`${formatVersion}`);
  for (const tensor of matrices) {
    hash.update(`\n${tensor.name} ${tensor.dtype} ${tensor.shape.join('x')} `);
    for (const [start, length] of sampledParts(tensor.length))
      hash.update(readTensorBytes(tensor, start, length));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Whether the cache holds the file in full; one that a crash or a full disk cut short is made anew. */
function isWhole(file: string): boolean {
  if (!existsSync(file)) return false;
  try {
    readSafetensors(file);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** @throws UserError when the file can't be written */
function make(file: string, matrices: readonly StoredTensor[], bits: Bits): void {
  try {
    write(file, matrices, bits);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const weights = sum(matrices.map(({ shape }) => shape[0]! * shape[1]!));
    throw new UserError({
      field: 'model.quantization',
      message: `the quantised weights can't be written to ${path.dirname(file)} (${String(error.code)})`,
      remedy: `make ${Math.ceil((weights * (bits / 8 + 0.125)) / 2 ** 20)} MB of room there, or make the directory writable`,
    });
  }
}

function writableFolder(folders: readonly string[]): string {
  for (const folder of folders.slice(0, -1)) {
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      // Tries the next one.
    }
  }
  const last = folders.at(-1)!;
  try {
    mkdirSync(last, { recursive: true });
  } catch (error) {
    throw new UserError({
      field: 'model.quantization',
      message: `there is no folder for the quantised weights (${messageOf(error)})`,
      alternatives: folders,
      remedy: 'make one of these folders writable',
    });
  }
  return last;
}

/** Bytes of a matrix that are read and quantised at once. */
const chunkBytes = 1 << 24;

/** Digits kept free in the header for the error, which is known last, while the header's length is fixed first. */
const errorDigits = 12;

function write(file: string, matrices: readonly StoredTensor[], bits: Bits): void {
  const layout = layoutOf(matrices, bits);
  const temporary = `${file}.${process.pid}.tmp`;
  const descriptor = openSync(temporary, 'w');
  try {
    const dataStart = headerOf(layout, 0).length;
    let squaredError = 0;
    let squaredWeight = 0;
    for (const { tensor, codes, scales } of layout) {
      const [rows, columns] = tensor.shape as [number, number];
      const rowBytes = tensor.length / rows;
      const step = Math.max(1, Math.floor(chunkBytes / rowBytes));
      for (let row = 0; row < rows; row += step) {
        const count = Math.min(step, rows - row);
        const part = toFloat32(readTensorBytes(tensor, row * rowBytes, count * rowBytes), tensor.dtype);
        const quantized = quantizeRows(part, columns, bits);
        const blocks = Math.ceil(columns / blockSize);
        writeAll(descriptor, quantized.codes, dataStart + codes + (row * blocks * blockSize * bits) / 8);
        const scaleBytes = new Uint8Array(quantized.scales.buffer);
        writeAll(descriptor, scaleBytes, dataStart + scales + row * blocks * 4);
        squaredError += quantized.squaredError;
        squaredWeight += quantized.squaredWeight;
      }
    }
    writeAll(descriptor, headerOf(layout, Math.sqrt(squaredError / squaredWeight)), 0);
    closeSync(descriptor);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

interface Placed {
  readonly tensor: StoredTensor;
  /** Offsets of codes and scales in the data part. */
  readonly codes: number;
  readonly scales: number;
  readonly end: number;
}

const codesName = (weight: string) => `${weight}.codes`;
const scalesName = (weight: string) => `${weight}.scales`;

function layoutOf(matrices: readonly StoredTensor[], bits: Bits): Placed[] {
  let end = 0;
  return matrices.map((tensor) => {
    const [rows, columns] = tensor.shape as [number, number];
    const blocks = rows * Math.ceil(columns / blockSize);
    const codes = end;
    const scales = codes + (blocks * blockSize * bits) / 8;
    end = scales + blocks * 4;
    return { tensor, codes, scales, end };
  });
}

function headerOf(layout: readonly Placed[], relativeError: number): Uint8Array {
  const entries = layout.flatMap(({ tensor, codes, scales, end }) => {
    const [rows, columns] = tensor.shape as [number, number];
    const blocks = Math.ceil(columns / blockSize);
    const codesShape = [rows, blocks, (scales - codes) / (rows * blocks)];
    return [
      [codesName(tensor.name), { dtype: 'U8', shape: codesShape, data_offsets: [codes, scales] }],
      [scalesName(tensor.name), { dtype: 'F32', shape: [rows, blocks], data_offsets: [scales, end] }],
    ];
  });
  const metadata = { relativeError: relativeError.toExponential(6).padStart(errorDigits + 2) };
  const text = Buffer.from(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text]);
}

function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  let written = 0;
  while (written < bytes.length)
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written);
}

/**
 * Multiplies with the quantised matrices and leaves all else to `exact`. Each product quantises its activations to 8
 * bits, block by block (accuracy level 4), which makes it fast.
 */
export function quantizedParameters(
  g: GraphBuilder,
  { tensors, bits }: QuantizedWeights,
  weights: StoredTensors,
  exact: ParameterSource,
): ParameterSource {
  return {
    ...exact,
    linear(module, x, bias): Value {
      const weight = `${module}.weight`;
      const [rows, columns] = requireTensor(weights, weight).shape as [number, number];
      const stored = [codesName(weight), scalesName(weight)].map((name) => g.stored(tensors.get(name)!));
      const attributes = { K: columns, N: rows, bits, block_size: blockSize, accuracy_level: 4 };
      const product = g.split('MatMulNBits', [x, ...stored], 1, attributes, 'com.microsoft')[0]!;
      return bias ? g.op('Add', [product, exact.vector(`${module}.bias`)]) : product;
    },
  };
}
