/** The commands of SKILL.md and AGENTS.md, run as an agent runs them, in an empty directory. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/base/package.js';
import { findCommand } from '../../src/commands.js';
import { built } from '../support/built.js';
import { startCommand } from '../support/command.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const cwd = temporaryDirectory();
const textOf = (file: string) => readFileSync(join(packageRoot(), file), 'utf8');
const skill = textOf('SKILL.md');

/** `npx policyloop …`: the package as it was built. */
function npx(): string {
  const folder = join(cwd, 'bin');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'npx'),
    `#!/bin/sh\nshift\nexec "${process.execPath}" "${built('src/cli.js')}" "$@"\n`,
  );
  chmodSync(join(folder, 'npx'), 0o755);
  return `${folder}${delimiter}${process.env.PATH}`;
}

const section = (title: string) => skill.split(`\n## ${title}\n`)[1]!.split('\n## ')[0]!;
const commandsIn = (text: string) =>
  [...text.matchAll(/\n```sh\n([\s\S]*?)```\n/g)].flatMap(([, code]) => code!.trim().split('\n'));

describe('SKILL.md', () => {
  const path = npx();
  const run = (command: string) => {
    const { status, stderr, stdout } = spawnSync('sh', ['-c', command], {
      cwd,
      encoding: 'utf8',
      env: { PATH: path, NO_COLOR: '1', HOME: cwd },
    });
    const expected = { command, status: 0, stderr: '' };
    expect({ command, status, stderr: status === 0 ? '' : stderr }).toEqual(expected);
    for (const line of stdout.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  };

  it('has valid front matter for a skill', () => {
    expect(skill).toMatch(/^---\nname: policyloop\ndescription: .{40,400}\n---\n/);
  });

  it('has working commands to set up, launch, watch and judge, which print JSON', () => {
    const [, file, config] = /\n```yaml\n# (\S+)\n([\s\S]*?)```\n/.exec(skill)!;
    writeFileSync(join(cwd, file!), config!);
    for (const title of ['Set up', 'Launch', 'Watch', 'Judge']) {
      const commands = commandsIn(section(title));
      expect(commands.length).toBeGreaterThan(1);
      for (const command of commands) run(command);
    }
  }, 400_000);

  it('has a working command to stop a live run', async () => {
    const long = ['iterations=1000000', 'limits.calls=1000000', 'model.provider=hill-climb'];
    const { ended, wrote } = startCommand(cwd, ['run', 'pole.yaml', ...long, '--run-dir', 'buffers/live']);
    await wrote(/iteration|CartPole/);
    for (const command of commandsIn(section('Stop and resume'))) run(command);
    expect((await ended).code).toBe(130);
  }, 400_000);
});

it.each(['SKILL.md', 'AGENTS.md'])('commands after `npx policyloop` in %s exist', (file) => {
  const named = [...textOf(file).matchAll(/npx policyloop ([a-z]+)(?: ([a-z]+))?/g)];
  expect(named.length).toBeGreaterThan(2);
  for (const [, ...words] of named) {
    const given = words.filter((word) => word !== undefined);
    expect(given.join() === 'finetune' || findCommand(given).command !== undefined).toBe(true);
  }
});
