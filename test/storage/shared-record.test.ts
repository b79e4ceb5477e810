/** A record that processes replace one after the other: who was halted in between replaces nothing. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readSharedRecord, replaceSharedRecord } from '../../src/storage/shared-record.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('a shared record can be replaced by a process that knows its newest version', () => {
  const directory = temporaryDirectory();
  expect(readSharedRecord(directory)).toEqual({ version: 0, content: undefined });
  expect(replaceSharedRecord(directory, 0, { a: 1 })).toBe(true);
  expect(replaceSharedRecord(directory, 1, { a: 2 })).toBe(true);
  expect(readSharedRecord(directory)).toEqual({ version: 2, content: { a: 2 } });
});

it.each([1, 9, 50])('a shared record can’t be replaced by a process that missed %i versions', (missed) => {
  const directory = temporaryDirectory();
  replaceSharedRecord(directory, 0, 'first');
  const { version } = readSharedRecord(directory);
  for (let i = 0; i < missed; i++) replaceSharedRecord(directory, version + i, i);
  expect(replaceSharedRecord(directory, version, 'late')).toBe(false);
  expect(readSharedRecord(directory)).toEqual({ version: version + missed, content: missed - 1 });
  expect(readdirSync(directory).length).toBeLessThanOrEqual(4);
});
