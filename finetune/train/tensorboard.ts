/**
 * Event files that TensorBoard reads: a sequence of records (TFRecord), each an `Event` message in protocol buffers.
 * Formats: tensorflow/core/lib/io/record_writer.h and tensorboard/compat/proto/event.proto, summary.proto.
 */
import { appendFileSync, closeSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import crc32c from 'crc-32/crc32c.js';
import { double, float, integer, nested, text } from '../../src/storage/protobuf.js';
import type { Metric } from './metrics.js';

export interface EventFile {
  add(metric: Metric): void;
  close(): void;
}

/**
 * Writes the curves of a training to a new event file in `folder`, made when training starts. TensorBoard drops what
 * earlier files have of the steps from there on: they are made again.
 */
export function openEventFile(folder: string): EventFile {
  let descriptor: number | undefined;
  const write = (event: Uint8Array) => {
    if (descriptor !== undefined) appendFileSync(descriptor, record(event));
  };
  return {
    add(metric) {
      const seconds = Date.parse(metric.time) / 1000;
      if (metric.kind === 'start') {
        descriptor ??= createFile(folder, seconds);
        write(eventMessage(seconds, 0, text(fileVersion, 'brain.Event:2')));
        write(eventMessage(seconds, metric.step + 1, nested(sessionLog, integer(sessionStatus, started))));
      }
      const values = Object.entries(scalars(metric)).flatMap(([tag, value]) =>
        value === undefined ? [] : [nested(summaryValue, text(valueTag, tag), float(simpleValue, value))],
      );
      if (values.length > 0) write(eventMessage(seconds, metric.step, nested(summary, ...values)));
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** The values of a metric by the names of their curves. */
function scalars(metric: Metric): Readonly<Record<string, number | undefined>> {
  switch (metric.kind) {
    case 'step':
      return {
        'loss/train': metric.loss,
        learning_rate: metric.learningRate,
        gradient_norm: metric.gradientNorm,
        tokens_per_second: metric.tokensPerSecond,
      };
    case 'validation':
      return { 'loss/validation': metric.loss };
    default:
      return {};
  }
}

/** Names sort by time, then by how many there were: the order in which TensorBoard reads them. */
function createFile(folder: string, seconds: number): number {
  mkdirSync(folder, { recursive: true });
  const time = String(Math.floor(seconds)).padStart(10, '0');
  const count = String(readdirSync(folder).length).padStart(4, '0');
  return openSync(join(folder, `events.out.tfevents.${time}.${count}`), 'a');
}

/** Length, its checksum, the data, their checksum. */
function record(data: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, maskedChecksum(length), data, maskedChecksum(data)]);
}

/** CRC-32C, rotated and shifted, since a checksum of data that hold their own checksums would be weak. */
function maskedChecksum(data: Uint8Array): Buffer {
  const crc = crc32c.buf(data) >>> 0;
  const masked = Buffer.alloc(4);
  masked.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
  return masked;
}

// Numbers of the fields, by their messages.
const [wallTime, eventStep, fileVersion, summary, sessionLog] = [1, 2, 3, 5, 7];
const summaryValue = 1;
const [valueTag, simpleValue] = [1, 2];
const sessionStatus = 1;
/** `SessionLog.START` */
const started = 1;

function eventMessage(seconds: number, step: number, content: Uint8Array): Buffer {
  return Buffer.concat([double(wallTime, seconds), integer(eventStep, step), content]);
}
