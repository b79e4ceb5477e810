/** Output that can't be written, files that several commands change at once, and tables that a command replaces. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLabels } from '../../../src/runs/listing/labels.js';
import { exportRuns, selectRuns } from '../../../src/runs/tables/export.js';
import { runsToExport } from '../../../src/view/run-data.js';
import { built } from '../../support/built.js';
import { temporaryDirectory } from '../../support/experiments.js';

const example = resolve(import.meta.dirname, '../../../buffers/example-cartpole');

/** Runs a command with its output (and its error output if asked for) in a file. */
async function into(
  file: string,
  args: readonly string[],
  which: 'out' | 'error' = 'out',
  cwd = temporaryDirectory(),
) {
  const target = openSync(file, 'w');
  const stdio = which === 'out' ? ['ignore', target, 'pipe'] : ['ignore', 'pipe', target];
  const child = spawn(process.execPath, [built('src/cli.js'), ...args], {
    cwd,
    env: { PATH: process.env.PATH, NO_COLOR: '1' },
    stdio: stdio as ['ignore', number, 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr] as const)
    (stream as NodeJS.ReadableStream | null)?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  closeSync(target);
  return { code, said };
}

describe.runIf(existsSync('/dev/full'))('output to a full device', () => {
  it.each(['environments --json', '--help'])('makes %s fail with a clear error', async (words) => {
    const { code, said } = await into('/dev/full', words.split(' '));
    expect(code).toBe(1);
    expect(said).toMatch(/^error can't write the output: ENOSPC/m);
  });

  it('makes a run fail, even if only the progress is written to it', async () => {
    const run = ['run', 'quickstart', 'model={provider: random}', 'iterations=3', '--run-dir', 'r', '--json'];
    expect(await into('/dev/full', run)).toMatchObject({ code: 1 });
    // What it tells of its progress.
    expect(await into('/dev/full', [...run.slice(0, -2), 's'], 'error')).toMatchObject({ code: 1 });
  });
});

it('concurrent tag commands on one run keep all tags', async () => {
  const cwd = temporaryDirectory();
  cpSync(example, join(cwd, 'buffers', 'a'), { recursive: true });
  const tags = Array.from({ length: 12 }, (_, i) => `tag-${String(i).padStart(2, '0')}`);
  const ended = await Promise.all(tags.map((tag) => into('/dev/null', ['tag', 'a', tag], 'out', cwd)));
  expect(ended.filter(({ code }) => code !== 0)).toEqual([]);
  expect(readLabels(join(cwd, 'buffers', 'a')).tags).toEqual(tags);
});

it.each(['csv', 'parquet'] as const)('a failed export leaves earlier %s tables intact', async (format) => {
  const cwd = temporaryDirectory();
  cpSync(example, join(cwd, 'buffers', 'a'), { recursive: true });
  const runs = runsToExport(selectRuns(['a'], { cwd, runsDir: 'buffers' }));
  await exportRuns(runs, format, join(cwd, 'tables'));
  const file = join(cwd, 'tables', `evaluations.${format}`);
  const whole = readFileSync(file);
  writeFileSync(join(cwd, 'buffers', 'a', 'evaluations.jsonl'), '{broken\n', { flag: 'a' });
  const missing = { ...runs[0]!, path: join(cwd, 'nowhere') };
  await expect(
    exportRuns([...runs, { ...missing, summary: null as never }], format, join(cwd, 'tables')),
  ).rejects.toThrow();
  expect(readFileSync(file).equals(whole)).toBe(true);
  expect(existsSync(`${file}.partial`)).toBe(false);
});
