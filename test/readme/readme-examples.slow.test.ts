/** Modules and programs of the documents, run as a user runs them: by Node, with the package built. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/base/package.js';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const cwd = temporaryDirectory();

/** The blocks of a language in a page. */
function blocks(page: string, language: string): readonly string[] {
  const text = readFileSync(join(packageRoot(), page), 'utf8');
  return [...text.matchAll(new RegExp(`\\n\`\`\`${language}\\n([^]*?)\`\`\`\\n`, 'g'))].map(
    ([, code]) => code!,
  );
}

const node = (...given: readonly string[]) =>
  execFileSync(process.execPath, given, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const policyloop = (...given: readonly string[]) => node(built('src/cli.js'), ...given);

beforeAll(() => {
  const installed = join(cwd, 'node_modules', 'policyloop');
  mkdirSync(installed, { recursive: true });
  const entry = JSON.stringify(built('src/index.js'));
  writeFileSync(join(installed, 'package.json'), `{"type": "module", "exports": "./index.js"}`);
  writeFileSync(join(installed, 'index.js'), `export * from ${entry};\n`);
});

/** Every command that reads a run. */
function readRun(name: string) {
  expect(policyloop('list')).toContain(name);
  expect(policyloop('show', name)).toContain('best policy');
  expect(policyloop('evaluate', name, '--episodes', '5')).toContain('mean return');
  policyloop('report', name);
  expect(readFileSync(join(cwd, 'buffers', name, 'report.html'), 'utf8')).toContain('</html>');
}

describe('examples in the documents', () => {
  it('the custom environment gives a completed run that commands can read and resume', () => {
    const [code] = blocks('docs/how-to/modules.md', 'js');
    const [config] = blocks('docs/how-to/modules.md', 'yaml');
    writeFileSync(join(cwd, 'my-env.mjs'), code!);
    writeFileSync(join(cwd, 'my-env.yaml'), config!);
    const told = policyloop('run', 'my-env.yaml', '--run-dir', 'buffers/own', '--json');
    expect(JSON.parse(told.trim().split('\n').at(-1)!)).toMatchObject({
      status: 'completed',
      iterations: 20,
    });
    readRun('own');
    const resumed = policyloop('resume', 'own', 'iterations=21', 'evaluation.workers=2', '--json');
    expect(JSON.parse(resumed.trim().split('\n').at(-1)!)).toMatchObject({ iterations: 21 });
  });

  it('the library example with a custom model gives a completed run that commands can read', () => {
    const [code] = blocks('docs/how-to/library.md', 'js');
    writeFileSync(join(cwd, 'library.mjs'), code!);
    expect(node('library.mjs')).toMatch(/^completed [\d.]+ .*buffers[\\/]mine\n$/);
    readRun('mine');
    const manifest = readFileSync(join(cwd, 'buffers', 'mine', 'manifest.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({ status: 'completed', iterations: { done: 8, of: 8 } });
  });

  it('a run completes with the module that `init environment` writes', () => {
    const file = join(cwd, 'written', 'my-env.js');
    mkdirSync(dirname(file));
    expect(policyloop('init', 'environment', file)).toContain('environment: ');
    writeFileSync(
      join(cwd, 'written', 'c.yaml'),
      'environment: ./my-env.js\nmodel: {provider: random}\niterations: 1\n',
    );
    const words = 'run written/c.yaml --run-dir buffers/written --workers 2 --json';
    const told = policyloop(...words.split(' '));
    expect(JSON.parse(told.trim().split('\n').at(-1)!)).toMatchObject({ status: 'completed' });
  });
});
