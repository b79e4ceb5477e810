import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun } from '../support/written-runs.js';

const hasFish = spawnSync('fish', ['--version']).status === 0;
if (!hasFish) process.stderr.write('Completion in fish is not tested: no fish on the PATH.\n');

it.skipIf(!hasFish)('fish completes commands, runs and files', () => {
  const cwd = temporaryDirectory();
  writeRun(join(cwd, 'buffers', 'cartpole-first'), { seed: 1 });
  writeFileSync(join(cwd, 'mine.yaml'), '');
  const program = `#!/bin/sh\nexec ${process.execPath} ${built('src/cli.js')} "$@"\n`;
  writeFileSync(join(cwd, 'policyloop'), program, { mode: 0o755 });
  const env = { PATH: `${cwd}${delimiter}${process.env.PATH}`, HOME: cwd };
  const completed = (line: string) => {
    const script = `policyloop completion fish | source; complete -C '${line}'`;
    return spawnSync('fish', ['--no-config', '-c', script], { cwd, env, encoding: 'utf8' })
      .stdout.split('\n')
      .map((text) => text.split('\t')[0]);
  };
  expect(completed('policyloop re')).toEqual(expect.arrayContaining(['report', 'resume']));
  expect(completed('policyloop show cart')).toContain('cartpole-first');
  expect(completed('policyloop run mi')).toContain('mine.yaml');
});
