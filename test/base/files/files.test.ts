import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { UserError } from '../../../src/base/errors.js';
import { checkedValue, plainName, replaceFile } from '../../../src/base/files/files.js';
import { requireFileName } from '../../../src/base/files/regular-file.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

describe('replaceFile', () => {
  it('leaves no draft when it fails, and names the draft in the error', () => {
    const path = temporaryDirectory();
    mkdirSync(join(path, 'taken'));
    expect(() => replaceFile(join(path, 'taken'), 'new')).toThrow(join(path, 'taken.new'));
    expect(readdirSync(path)).toEqual(['taken']);
  });
});

describe('checkedValue', () => {
  const problems = (count: number): UserError['problems'] => {
    try {
      checkedValue(z.array(z.number()), Array<string>(count).fill('x'), 'config.json');
    } catch (error) {
      if (error instanceof UserError) return error.problems;
    }
    return [];
  };

  it('lists the first 20 problems, and counts the rest', () => {
    expect(problems(20)).toHaveLength(20);
    expect(problems(100_000)).toHaveLength(21);
    expect(problems(100_000).at(-1)).toMatchObject({ message: 'further problems: 99980' });
  });
});

describe('plainName', () => {
  it('replaces spaces and slashes, and shortens long names to distinct names', () => {
    expect(plainName('a b/c', 'x')).toBe('a-b-c');
    const [a, b] = ['1', '2'].map((end) => plainName('n'.repeat(300) + end, 'x'));
    expect([a!.length, a === b]).toEqual([120, false]);
  });
});

describe('requireFileName', () => {
  it.each(['', '.', '..', 'a/b', '../a', '\\a', 'a\0b', 'é'.repeat(130)])('rejects %j', (name) => {
    expect(() => requireFileName(name, { field: 'weight_map' })).toThrow(/^weight_map: /);
  });

  it.each(['model-00001-of-00002.safetensors', '...', '.hidden', 'ü'.repeat(100)])('accepts %s', (name) => {
    expect(requireFileName(name, {})).toBe(name);
  });
});
