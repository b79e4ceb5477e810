/**
 * Event files for TensorBoard: a sequence of records (TFRecord), each an `Event` message in protocol buffers.
 * Formats: tensorflow/core/lib/io/record_writer.h and tensorboard/compat/proto/event.proto, summary.proto.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes curves to a new event file in `folder`, created by the `start` event. TensorBoard discards the steps of
 * earlier files after the step of this event.
 */
export class EventFile<M extends CurveEvent> {
  readonly #folder: string;
  readonly #scalars: (metric: M) => Scalars;
  #descriptor: number | undefined;

  /** @param scalarsOf returns the values of a metric by curve name */
  constructor(folder: string, scalars: (metric: M) => Scalars) {
    this.#folder = folder;
    this.#scalars = scalars;
  }

  add(metric: M): void {
    const seconds = Date.parse(metric.time) / 1000;
    if (metric.kind === 'start') {
      this.#descriptor ??= createFile(this.#folder, seconds);
      this.#write(seconds, 0, textField(fileVersion, 'brain.Event:2'));
      this.#write(seconds, metric.step + 1, messageField(sessionLog, integerField(sessionStatus, startCode)));
    }
    const values = Object.entries(this.#scalars(metric)).flatMap(([tag, value]) =>
      value === undefined
        ? []
        : [messageField(summaryValue, textField(valueTag, tag), floatField(simpleValue, value))],
    );
    if (values.length > 0) this.#write(seconds, metric.step, messageField(summary, ...values));
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #write(seconds: number, step: number, content: Uint8Array): void {
    if (this.#descriptor === undefined) return;
    const event = Buffer.concat([doubleField(wallTime, seconds), integerField(eventStep, step), content]);
    appendFileSync(this.#descriptor, record(event));
  }
}

export type Scalars = Readonly<Record<string, number | undefined>>;

interface CurveEvent {
  readonly kind: string;
  readonly step: number;
  /** ISO 8601. */
  readonly time: string;
}

/** Creates a file. TensorBoard reads files by name, so names sort by time, then by the number of earlier files. */
function createFile(folder: string, seconds: number): number {
  mkdirSync(folder, { recursive: true });
  const time = String(Math.floor(seconds)).padStart(10, '0');
  const count = String(readdirSync(folder).length).padStart(4, '0');
  return openSync(join(folder, `events.out.tfevents.${time}.${count}`), 'a');
}

/** A record: the length, its checksum, the data, and the data's checksum. */
function record(data: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, maskedChecksum(length), data, maskedChecksum(data)]);
}

/** The remainder of each byte after division by the Castagnoli polynomial; all bits are in reverse order. */
const remainders = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0x82f63b78 : rest >>> 1;
  return rest;
});

/** CRC-32C, which `zlib.crc32` doesn't compute. */
function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = remainders[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** CRC-32C, rotated and offset, because a plain checksum of data that contains checksums would be weak. */
function maskedChecksum(data: Uint8Array): Buffer {
  const crc = crc32c(data);
  const masked = Buffer.alloc(4);
  masked.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
  return masked;
}

// Field numbers of each message.
const [wallTime, eventStep, fileVersion, summary, sessionLog] = [1, 2, 3, 5, 7];
const summaryValue = 1;
const [valueTag, simpleValue] = [1, 2];
const sessionStatus = 1;
/** `SessionLog.START` */
const startCode = 1;

/** @param value a safe integer; a negative one is written as 64-bit two's complement */
export function integerField(field: number, value: number): Buffer {
  return Buffer.from([...varint(field << 3), ...varint(value)]);
}

function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, 1), bytes]);
}

export function messageField(field: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([tag(field, 2), Buffer.from(varint(length)), ...parts]);
}

export const textField = (field: number, value: string): Buffer => messageField(field, Buffer.from(value));

/** A single-precision number. */
export function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([tag(field, 5), bytes]);
}

const tag = (field: number, wireType: number): Buffer => Buffer.from(varint((field << 3) | wireType));

/** Encodes seven bits per byte, lowest first; the eighth bit is set if another byte follows. */
function varint(value: number): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}
