import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..');

interface Module {
  readonly path: string;
  /** Everything it names, types included. */
  readonly imports: readonly string[];
  /** What is left of it at run time. */
  readonly runtimeImports: readonly string[];
  readonly text: string;
}

function read(folder: string): readonly Module[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(join(root, path), 'utf8');
      const statements = [
        ...text.matchAll(/^(import|export)( type)?\b([^;']*?from )?'(\.[^']+)'/gm),
        ...text.matchAll(/()()()import\('(\.[^']+)'\)/g),
      ];
      const resolved = statements.map((match) => ({
        path: relative(root, resolve(root, dirname(path), match[4]!)).replace(/\.js$/, '.ts'),
        typeOnly: match[2] === ' type',
      }));
      return {
        path,
        imports: resolved.map((item) => item.path),
        runtimeImports: resolved.filter((item) => !item.typeOnly).map((item) => item.path),
        text,
      };
    });
}

const modules = read('src');
const fineTuner = read('finetune');

/** Where the command line and the fine-tuner meet. */
const meeting = /^src\/commands\/finetune(-\w+)*\.ts$/;

/** What each part may import beside itself: imports run one way. */
const allowed: Readonly<Record<string, RegExp>> = {
  'src/environments/': /^src\/(errors|random|package-root)\.ts$/,
  'src/policies/': /^src\/(errors|random|config)\.ts$|^src\/environments\/environment\.ts$/,
  'src/models/': /^src\/(errors|random|config|package-root|statistics)\.ts$|^src\/policies\/policy\.ts$/,
  'src/serve/':
    /^src\/errors\.ts$|^src\/policies\/policy\.ts$|^src\/models\/(language-model\.ts|local\/)|^src\/prompting\/reply-scanner\.ts$/,
  'src/prompting/':
    /^src\/(errors|config|package-root|replay-buffer|run-log)\.ts$|^src\/policies\/|^src\/environments\/(environment|props\/mazes)\.ts$|^src\/models\/language-model\.ts$/,
  'src/import/': /^src\/(errors|config|config-schema|config-overrides)\.ts$|^src\/environments\/index\.ts$/,
  'src/render/': /^src\/errors\.ts$|^src\/environments\/frame\.ts$/,
  'src/report/':
    /^src\/(errors|config|manifest|replay-buffer|run-log|statistics)\.ts$|^src\/(prompting|policies)\/|^src\/models\/language-model\.ts$/,
};

describe('imports run one way', () => {
  it.each(Object.entries(allowed))('%s', (folder, pattern) => {
    const offending = modules
      .filter(({ path }) => path.startsWith(folder))
      .flatMap(({ path, imports }) =>
        imports
          .filter((target) => !target.startsWith(folder) && !pattern.test(target))
          .map((target) => `${path} → ${target}`),
      );
    expect(offending).toEqual([]);
  });

  it('only the CLI imports commands, nothing imports the CLI, and one command imports the fine-tuner', () => {
    const offending = modules.flatMap(({ path, imports }) =>
      imports
        .filter(
          (target) =>
            target === 'src/cli.ts' ||
            (target.startsWith('finetune/') && !meeting.test(path)) ||
            (target.startsWith('src/commands/') &&
              path !== 'src/cli.ts' &&
              !path.startsWith('src/commands/')),
        )
        .map((target) => `${path} → ${target}`),
    );
    expect(offending).toEqual([]);
  });

  it('the fine-tuner imports no command', () => {
    const offending = fineTuner.flatMap(({ path, imports }) =>
      imports
        .filter((target) => target === 'src/cli.ts' || target.startsWith('src/commands/'))
        .map((target) => `${path} → ${target}`),
    );
    expect(offending).toEqual([]);
  });

  it('has no cycles at run time', () => {
    const all = [...modules, ...fineTuner];
    const byPath = new Map(all.map((module) => [module.path, module]));
    const state = new Map<string, 'open' | 'done'>();
    const cycles: string[] = [];
    const visit = (path: string, trail: readonly string[]): void => {
      if (state.get(path) === 'done') return;
      if (state.get(path) === 'open') {
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
        return;
      }
      state.set(path, 'open');
      for (const target of byPath.get(path)?.runtimeImports ?? []) visit(target, [...trail, path]);
      state.set(path, 'done');
    };
    for (const { path } of all) visit(path, []);
    expect(cycles).toEqual([]);
  });
});

describe('effects have one place', () => {
  it.each([
    ['process.env and process.argv', /process\.(env|argv)\b/, /^src\/(cli|models\/local\/onnx-runtime)\.ts$/],
    ['the exit code', /process\.(exit\(|exitCode)/, /^src\/cli\.ts$/],
    ['the clock', /\bDate\.now\(|new Date\(\)/, /^src\/cli\.ts$/],
    ['unseeded randomness', /Math\.random/, /^$/],
  ])('%s', (_name, pattern, place) => {
    const offending = [...modules, ...fineTuner].filter(
      ({ path, text }) => pattern.test(text) && !place.test(path),
    );
    expect(offending.map(({ path }) => path)).toEqual([]);
  });
});
