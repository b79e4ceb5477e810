/** Reads headers of safetensors files. The header's length (u64, little-endian) and JSON precede the tensor data. */
import { closeSync, existsSync, openSync, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { messageOf, UserError } from '../../../base/errors.js';
import { readJson } from '../../../base/files/files.js';
import { parseJson } from '../../../base/files/json-depth.js';
import { openRegularFile, readBytes, requireFileName } from '../../../base/files/regular-file.js';

export interface StoredTensor {
  readonly name: string;
  /** Name in the file's format: `F32`, `BF16`, `U8`, or a GGUF type such as `Q4_K`. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Absolute path with symbolic links resolved. */
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  /**
   * Rows per head, if the halves of each head are interleaved (llama.cpp's llama): row i of the first half is stored at
   * 2i, and row i of the second half at 2i + 1.
   */
  readonly interleaved?: number;
  /** Present if the file stores the matrix transposed (GPT-2 stores inputs first). */
  readonly transposed?: true;
}

export type StoredTensors = ReadonlyMap<string, StoredTensor>;

export interface SafetensorsFile {
  readonly tensors: readonly StoredTensor[];
  readonly metadata: Readonly<Record<string, string>>;
}

const bytesPerElement: Readonly<Record<string, number>> = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
};

/** Maximum size of a header in the format, in bytes. */
const maxHeaderBytes = 100_000_000;

/** Reads the tensors, in the header's order, and the metadata. @throws UserError if the file can't be used */
export function readSafetensors(file: string): SafetensorsFile {
  const realPath = realpathSync(file);
  const { descriptor, size } = openRegularFile(realPath);
  try {
    const prefix = readBytes(descriptor, 0, 8);
    const headerLength = prefix.length < 8 ? Number.NaN : Number(prefix.readBigUInt64LE());
    if (!(headerLength <= maxHeaderBytes && 8 + headerLength <= size))
      throw fileError(file, 'its header is cut off, or longer than 100 MB');
    const header = parseHeader(file, readBytes(descriptor, 8, headerLength).toString('utf8'));
    const dataStart = 8 + headerLength;
    const { __metadata__: metadata, ...entries } = header;
    const tensors = Object.entries(entries).map(([name, entry]) =>
      storedTensor(file, realPath, name, entry, dataStart, size),
    );
    rejectOverlaps(file, tensors);
    return { tensors, metadata: metadataSchema.safeParse(metadata).data ?? {} };
  } finally {
    closeSync(descriptor);
  }
}

const count = z.int().min(0);
const entrySchema = z.looseObject({
  dtype: z.string(),
  shape: z.array(count),
  data_offsets: z.tuple([count, count]),
});
const metadataSchema = z.record(z.string(), z.string());

function parseHeader(file: string, text: string): Record<string, unknown> {
  let header: unknown;
  try {
    header = parseJson(text);
  } catch (error) {
    throw fileError(file, `its header is not JSON (${messageOf(error)})`);
  }
  if (typeof header === 'object' && header !== null && !Array.isArray(header))
    return header as Record<string, unknown>;
  throw fileError(file, 'its header is not a table of tensors');
}

/** Rejects overlapping tensors: the format forbids them, and they let a small file declare any number of weights. */
function rejectOverlaps(file: string, tensors: readonly StoredTensor[]): void {
  let end = 0;
  for (const tensor of tensors.toSorted((a, b) => a.offset - b.offset)) {
    if (tensor.length > 0 && tensor.offset < end)
      throw fileError(file, `tensor ${tensor.name} overlaps another one`);
    end = Math.max(end, tensor.offset + tensor.length);
  }
}

function storedTensor(
  file: string,
  realPath: string,
  name: string,
  rawEntry: unknown,
  dataStart: number,
  size: number,
): StoredTensor {
  const { data: entry } = entrySchema.safeParse(rawEntry);
  if (entry === undefined || entry.data_offsets[0] > entry.data_offsets[1])
    throw fileError(file, `its header has no valid entry for the tensor ${name}`);
  const [begin, end] = entry.data_offsets;
  if (dataStart + end > size)
    throw fileError(file, `tensor ${name} reaches beyond the end of the file (an unfinished download?)`);
  const count = entry.shape.reduce((product, dimension) => product * dimension, 1);
  const width = bytesPerElement[entry.dtype];
  if (width !== undefined && count * width !== end - begin)
    throw fileError(file, `tensor ${name} has ${end - begin} bytes, but its shape requires ${count * width}`);
  const { dtype, shape } = entry;
  return { name, dtype, shape, file: realPath, offset: dataStart + begin, length: end - begin };
}

