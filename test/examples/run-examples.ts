/** Runs the commands of an example's README in a copy of its folder, and compares what they print with what the README shows. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { blocksOf, commandsOf, isShell, root } from '../docs/blocks.js';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const folder = join(root, 'examples');
export const examples: readonly string[] = readdirSync(folder).filter((name) =>
  existsSync(join(folder, name, 'README.md')),
);
const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const packages: Readonly<Record<string, string>> = {
  'environment-python': 'gymnasium',
  notebook: 'pandas, pyarrow',
};
const hasPackages = (example: string) =>
  !(example in packages) || spawnSync(python, ['-c', `import ${packages[example]}`]).status === 0;

/** A directory with the programs that a README calls. */
function programs(): string {
  const bin = temporaryDirectory();
  const scripts = {
    npx: `[ "$1" = policyloop ] || exit 127\nshift\nexec "${process.execPath}" "${built('src/cli.js')}" "$@"`,
    python3: `exec "${python}" "$@"`,
  };
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** Copies an example; the port of its server becomes a free one. */
async function copied(example: string): Promise<string> {
  const place = temporaryDirectory();
  cpSync(join(folder, example), place, { recursive: true });
  const port = await freePort();
  for (const name of readdirSync(place).filter((one) => /\.(mjs|yaml|md)$/.test(one))) {
    const path = join(place, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('8765', String(port)));
  }
  return place;
}

/** Runs commands in a shell, and ends what they leave running. */
function printed(commands: readonly string[], place: string): Promise<string> {
  const env = {
    PATH: [programs(), process.env.PATH].join(delimiter),
    HOME: place,
    CI: 'true',
    POLICYLOOP_PYTHON: python,
  };
  const script = ['set -e -o pipefail', 'trap "kill $(jobs -p) 2> /dev/null || true" EXIT', ...commands].join(
    '\n',
  );
  const child = spawn('bash', ['-c', script], { cwd: place, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      text += String(part);
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`exit code ${code}:\n${text}`)),
    );
  });
}

const words = (text: string) => text.split(/\s+/).filter(Boolean).join(' ');

export const testExamples = (names: readonly string[], timeout: number) =>
  describe.each(names)('examples/%s', (example) => {
    const readme = readFileSync(join(folder, example, 'README.md'), 'utf8');
    const blocks = blocksOf(`examples/${example}/README.md`, readme);

    it('has a page of at most 30 lines', () => {
      expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
      expect(blocks.filter(isShell).length).toBeGreaterThan(0);
    });

    it.skipIf(!hasPackages(example))('prints what its page shows', { timeout }, async () => {
      const place = await copied(example);
      const text = words(await printed(blocks.filter(isShell).flatMap(commandsOf), place));
      const lines = blocks
        .filter(({ language }) => language === 'text')
        .flatMap(({ code }) => code.split('\n'));
      for (const line of lines.filter((one) => one.trim() !== '')) expect(text).toContain(words(line));
    });
  });
