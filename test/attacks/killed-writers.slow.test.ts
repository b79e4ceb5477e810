/** Commands that write files or directories, killed while they write: nothing half-written has the output's name. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { writeSyntheticRun } from '../../bench/synthetic-run.js';
import { packageRoot } from '../../src/base/package.js';
import { referenceDirectory } from '../models/local/fixture.js';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const project = temporaryDirectory();
beforeAll(async () => {
  for (const name of ['quick', 'climb'])
    await writeSyntheticRun(join(project, 'buffers', name), { iterations: 30, candidates: 2, history: 5 });
  cpSync(join(packageRoot(), 'buffers/example-cartpole'), join(project, 'buffers/example'), {
    recursive: true,
  });
  const reference = referenceDirectory('llama3-rope-bf16');
  cpSync(reference, join(project, 'base'), { recursive: true });
  cpSync(join(reference, 'adapter-after-12-steps'), join(project, 'tuned'), { recursive: true });
});

const writers = {
  'merged model': ['finetune export tuned --model base --to merged --out out', 'out'],
  'GGUF file': ['finetune export base --to gguf --out out.gguf', 'out.gguf'],
  dataset: ['finetune dataset example --recipe improvement --out out', 'out'],
  'tables as Parquet': ['export quick climb --format parquet --out out', 'out'],
  'page of a comparison': ['compare quick climb --html out.html', 'out.html'],
  'report of a run': ['report climb', 'buffers/climb/report.html'],
  'drawn episode': ['evaluate quick --episodes 1 --picture out.svg', 'out.svg'],
} as const;

/** The size of every file of an output. */
function contentOf(path: string): Readonly<Record<string, number>> {
  if (statSync(path).isFile()) return { '': readFileSync(path).length };
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !name.includes('.partial') && statSync(join(path, name)).isFile(),
  );
  return Object.fromEntries(files.toSorted().map((name) => [name, readFileSync(join(path, name)).length]));
}

it.each(Object.entries(writers))(
  'a killed command leaves no half-written file under its final name: %s',
  async (_, [line, output]) => {
    const [clean, folder] = [temporaryDirectory(), temporaryDirectory()];
    for (const place of [clean, folder]) cpSync(project, place, { recursive: true });
    const start = (cwd = folder) =>
      spawn(process.execPath, [built('src/cli.js'), ...line.split(' ')], { cwd, stdio: 'ignore' });
    await once(start(clean), 'exit');
    const whole = contentOf(join(clean, output));
    const path = join(folder, output);
    for (const delay of [0, 2, 5, 10, 20, 40]) {
      const before = new Set(readdirSync(folder));
      const command = start();
      const ended = once(command, 'exit');
      // Some milliseconds after the first sign of writing.
      while (
        command.exitCode === null &&
        readdirSync(folder).every((name) => before.has(name)) &&
        !existsSync(path)
      )
        await setTimeout(1);
      await setTimeout(delay);
      command.kill('SIGKILL');
      await ended;
      if (existsSync(path)) {
        // A directory of tables fills file by file; any other output is complete at once.
        const content = contentOf(path);
        expect(whole).toMatchObject(content);
        if (!line.startsWith('export')) expect(content).toEqual(whole);
      }
    }
    const last = start();
    const [code] = await once(last, 'exit');
    // Complete from an earlier attempt, or written now.
    expect([0, 2]).toContain(code);
    expect(contentOf(path)).toEqual(whole);
    expect(
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.partial')),
    ).toEqual([]);
  },
);
