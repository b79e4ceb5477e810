/** `key=value` is an override at any position, in every command that takes overrides. */
import { mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import yargs from 'yargs';
import type { Command } from '../../src/base/command.js';
import { type DeclaredOptions, moveOverridesFirst } from '../../src/base/overrides-apart.js';
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
      expect(
        moveOverridesFirst([`--${list}`, 'a', 'b', 'model.maxTokens=160', '--seed', '3'], declared),
      ).toEqual(['model.maxTokens=160', ...[`--${list}`, 'a', 'b', '--seed', '3']]);
    }
  });
});

describe('moveOverridesFirst', () => {
  const declared = { array: ['baseline', 'configs'], boolean: ['json'] };
  const moved = (...args: readonly string[]) => moveOverridesFirst(args, declared);

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

  it('does not mistake paths for overrides', () => {
    const place = join(temporaryDirectory(), 'lr=3');
    mkdirSync(place);
    const files = [place, 'runs/lr=3', './a=b.yaml'];
    expect(moved('a=1', ...files)).toEqual([...files, 'a=1']);
  });
});
