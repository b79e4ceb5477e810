import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as listCommand } from '../../src/commands/list.js';
import { removableDirectories } from '../../src/runs/listing/remove.js';
import { scanItems } from '../../src/runs/listing/scan.js';
import { runFiles } from '../../src/runs/reader.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { writeRun, writeTraining } from '../support/written-runs.js';

async function list(cwd: string, runsDir = 'buffers') {
  const recording = recordingContext(cwd);
  expect(await listCommand({ runsDir, json: false }, recording.context)).toBe(0);
  expect(await listCommand({ runsDir, json: true }, recording.context)).toBe(0);
  const [table, json] = recording.printed as [string, string];
  return {
    rows: table
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {2,}/)),
    runs: JSON.parse(json) as readonly { readonly name: string }[],
    noted: recording.noted,
  };
}

describe('policyloop list', () => {
  it('reads only the manifests of runs, not their other files', async () => {
    const cwd = temporaryDirectory();
    const run = writeRun(join(cwd, 'buffers', 'a'), { seed: 1, confirmed: 30 });
    for (const file of Object.values(runFiles)) {
      if (file === runFiles.manifest) continue;
      // Whoever opens a directory as a file, or looks into it for runs, gives himself away.
      rmSync(join(run, file), { force: true });
      mkdirSync(join(run, file));
      writeFileSync(join(run, file, runFiles.manifest), 'damaged');
    }
    const { rows, runs, noted } = await list(cwd);
    expect(rows).toEqual([
      ['1', 'a', 'completed', 'CartPole-v1', 'baseline/random', '2/2', '–', '30.00', '2026-01-01 00:00'],
    ]);
    expect(runs.map(({ name }) => name)).toEqual(['a']);
    expect(noted).toEqual([]);
  });

  it('finds runs in folders, shows a study as one row, and lists its runs on request', async () => {
    const cwd = temporaryDirectory();
    const at = (...path: readonly string[]) => join(cwd, 'buffers', ...path);
    writeRun(at('mine', 'a'), { seed: 1 });
    writeRun(at('group', 'repeat-1'), { seed: 1 });
    writeRun(at('sweep-1', 'cartpole', 'random-01'), { seed: 1 });
    writeRun(at('sweep-1', 'acrobot', 'random-01'), {
      seed: 1,
      status: 'failed',
      config: { environment: 'Acrobot-v1' },
    });
    writeFileSync(at('sweep-1', 'plan.json'), '{}');
    mkdirSync(at('no-run', 'deep', 'er'), { recursive: true });

    const { rows, runs, noted } = await list(cwd);
    expect(rows.map(([, name, status, environment, model]) => [name, status, environment, model])).toEqual([
      ['group/repeat-1', 'completed', 'CartPole-v1', 'baseline/random'],
      ['mine/a', 'completed', 'CartPole-v1', 'baseline/random'],
      ['sweep-1/', '1 of 2 completed', '2 environments', 'baseline/random'],
    ]);
    expect(noted).toEqual([expect.stringContaining('policyloop list --runs-dir buffers/sweep-1')]);
    const names = ['sweep-1/acrobot/random-01', 'sweep-1/cartpole/random-01'];
    expect(runs.map(({ name }) => name)).toEqual(['group/repeat-1', 'mine/a', ...names]);

    const inside = await list(cwd, 'buffers/sweep-1');
    expect(inside.rows.map(([, name]) => name)).toEqual(['acrobot/random-01', 'cartpole/random-01']);
    expect(inside.noted).toEqual([]);
  });

  it('names training runs relative to the working directory, even if one contains another', async () => {
    const cwd = temporaryDirectory();
    const folders = ['tuned', 'tuned/bandit', 'tuned/deep/er'];
    for (const folder of folders) writeTraining(join(cwd, folder), []);
    expect((await list(cwd)).runs.map(({ name }) => name)).toEqual(folders);
    expect([...scanItems([{ path: cwd, prefix: '' }]).keys()]).toEqual(folders);
    const removable = removableDirectories(join(cwd, 'tuned')).map((path) => relative(cwd, path));
    expect(removable).toEqual(['tuned/deep/er', 'tuned/bandit', 'tuned']);
  });

  it('lists the other runs if a manifest is damaged', async () => {
    const cwd = temporaryDirectory();
    writeRun(join(cwd, 'buffers', 'a'), { seed: 1 });
    mkdirSync(join(cwd, 'buffers', 'b'));
    writeFileSync(join(cwd, 'buffers', 'b', runFiles.manifest), '{"version":1,');
    const { rows, noted } = await list(cwd);
    expect(rows.map(([, name]) => name)).toEqual(['a']);
    expect(new Set(noted)).toEqual(new Set(['b: its manifest is damaged; see policyloop show b']));
    const elsewhere = await list(join(cwd, '..'), join(basename(cwd), 'buffers'));
    expect(elsewhere.noted[0]).toMatch(/see policyloop show b --runs-dir .*buffers$/);
  });
});
