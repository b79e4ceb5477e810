import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CommandContext } from '../../src/base/context.js';
import { packageRoot } from '../../src/base/package.js';
import { execute as importCommand } from '../../src/commands/import.js';
import { execute as runCommand } from '../../src/commands/run.js';
import { loadConfig } from '../../src/config/load.js';
import { readRun } from '../../src/runs/reader.js';
import { temporaryDirectory } from '../support/experiments.js';

const finetuneLinear = readFileSync(
  join(packageRoot(), 'test/fixtures/imported-configs/finetuneLinear.yaml'),
  'utf8',
);
const propsLinear = readFileSync(
  join(packageRoot(), 'test/fixtures/imported-configs/propsLinear.yaml'),
  'utf8',
);

type ImportArguments = Parameters<typeof importCommand>[0];

function workplace(text: string) {
  const cwd = temporaryDirectory();
  const [printed, noted]: [string[], string[]] = [[], []];
  writeFileSync(join(cwd, 'theirs.yaml'), text);
  const context: CommandContext = {
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
    terminal: undefined,
    env: {},
    cwd,
    now: () => new Date(0),
    milliseconds: () => 0,
    stop: { finish: new AbortController().signal, abort: new AbortController().signal },
  };
  const args: ImportArguments = {
    config: join(cwd, 'theirs.yaml'),
    overrides: [],
    output: 'ours.yaml',
    force: false,
    json: false,
  };
  return { cwd, context, args, printed, noted };
}

it('policyloop import writes a config, and notes what it leaves out', async () => {
  const { cwd, context, args, printed, noted } = workplace(propsLinear);
  expect(await importCommand(args, context)).toBe(0);
  const text = readFileSync(join(cwd, 'ours.yaml'), 'utf8');
  expect(text).toContain('iterations: 40\n');
  expect(text).toMatch(/^#.*warmup_dir: not imported: /m);
  expect(loadConfig({ file: join(cwd, 'ours.yaml') }).config).toEqual(
    loadConfig({ file: args.config }).config,
  );
  expect(printed).toEqual([]);
  expect(noted[0]).toContain('was imported from ProPS:');
  expect(noted).toContainEqual(expect.stringContaining('warmup_dir: not imported: '));
});

it('policyloop import overwrites a file only with --force', async () => {
  const { cwd, context, args } = workplace(propsLinear);
  writeFileSync(join(cwd, 'ours.yaml'), 'mine');
  await expect(importCommand(args, context)).rejects.toThrow('already exists');
  expect(readFileSync(join(cwd, 'ours.yaml'), 'utf8')).toBe('mine');
  await importCommand({ ...args, force: true }, context);
  expect(readFileSync(join(cwd, 'ours.yaml'), 'utf8')).toContain('environment:');
});

it('policyloop import prints the config without -o, and prints JSON with --json', async () => {
  const { cwd, context, args, printed } = workplace(propsLinear);
  await importCommand({ ...args, output: undefined }, context);
  await importCommand(
    { ...args, output: undefined, json: true, overrides: ['iterations=2', 'seed=3'] },
    context,
  );
  expect(printed[0]).toContain('environment:\n');
  expect(JSON.parse(printed[1]!)).toMatchObject({
    program: 'ProPS',
    config: { seed: 3, iterations: 2 },
    notes: expect.arrayContaining([{ kind: 'carried', key: 'num_episodes', to: ['iterations'] }]),
  });
  expect(existsSync(join(cwd, 'ours.yaml'))).toBe(false);
});

it('policyloop import rejects a config that is already in our format', async () => {
  const { context, args } = workplace('environment: CartPole-v1\nmodel: {provider: random}\n');
  await expect(importCommand(args, context)).rejects.toThrow('is already a policyloop config');
});

it('policyloop run imports a config of another program, and records the notes as warnings of the run', async () => {
  const { cwd, context, args, noted } = workplace(finetuneLinear);
  const runDir = join(cwd, 'run');
  const code = await runCommand(
    {
      config: args.config,
      overrides: ['model.provider=random', 'iterations=1', 'warmup=1', 'confirmation.candidates=0'],
      runDir,
      runsDir: cwd,
      dryRun: false,
      quiet: true,
      json: true,
    },
    context,
  );
  expect(code).toBe(0);
  const said = noted.filter((line) => line.includes('the correct spelling of Cartpole-v1 is CartPole-v1'));
  expect(said).toHaveLength(1);
  expect(loadConfig({ file: join(runDir, 'config.yaml') }).config).toMatchObject({
    environment: { id: 'CartPole-v1' },
    iterations: 1,
  });
  const warnings = readRun(runDir).events.filter(({ kind }) => kind === 'warning');
  expect(warnings).toContainEqual(expect.objectContaining({ message: said[0]!.trim() }));
});
