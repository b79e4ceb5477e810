/** Reads headers of GGUF files (versions 2 and 3, little-endian). Files are untrusted, so lengths are checked first. */
import { closeSync, existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../base/errors.js';
import { openRegularFile, readBytes } from '../../../base/files/regular-file.js';
import { blockTypes } from './gguf-blocks.js';
import type { StoredTensor } from './safetensors.js';

type GgufScalar = number | string | boolean;
export type GgufValue = GgufScalar | readonly GgufScalar[];

export interface GgufFile {
  readonly file: string;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** Byte range of each key's value in the file, including the value's type. */
  readonly byteRanges: ReadonlyMap<string, { readonly start: number; readonly end: number }>;
  /** Tensors by their names in the file. Shapes have rows first, although the format has columns first. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/** True if a model is a GGUF file: any path ending in `.gguf`, or any file, because Ollama's have no extension. */
export const isGguf = (model: string): boolean =>
  /\.gguf$/i.test(model) || (statSync(model, { throwIfNoEntry: false })?.isFile() ?? false);

/** Creates the error for a path without a model; lists the models there or, if it doesn't exist, in its parent. */
export function noModelError(value: string): UserError {
  const [exists, folder, name] = [existsSync(value), path.dirname(value), path.basename(value)];
  const shownFolder = exists ? value : folder;
  const isFolder = existsSync(path.join(shownFolder, path.sep));
  const entries = isFolder ? readdirSync(shownFolder).map((entry) => path.join(shownFolder, entry)) : [];
  const models = entries.filter((one) => /\.gguf$/i.test(one) || existsSync(path.join(one, 'config.json')));
  const missingText = `no config.json${models.length === 0 ? ', and contains no GGUF file or model' : ''}`;
  const kind = isGguf(value) ? 'file' : 'directory';
  const message = exists ? `this directory has ${missingText}` : `there is no such ${kind}`;
  const isHubName = !existsSync(folder) && existsSync(path.dirname(folder));
  const hubHint = isHubName ? `hf:${path.basename(folder)}/${name} for a model on Hugging Face, or ` : '';
  const hint = `use ${hubHint}the directory of a Hugging Face model, with config.json, tokenizer.json and model.safetensors, or a GGUF file`;
  return new UserError({ field: 'model.path', value, message, alternatives: models, hint });
}

const max = { tensors: 100_000, pairs: 20_000, elements: 8_000_000, text: 1 << 26, head: 1 << 29 } as const;

/** Headers of the files read most recently, kept because several parts of a program read the same file. */
const headerCache = new Map<string, GgufFile>();
const maxHeaders = 4;

/** Reads the header of a file and of its other parts, if it is split. @throws UserError if they can't be used */
export function openGguf(file: string): GgufFile {
  if (!existsSync(file)) throw noModelError(file);
  const stat = statSync(file);
  if (!stat.isFile())
    throw new UserError({ field: 'model.path', value: file, message: 'is not a regular file' });
  const key = [realpathSync(file), stat.size, stat.mtimeMs].join('\0');
  const known = headerCache.get(key);
  if (known !== undefined) return known;
  const first = readGgufFile(file);
  const gguf = { ...first, tensors: new Map(openParts(first).flatMap(({ tensors }) => [...tensors])) };
  headerCache.set(key, gguf);
  for (const staleKey of [...headerCache.keys()].slice(0, -maxHeaders)) headerCache.delete(staleKey);
  return gguf;
}

/** Opens all parts of a split file, including the given one. */
function openParts(first: GgufFile): readonly GgufFile[] {
  const count = first.metadata.get('split.count') ?? 1;
  if (count === 1 || count === 0) return [first];
  const unusableError = (message: string) =>
    new UserError({
      file: first.file,
      message: `this is one of ${String(count)} parts: ${message}`,
      hint: 'download all parts into the same directory, with their published names, and use the first one',
    });
  const match = /^(.*)-\d{5}-of-(\d{5})\.gguf$/.exec(path.basename(first.file));
  if (match === null || Number(match[2]) !== count)
    throw unusableError(`its name doesn't end in …-NNNNN-of-${String(count).padStart(5, '0')}.gguf`);
  if (!first.metadata.has('general.architecture')) throw unusableError('it lacks the metadata of the model');
  return Array.from({ length: count }, (_, i) => {
    const name = `${match[1]}-${String(i + 1).padStart(5, '0')}-of-${match[2]}.gguf`;
    const part = path.join(path.dirname(first.file), name);
    if (!existsSync(part)) throw unusableError(`the part ${name} is missing`);
    return name === path.basename(first.file) ? first : readGgufFile(part);
  });
}

function readGgufFile(file: string): GgufFile {
  const realPath = realpathSync(file);
  const { descriptor, size } = openRegularFile(realPath);
  try {
    const reader = new HeaderReader(file, descriptor, size);
    const [tensorCount, pairCount] = readPrefix(reader);
    const { metadata, byteRanges } = readMetadata(reader, pairCount);
    const infos = Array.from({ length: tensorCount }, () => readTensorInfo(reader));
    return { file, metadata, byteRanges, tensors: locateTensors(infos, metadata, reader, realPath) };
  } finally {
    closeSync(descriptor);
  }
}

function readPrefix(reader: HeaderReader): [tensors: number, pairs: number] {
  const magic = reader.size < 4 ? '' : reader.bytes(4).toString('latin1');
  if (magic !== 'GGUF') throw reader.error(`it begins with ${JSON.stringify(magic)}, not with "GGUF"`);
  const version = reader.number(4);
  if (version !== 2 && version !== 3)
    throw reader.error(`its version is ${version}, but only 2 and 3 in little-endian order are supported`);
  return [reader.count('tensors', max.tensors, 24), reader.count('metadata pairs', max.pairs, 13)];
}

/** For each value type, by its number in the format: minimum size in bytes, and a reader. */
const valueTypes: Readonly<
  Record<number, { readonly bytes: number; readonly read: (r: HeaderReader) => GgufScalar }>
> = {
  0: { bytes: 1, read: (reader) => reader.bytes(1).readUInt8() },
  1: { bytes: 1, read: (reader) => reader.bytes(1).readInt8() },
  2: { bytes: 2, read: (reader) => reader.bytes(2).readUInt16LE() },
  3: { bytes: 2, read: (reader) => reader.bytes(2).readInt16LE() },
  4: { bytes: 4, read: (reader) => reader.bytes(4).readUInt32LE() },
  5: { bytes: 4, read: (reader) => reader.bytes(4).readInt32LE() },
  6: { bytes: 4, read: (reader) => reader.bytes(4).readFloatLE() },
  7: { bytes: 1, read: (reader) => reader.bytes(1).readUInt8() !== 0 },
  8: { bytes: 8, read: (reader) => reader.text() },
  10: { bytes: 8, read: (reader) => Number(reader.bytes(8).readBigUInt64LE()) },
  11: { bytes: 8, read: (reader) => Number(reader.bytes(8).readBigInt64LE()) },
  12: { bytes: 8, read: (reader) => reader.bytes(8).readDoubleLE() },
};
const arrayType = 9;

function readMetadata(reader: HeaderReader, count: number): Pick<GgufFile, 'metadata' | 'byteRanges'> {
  const metadata = new Map<string, GgufValue>();
  const byteRanges = new Map<string, { start: number; end: number }>();
  for (let pair = 0; pair < count; pair++) {
    const key = reader.text();
    if (metadata.has(key)) throw reader.error(`its metadata has the key ${quote(key)} twice`);
    const start = reader.position;
    metadata.set(key, readValue(reader, key));
    byteRanges.set(key, { start, end: reader.position });
  }
  return { metadata, byteRanges };
}

function readValue(reader: HeaderReader, key: string): GgufValue {
  const type = reader.number(4);
  if (type !== arrayType) return valueTypeOf(reader, key, type).read(reader);
  const { bytes, read } = valueTypeOf(reader, key, reader.number(4));
  const count = reader.count(`values of ${quote(key)}`, max.elements, bytes);
  return Array.from({ length: count }, () => read(reader));
}

function valueTypeOf(reader: HeaderReader, key: string, type: number) {
  const known = valueTypes[type];
  if (known === undefined) throw reader.error(`the value of ${quote(key)} has the unknown type ${type}`);
  return known;
}

interface TensorInfo {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: number;
  /** In bytes from the start of the data. */
  readonly offset: number;
}

function readTensorInfo(reader: HeaderReader): TensorInfo {
  const name = reader.text();
  const dimensions = reader.number(4);
  if (dimensions < 1 || dimensions > 4)
    throw reader.error(`the tensor ${quote(name)} has ${dimensions} dimensions, but only 1 to 4 are allowed`);
  const shape = Array.from({ length: dimensions }, () => reader.number(8)).reverse();
  return { name, shape, type: reader.number(4), offset: reader.number(8) };
}

/** Locates the tensors in the file, and checks that they are aligned, lie within the file and don't overlap. */
function locateTensors(
  infos: readonly TensorInfo[],
  metadata: GgufFile['metadata'],
  reader: HeaderReader,
  realPath: string,
): ReadonlyMap<string, StoredTensor> {
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || alignment < 1 || alignment % 8 !== 0 || alignment > 1 << 20)
    throw reader.error(`general.alignment is ${quote(alignment)}, but must be a multiple of 8, at most 2^20`);
  const start = Math.ceil(reader.position / alignment) * alignment;
  const tensors = new Map<string, StoredTensor>();
  let end = 0;
  for (const info of [...infos].sort((a, b) => a.offset - b.offset)) {
    const { name, shape, offset } = info;
    if (tensors.has(name)) throw reader.error(`it has the tensor ${quote(name)} twice`);
    const { dtype, length } = sizeOf(info, reader);
    if (offset % alignment !== 0) throw reader.error(`tensor ${quote(name)} is not aligned`);
    if (offset < end) throw reader.error(`tensor ${quote(name)} overlaps another one`);
    end = offset + length;
    if (!(start + end <= reader.size))
      throw reader.error(
        `tensor ${quote(name)} reaches beyond the end of the file (an unfinished download?)`,
      );
    tensors.set(name, { name, dtype, shape, file: realPath, offset: start + offset, length });
  }
  return tensors;
}

function sizeOf({ name, shape, type }: TensorInfo, reader: HeaderReader): { dtype: string; length: number } {
  const blockType = blockTypes.find(({ number }) => number === type);
  if (blockType === undefined)
    throw new UserError({
      file: reader.file,
      field: name.slice(0, 80),
      value: type,
      message: 'tensors of this type are not supported',
      alternatives: blockTypes.map((block) => block.dtype),
      hint: 'use a different file of the model, e.g. Q4_K_M or Q8_0, or serve this one with llama-server or Ollama',
    });
  const columns = shape.at(-1)!;
  if (columns % blockType.elements !== 0)
    throw reader.error(
      `rows of ${quote(name)} have ${columns} values, which is not a multiple of ${blockType.elements} (${blockType.dtype})`,
    );
  const elements = shape.reduce((product, dimension) => product * dimension, 1);
  return { dtype: blockType.dtype, length: (elements / blockType.elements) * blockType.bytes };
}

/** Reads a file in sequence, window by window, and never beyond its end. */
class HeaderReader {
  readonly file: string;
  readonly size: number;
  readonly #descriptor: number;
  #window: Buffer = Buffer.alloc(0);
  /** Position of the window's first byte in the file, and index of the next byte in the window. */
  #start = 0;
  #next = 0;

  constructor(file: string, descriptor: number, size: number) {
    this.file = file;
    this.#descriptor = descriptor;
    this.size = size;
  }

  get position(): number {
    return this.#start + this.#next;
  }

  /** Returns the error for a file that can't be used. */
  error(problem: string): UserError {
    return new UserError({
      file: this.file,
      message: `this is not a usable GGUF file: ${problem}`,
      hint:
        'download it again or use a different file of this model; ' +
        'a text file of a few lines is a Git LFS pointer: run `git lfs pull`',
    });
  }

  /** Reads the next bytes. @throws UserError if the file ends first, or the header is too long */
  bytes(length: number): Buffer {
    if (this.position + length > Math.min(this.size, max.head))
      throw this.error(
        this.size < max.head ? 'it ends within its header' : 'its header is longer than 512 MiB',
      );
    if (this.#next + length > this.#window.length) this.#refill(length);
    this.#next += length;
    return this.#window.subarray(this.#next - length, this.#next);
  }

  /** Reads an unsigned integer. Above 2⁵³ it is rounded, but no file is that long. */
  number(bytes: 4 | 8): number {
    return bytes === 4 ? this.bytes(4).readUInt32LE() : Number(this.bytes(8).readBigUInt64LE());
  }

  text(): string {
    return this.bytes(this.count('bytes of text', max.text, 1)).toString('utf8');
  }

  /** Reads the number of items that follow. Each takes at least `bytesOfEach` bytes of the rest of the file. */
  count(items: string, maximum: number, bytesOfEach: number): number {
    const count = this.number(8);
    const rest = this.size - this.position;
    if (count * bytesOfEach > rest)
      throw this.error(`it declares ${count} ${items}, but only ${rest} bytes follow`);
    if (count > maximum) throw this.error(`it declares ${count} ${items}; the maximum is ${maximum}`);
    return count;
  }

  #refill(length: number): void {
    this.#start = this.position;
    this.#next = 0;
    const byteCount = Math.min(Math.max(length, 1 << 20), this.size - this.#start);
    this.#window = readBytes(this.#descriptor, this.#start, byteCount);
    if (this.#window.length < byteCount) throw this.error('it became shorter while it was being read');
  }
}

/** Shows an untrusted value in a message: at most 80 characters of JSON, which escapes line breaks. */
const quote = (value: unknown) => JSON.stringify(value)?.slice(0, 80) ?? '';
