/** Checks the package as a user gets it: `npx` in the checkout, and the packed files on their own. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const place = mkdtempSync(join(tmpdir(), 'policyloop-smoke-'));
const say = (text) => process.stdout.write(`${text}\n`);
const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

try {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const shown = run('npx', ['policyloop', '--version'], root).trim();
  if (shown !== version) throw new Error(`npx policyloop --version prints ${shown}, not ${version}`);
  say(`npx policyloop in the checkout: ${shown}`);

  const [{ filename, size, entryCount, files }] = JSON.parse(
    run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', place], root),
  );
  const packed = new Set(files.map(({ path }) => path));
  const compiled = /\.ts$|tsconfig\.json$|^src\/web\/style\//;
  const read = run('git', ['ls-files', 'src', 'finetune'], root)
    .split('\n')
    .filter((path) => path !== '' && !compiled.test(path));
  const missing = [...read, 'dist/web/app.css', 'dist/web/app.js'].filter((path) => !packed.has(path));
  if (missing.length > 0) throw new Error(`read at run time, not packed: ${missing.join(', ')}`);
  run('tar', ['-xf', filename], place);
  symlinkSync(join(root, 'node_modules'), join(place, 'package', 'node_modules'));
  const cli = join(place, 'package', 'dist', 'src', 'cli.js');
  const lines = run(process.execPath, [cli, 'run', 'quickstart', '--json'], place).trimEnd().split('\n');
  const { confirmed, report } = JSON.parse(lines.at(-1));
  if (!(confirmed.mean >= 475)) throw new Error(`quickstart confirmed only ${confirmed.mean}`);
  readFileSync(join(place, report));
  say(
    `packed: ${entryCount} files, ${(size / 1024).toFixed(0)} kB; its quickstart confirms ${confirmed.mean}`,
  );
} finally {
  rmSync(place, { recursive: true, force: true });
}
