import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Metric } from '../../../finetune/train/events.js';
import { trainingScalars } from '../../../finetune/train/record.js';
import { EventFile } from '../../../src/base/files/tensorboard.js';
import { temporaryDirectory, tickingClock } from '../../support/experiments.js';

const totalSteps = 300;
const split = { examples: 10, tokens: 1000 };

/** Metrics of a session with the steps after `from` up to `to`, and a validation after every fifth. */
function session(from: number, to: number, loss: (step: number) => number): readonly Metric[] {
  const now = tickingClock();
  const common = () => ({ time: now().toISOString(), seconds: 2, rssBytes: 1e9 });
  const metrics: Metric[] = [
    { kind: 'start', step: from, totalSteps, parameters: 9, training: split, validation: split, ...common() },
  ];
  for (let step = from + 1; step <= to; step++) {
    const learningRate = 1 / step;
    const values = { loss: loss(step), gradientNorm: 1e-30 * step, learningRate, tokens: 100 };
    metrics.push({ kind: 'step', step, totalSteps, ...values, ...common(), tokensPerSecond: 50 });
    if (step % 5 === 0)
      metrics.push({ kind: 'validation', step, loss: -loss(step), best: true, ...common() });
  }
  return metrics;
}

function write(folder: string, metrics: readonly Metric[]): void {
  const file = new EventFile(folder, trainingScalars);
  for (const metric of metrics) file.add(metric);
  file.close();
}

/** Computes the checksum bit by bit from its definition, with the reflected polynomial 0x82f63b78. */
function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

const unmasked = (masked: number) => {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
};

/** Fields of a message by number; each as its raw value. */
function fields(data: Buffer): ReadonlyMap<number, number | Buffer> {
  const found = new Map<number, number | Buffer>();
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = data[at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < data.length) {
    const key = varint();
    const [field, type] = [key >>> 3, key & 7];
    if (type === 0) found.set(field, varint());
    else {
      const length = type === 2 ? varint() : type === 1 ? 8 : 4;
      const content = data.subarray(at, at + length);
      at += length;
      // A repeated field has all its values, one after the other with their tags.
      const before = found.get(field);
      found.set(field, Buffer.isBuffer(before) ? Buffer.concat([before, mark, content]) : content);
    }
  }
  return found;
}
const mark = Buffer.from('|value|');

function readEvents(path: string) {
  const bytes = readFileSync(path);
  const events: { time: number; step: number; version?: string; start: boolean; values: object }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const head = bytes.subarray(at, at + 8);
    const length = Number(head.readBigUInt64LE());
    expect(crc32c(head)).toBe(unmasked(bytes.readUInt32LE(at + 8)));
    const data = bytes.subarray(at + 12, at + 12 + length);
    expect(crc32c(data)).toBe(unmasked(bytes.readUInt32LE(at + 12 + length)));
    at += 16 + length;
    const event = fields(data);
    const values: Record<string, number> = {};
    for (const value of splitAt(event.get(5))) {
      const inner = fields(value);
      values[String(inner.get(1))] = (inner.get(2) as Buffer).readFloatLE();
    }
    const version = event.get(3);
    events.push({
      time: (event.get(1) as Buffer).readDoubleLE(),
      step: (event.get(2) as number | undefined) ?? 0,
      ...(version !== undefined && { version: String(version) }),
      start: event.has(7) && fields(event.get(7) as Buffer).get(1) === 1,
      values,
    });
  }
  return events;
}

/** The values of a summary. */
function splitAt(summary: number | Buffer | undefined): Buffer[] {
  if (!Buffer.isBuffer(summary)) return [];
  const parts: Buffer[] = [];
  let rest = fields(summary).get(1) as Buffer;
  for (;;) {
    const end = rest.indexOf(mark);
    if (end < 0) return [...parts, rest];
    parts.push(rest.subarray(0, end));
    rest = rest.subarray(end + mark.length);
  }
}

describe('event files for TensorBoard', () => {
  it('hold the curves in records with correct checksums', () => {
    const folder = join(temporaryDirectory(), 'tensorboard');
    write(
      folder,
      session(0, 200, (step) => step / 8),
    );
    const [name, ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    expect(name).toMatch(/^events\.out\.tfevents\.\d{10}\./);
    const events = readEvents(join(folder, name!));
    expect(events[0]).toMatchObject({ version: 'brain.Event:2', step: 0 });
    expect(events[0]!.time).toBe(Date.UTC(2026, 0, 1, 0, 0, 1) / 1000);
    expect(events[1]).toMatchObject({ start: true, step: 1 });
    const last = events.filter(({ step }) => step === 200);
    expect(last.map(({ values }) => values)).toEqual([
      {
        'loss/train': 25,
        learning_rate: Math.fround(1 / 200),
        gradient_norm: Math.fround(2e-28),
        tokens_per_second: 50,
      },
      { 'loss/validation': -25 },
    ]);
    expect(events.filter(({ values }) => 'loss/train' in values).map(({ step }) => step)).toEqual(
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
  });

  it('of a resumed training run begin with a session start, so that TensorBoard drops repeated steps', () => {
    const folder = temporaryDirectory();
    const loss = (step: number) => step;
    write(folder, session(0, 57, loss));
    write(folder, session(50, 60, loss));
    const [, second] = readdirSync(folder).toSorted();
    const events = readEvents(join(folder, second!));
    expect(events[1]).toMatchObject({ start: true, step: 51 });
    expect(events[2]).toMatchObject({ step: 51, values: { 'loss/train': 51 } });
  });
});
