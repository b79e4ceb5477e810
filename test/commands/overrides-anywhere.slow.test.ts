/** `key=value` is an override wherever it stands, in every command that takes overrides. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import yargs from 'yargs';
import type { Command } from '../../src/base/command.js';
import { type DeclaredOptions, overridesApart } from '../../src/base/overrides-apart.js';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const root = resolve(import.meta.dirname, '../..');
const files = ['src/commands', 'finetune/commands'].flatMap((folder) =>
  readdirSync(join(root, folder), { encoding: 'utf8', recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
);

async function declaredBy(file: string) {
  const { options } = (await import(join(root, file))) as Command<unknown>;
  return (options(yargs([])) as unknown as { getOptions(): DeclaredOptions }).getOptions();
}

describe.each(files)('%s', (file) => {
  it('has no list option that swallows an override', async () => {
    const declared = await declaredBy(file);
    for (const list of declared.array) {
      expect(overridesApart([`--${list}`, 'a', 'b', 'model.maxTokens=160', '--seed', '3'], declared)).toEqual(
        ['model.maxTokens=160', ...[`--${list}`, 'a', 'b', '--seed', '3']],
      );
    }
  });
});

describe('overridesApart', () => {
  const declared = { array: ['control', 'configs'], boolean: ['json'] };
  const moved = (...args: readonly string[]) => overridesApart(args, declared);

  it('keeps the order of overrides and of the other arguments', () => {
    expect(moved('run', 'a=1', 'x', '--json', 'b.c=2', 'y', '--', 'z', 'd-e=3')).toEqual([
      ...['run', 'x', 'y'],
      ...['a=1', 'b.c=2', 'd-e=3'],
      ...['--json', '--', 'z'],
    ]);
  });

  it('does not separate options from their values', () => {
    expect(moved('--out', 'a=b', 'c=d')).toEqual(['c=d', '--out', 'a=b']);
    expect(moved('-o', 'a=b', '--out=e', 'c=d', 'x')).toEqual(['x', 'c=d', '-o', 'a=b', '--out=e']);
    expect(moved('--baseline=p', 'q', 'c=d', 'r', '--json', 'true', 'x')).toEqual([
      ...['x', 'c=d', '--baseline=p'],
      ...['q', 'r', '--json', 'true'],
    ]);
  });

  it('does not mistake files, paths or ids for overrides', () => {
    const place = join(temporaryDirectory(), 'lr=3');
    mkdirSync(place);
    const files = [place, 'runs/lr=3', './a=b.yaml'];
    expect(moved('a=1', ...files)).toEqual([...files, 'a=1']);
  });
});

describe('policyloop recognizes an override before and after other arguments', () => {
  const cwd = () => {
    const place = temporaryDirectory();
    writeFileSync(join(place, 'config.yaml'), 'environment: CartPole-v1\nmodel: {provider: random}\n');
    writeFileSync(
      join(place, 'theirs.yaml'),
      'gym_env_name: CartPole-v1\ntask: cartpole\nrender_mode: null\n',
    );
    return place;
  };
  const models = ['--tuned', 'random', '--base', 'cma-es'];
  const commands: readonly string[][] = [
    ['run', 'config.yaml'],
    ['check', 'config.yaml', '--offline'],
    ['import', 'theirs.yaml'],
    ['sweep', 'config.yaml', 'seed=1'],
    ['finetune', 'train', 'lora'],
    ['finetune', 'export', 'lora', '--to', 'trl', '--out', 'cluster'],
    ['finetune', 'evaluate', ...models, '--configs', 'config.yaml'],
    ['finetune', 'evaluate', ...models, '--configs', 'config.yaml', '--baseline', 'random', 'hill-climb'],
  ];

  it.each(commands.map((args) => [args.join(' '), args] as const))('%s', (_, args) => {
    const words = args[0] === 'finetune' ? 2 : 1;
    const first = [...args.slice(0, words), 'no.such=1', ...args.slice(words)];
    for (const placed of [first, [...args, 'no.such=1']]) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [built('src/cli.js'), ...placed], {
        cwd: cwd(),
        encoding: 'utf8',
        timeout: 30_000,
        env: { PATH: process.env.PATH, NO_COLOR: '1' },
      });
      expect(stdout + stderr).toMatch(/override no\.such=1:/);
      expect(stdout + stderr).toContain('unknown key');
      expect(status).toBe(2);
    }
  });
});