/** Reads the text model's tensors in `model.safetensors` or its shards. @throws UserError if they are unusable */
export function directoryWeights(directory: string): StoredTensors {
  const singleFile = path.join(directory, 'model.safetensors');
  if (existsSync(singleFile)) return textTensors(byName(readSafetensors(singleFile).tensors));
  const index = path.join(directory, 'model.safetensors.index.json');
  if (!existsSync(index)) throw noWeightsError(directory);
  const indexError = (message: string, place: { readonly field?: string } = {}) =>
    new UserError({ file: index, ...place, message, hint: 'download the whole model directory again' });
  const content = z.looseObject({ weight_map: z.record(z.string(), z.string()) }).safeParse(readJson(index));
  if (!content.success)
    throw indexError("this index doesn't state which shard contains which tensor", { field: 'weight_map' });
  const weightMap = Object.entries(content.data.weight_map);
  const shards = new Map<string, StoredTensors>();
  for (const shard of new Set(weightMap.map(([, file]) => file))) {
    const file = path.join(directory, requireFileName(shard, { file: index, field: 'weight_map' }));
    if (!existsSync(file)) throw indexError(`the shard ${shard} is missing`);
    shards.set(shard, byName(readSafetensors(file).tensors));
  }
  const allTensors = new Map(
    weightMap.map(([name, shard]) => {
      const tensor = shards.get(shard)!.get(name);
      if (tensor === undefined)
        throw indexError(`${shard} does not contain the tensor ${name}, which the index lists`);
      return [name, tensor] as const;
    }),
  );
  return textTensors(allTensors);
}

/** Returns a tensor's name in a text-only model; vision-language models put the text part under `language_model`. */
export const textOnlyName = (name: string): string =>
  name
    .replace(/^(?:language_model\.model|model\.language_model)\./, 'model.')
    .replace(/^language_model\.lm_head\./, 'lm_head.');

const transposedNames = /^(?:transformer\.)?h\.\d+\.(?:attn|mlp)\.c_\w+\.weight$/;

/** Gives GPT-2's tensors their full names, because some files omit the prefix, and marks transposed matrices. */
function translateGpt2(tensors: StoredTensors): StoredTensors {
  return byName(
    [...tensors.values()].map((tensor) => ({
      ...tensor,
      name: /^(?:transformer\.|lm_head\.)/.test(tensor.name) ? tensor.name : `transformer.${tensor.name}`,
      ...(transposedNames.test(tensor.name) && { shape: [...tensor.shape].reverse(), transposed: true }),
    })),
  );
}

/** Drops vision tensors, and gives the others the names that they have in a text-only model. */
function textTensors(tensors: StoredTensors): StoredTensors {
  if ([...tensors.keys()].some((name) => transposedNames.test(name))) return translateGpt2(tensors);
  if ([...tensors.keys()].every((name) => textOnlyName(name) === name)) return tensors;
  const remaining = [...tensors.values()].filter(
    ({ name }) => !/(^|\.)(vision_|visual\.|multi_modal_)/.test(name),
  );
  return byName(remaining.map((tensor) => ({ ...tensor, name: textOnlyName(tensor.name) })));
}

const byName = (tensors: readonly StoredTensor[]): StoredTensors =>
  new Map(tensors.map((tensor) => [tensor.name, tensor]));

/** Reads the bytes of a tensor, or `length` of them from byte `start`. */
export function readTensorBytes(tensor: StoredTensor, start = 0, length = tensor.length - start): Buffer {
  const descriptor = openSync(tensor.file, 'r');
  try {
    return readBytes(descriptor, tensor.offset + start, length);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns parts in which tensors of equal shape usually differ: up to 4 KiB at the beginning, middle and end. */
export function sampleRanges(bytes: number): readonly (readonly [start: number, length: number])[] {
  const length = Math.min(4096, bytes);
  return [0, 0.5, 1].map((share) => [Math.floor(share * (bytes - length)), length]);
}

/** True if two tensors have the same type, shape and bytes. Compares samples first, which usually show a difference. */
export function isSameTensor(a: StoredTensor, b: StoredTensor): boolean {
  if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join()) return false;
  const step = 1 << 22;
  const chunks = Array.from({ length: Math.ceil(a.length / step) }, (_, i) => {
    return [i * step, Math.min(step, a.length - i * step)] as const;
  });
  return [...sampleRanges(a.length), ...chunks].every(([start, length]) =>
    readTensorBytes(a, start, length).equals(readTensorBytes(b, start, length)),
  );
}

function fileError(file: string, problem: string): UserError {
  return new UserError({
    file,
    message: `this is not a usable safetensors file: ${problem}`,
    hint: 'copy or download it again; a text file of a few lines is a Git LFS pointer: run `git lfs pull`',
  });
}

function noWeightsError(directory: string): UserError {
  const otherFiles = existsSync(directory)
    ? readdirSync(directory).filter((name) => /\.(bin|pt|pth|gguf|onnx|safetensors)$/.test(name))
    : [];
  return new UserError({
    field: 'model.path',
    value: directory,
    message: `there is no model.safetensors in this directory${otherFiles.length === 0 ? '' : `, only ${otherFiles.join(', ')}`}`,
    alternatives: ['model.safetensors', 'model.safetensors.index.json with its shards'],
    hint: 'use the whole directory of a Hugging Face model with safetensors weights, or the path of a .gguf file itself',
  });
}
