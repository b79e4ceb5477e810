import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replaceFile } from '../../src/storage/files.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

describe('replaceFile', () => {
  it('leaves the old file and nothing else when it fails, and names what it wrote', () => {
    const path = temporaryDirectory();
    mkdirSync(join(path, 'taken'));
    expect(() => replaceFile(join(path, 'taken'), 'new')).toThrow(join(path, 'taken.new'));
    expect(readdirSync(path)).toEqual(['taken']);
  });
});
