import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { JsonLinesFile, keepFirstLines, readJsonLines } from '../../../src/base/files/json-lines.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

let path: string;
beforeEach(() => {
  path = join(temporaryDirectory(), 'records.jsonl');
});

describe('JsonLinesFile', () => {
  it('appends to the lines of an earlier process', () => {
    writeFileSync(path, '{"n":1}\n');
    const file = new JsonLinesFile<{ n: number }>(path, 1);
    file.append([{ n: 2 }, { n: 3 }]);
    expect(file.length).toBe(3);
    file.close();
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
    expect(readJsonLines(path, { repair: false })).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });
});

describe('readJsonLines', () => {
  it("returns undefined if the file doesn't exist", () => {
    expect(readJsonLines(path, { repair: true })).toBeUndefined();
  });

  it('removes an incomplete last line, wherever it was cut off', () => {
    const whole = '{"name":"a"}\n{"name":"ü→"}\n';
    const bytes = Buffer.from(whole);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: bytes.length }), (cut) => {
        writeFileSync(path, bytes.subarray(0, cut));
        const items = readJsonLines<{ name: string }>(path, { repair: true });
        const complete = bytes.subarray(0, cut).toString('latin1').split('\n').length - 1;
        expect(items).toHaveLength(complete);
        appendFileSync(path, '{"name":"next"}\n');
        expect(readJsonLines(path, { repair: false })).toHaveLength(complete + 1);
      }),
    );
  });

  it('leaves the file unchanged without `repair`', () => {
    writeFileSync(path, '{"n":1}\n{"n":');
    expect(readJsonLines(path, { repair: false })).toEqual([{ n: 1 }]);
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":');
  });

  it('rejects an invalid line in the middle, and names its position', () => {
    writeFileSync(path, '{"n":1}\ngarbage\n{"n":3}\n');
    expect(() => readJsonLines(path, { repair: true })).toThrow(UserError);
    expect(() => readJsonLines(path, { repair: true })).toThrow(
      `${path}:2: this line is not valid JSON (byte 8)`,
    );
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\ngarbage\n{"n":3}\n');
  });
});

describe('keepFirstLines', () => {
  it('truncates a file after the given number of lines', () => {
    writeFileSync(path, '{"a":1}\n{"a":2}\n{"a":3}\n');
    keepFirstLines(path, 2);
    expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"a":2}\n');
    keepFirstLines(path, 0);
    expect(readFileSync(path, 'utf8')).toBe('');
  });
});
