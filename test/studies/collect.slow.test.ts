import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { runFiles } from '../../src/runs/reader.js';
import { isComplete } from '../../src/studies/plan.js';
import { built } from '../support/built.js';
import { at, collect, contents, place, write } from './collecting.js';

it('a killed collection resumes and gives the same runs as an uninterrupted one', async () => {
  const long = (same: string) =>
    same
      .replace('iterations: 4', 'iterations: 300')
      .replace('{ from: 2, to: 5 }', '{ from: 250, to: 300 }')
      .replace('runs: 6', 'runs: 2');
  const file = write('killed', long);
  const child = spawnCollect(file);
  const begun = () =>
    existsSync(at('killed'))
      ? readdirSync(at('killed')).filter((name) => existsSync(at('killed', name, runFiles.events)))
      : [];
  while (begun().length === 0 && child.exitCode === null) await pause(5);
  child.kill('SIGKILL');
  await new Promise((done) => child.once('close', done));
  const torn = begun().filter((name) => !isComplete(at('killed', name)));
  expect(torn.length).toBeGreaterThan(0);
  // A crash of the machine may leave a run that can't be read: it starts anew.
  writeFileSync(at('killed', torn[0]!, runFiles.evaluations), '\0\0\0\n{}\n');
  expect((await collect(file, { jobs: 2 })).summary).toMatchObject({ status: 'completed', complete: 2 });
  await collect(write('whole', long));
  expect(contents('killed')).toEqual(contents('whole'));
});

function spawnCollect(file: string): ChildProcess {
  const args = [built('src/cli.js'), 'finetune', 'collect', file, '--jobs', '2', '--quiet'];
  return spawn(process.execPath, args, { cwd: place, env: { PATH: process.env.PATH }, stdio: 'ignore' });
}
