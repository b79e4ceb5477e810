import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { checkedValue, replaceFile } from '../../src/storage/files.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('replaceFile', () => {
  it('leaves the old file and nothing else when it fails, and names what it wrote', () => {
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

  it('names what is wrong, and of very much the first only', () => {
    expect(problems(20)).toHaveLength(20);
    expect(problems(100_000)).toHaveLength(21);
    expect(problems(100_000).at(-1)).toMatchObject({ message: 'and 99980 more' });
  });
});
