import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, expectTypeOf, it } from 'vitest';
import yargs, { type Argv } from 'yargs';
import { type Arguments, type Command, commonOptions } from '../../src/base/command.js';

const root = resolve(import.meta.dirname, '../..');
const files = ['src/commands', 'finetune/commands'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
);

const helpOf = async (file: string) => {
  const { options } = (await import(join(root, file))) as Command<unknown>;
  return options(yargs([]).help(false).version(false).wrap(null)).getHelp();
};

describe.each(files)('%s', (file) => {
  it('describes each argument, and gives an example', async () => {
    const help = await helpOf(file);
    const [declared, examples] = help.split('Examples:\n') as [string, string?];
    expect(examples?.trim() ?? '').toMatch(/\S {2,}\S/);
    const bare = declared.split('\n').filter((line) => /^ +(-\w, +)?[\w-]+ +\[/.test(line));
    expect(bare).toEqual([]);
  });

  it('takes --json, unless it is init or mcp', async () => {
    expect((await helpOf(file)).includes('--json')).toBe(!/\/(init|mcp)\.ts$/.test(file));
  });
});

/** The packages that a module loads with all that it imports when it is loaded itself: types and `import()` are not. */
function packagesOf(path: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(path)) return new Set();
  seen.add(path);
  const imports = /^(?:import|export) (?!type\b)[^;]*? from '([^']+)';/gm;
  const named = [...readFileSync(path, 'utf8').matchAll(imports)].map(([, name]) => name!);
  const own = named.filter((name) => name.startsWith('.')).map((name) => join(dirname(path), name));
  return new Set([
    ...named.filter((name) => !name.startsWith('.') && !name.startsWith('node:')),
    ...own.flatMap((name) => [...packagesOf(name.replace(/\.js$/, '.ts'), seen)]),
  ]);
}

describe('--help is fast', () => {
  it.each(files)('%s loads no schema, SDK or native module before it runs', (file) => {
    const light = ['cli-progress', 'fastest-levenshtein', 'string-width', 'wrap-ansi', 'yargs'];
    expect([...packagesOf(join(root, file))].filter((name) => !light.includes(name))).toEqual([]);
  });

  it('the check detects a module that loads zod', () => {
    expect([...packagesOf(join(root, 'src/studies/run.ts'))]).toContain('zod');
  });
});

describe('Arguments', () => {
  const options = (y: Argv) =>
    y
      .positional('run', commonOptions.run)
      .positional('overrides', commonOptions.overrides)
      .option('runs-dir', commonOptions.runsDir)
      .option('workers', commonOptions.workers)
      .option('dtype', { choices: ['f32', 'f16'] as const, default: 'f16' as const });

  it('have the types of the declared options', () => {
    expectTypeOf<Arguments<typeof options>>().toExtend<{
      readonly run: string;
      readonly overrides: readonly string[];
      readonly runsDir: string;
      readonly workers?: number | undefined;
      readonly dtype: 'f32' | 'f16';
    }>();
    expectTypeOf<Arguments<typeof options>>().not.toHaveProperty('runs-dir');
  });
});
