/** Runs, trainings, configs and command lines of version 0.1.0 work as they did with it. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/base/package.js';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type Answer, hashesIn, runLine } from './run-lines.js';

const fixture = join(packageRoot(), 'test', 'fixtures', 'version-0.1.0');
const read = (name: string) => JSON.parse(readFileSync(join(fixture, name), 'utf8'));

it('the recorded command lines of version 0.1.0 give the same JSON, and resumed runs the same bytes', () => {
  const folder = temporaryDirectory();
  cpSync(join(fixture, 'project'), folder, { recursive: true });
  // The adapter names its base by the path that it had where the project was recorded.
  const adapter = join(folder, 'tuned', 'adapter', 'adapter', 'adapter_config.json');
  const base = join(packageRoot(), 'models', 'tiny-improver');
  const recorded = JSON.parse(readFileSync(adapter, 'utf8')) as object;
  writeFileSync(adapter, JSON.stringify({ ...recorded, base_model_name_or_path: base }));
  const differences = (read('answers.json') as readonly Answer[]).filter((before) => {
    const now = runLine(built('src/cli.js'), folder, before.line);
    // New keys may join the old ones.
    try {
      expect(now).toMatchObject(before);
      return false;
    } catch (error) {
      process.stderr.write(`${before.line}\n${(error as Error).message}\n`);
      return true;
    }
  });
  expect(differences.map(({ line }) => line)).toEqual([]);
  expect(hashesIn(folder)).toEqual(read('hashes.json'));
}, 900_000);
