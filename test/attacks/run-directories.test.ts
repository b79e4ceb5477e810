import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { readJsonLines } from '../../src/base/files/json-lines.js';
import { readManifest } from '../../src/runs/reader.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('reading a run rejects symbolic links and a deeply nested manifest', () => {
  const run = temporaryDirectory();
  const [manifest, log] = [join(run, 'manifest.json'), join(run, 'evaluations.jsonl')];
  for (const file of [manifest, log]) symlinkSync('/dev/zero', file);
  expect(() => readManifest(run)).toThrow(/is a link, not a regular file/);
  expect(() => readJsonLines(log, { repair: false })).toThrow(UserError);
  rmSync(manifest);
  writeFileSync(manifest, `${'['.repeat(5000)}${']'.repeat(5000)}`);
  expect(() => readManifest(run)).toThrow(/not valid JSON/);
});
