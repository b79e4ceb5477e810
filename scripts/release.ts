/**
 * `npm run release -- 0.2.0`: sets the version, dates the changelog, runs every test, commits, tags and packs. Nothing
 * is published or pushed. `--dry-run` only shows what would change.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { packageRoot } from '../src/base/package.js';

const root = packageRoot();
const dryRun = process.argv.includes('--dry-run');
const version = process.argv.slice(2).find((word) => !word.startsWith('--'));

/** Returns the changelog with the unreleased entries under `next`. @throws Error if there are none */
export function dated(changelog: string, next: string, day: string): string {
  const [head, entries, rest] = partsOf(changelog);
  if (entries === undefined || !/^- /m.test(entries))
    throw new Error('CHANGELOG.md has no unreleased entries');
  return `${head}## Unreleased\n\n${entries.replace('## Unreleased', `## ${next} (${day})`)}${rest}`;
}

function partsOf(changelog: string): readonly [string, string | undefined, string] {
  const start = changelog.indexOf('## Unreleased\n');
  if (start < 0) return [changelog, undefined, ''];
  const end = changelog.indexOf('\n## ', start);
  return [changelog.slice(0, start), changelog.slice(start, end + 1), changelog.slice(end + 1)];
}

/** @throws Error unless `next` is a higher version than `current` */
export function requireHigher(current: string, next: string | undefined): string {
  const numbers = (text: string) => /^(\d+)\.(\d+)\.(\d+)$/.exec(text)?.slice(1).map(Number);
  const [a, b] = [numbers(current), numbers(next ?? '')];
  if (a === undefined || b === undefined) throw new Error('usage: npm run release -- 0.2.0 [--dry-run]');
  const i = a.findIndex((value, k) => value !== b[k]);
  if (i < 0 || a[i]! > b[i]!) throw new Error(`${next} isn't higher than the current version, ${current}`);
  return b.join('.');
}

function release(): void {
  const run = (command: string, ...words: string[]) => {
    process.stdout.write(`$ ${command} ${words.join(' ')}\n`);
    if (!dryRun) execFileSync(command, words, { cwd: root, stdio: 'inherit' });
  };
  const read = (name: string) => readFileSync(join(root, name), 'utf8');
  const { version: current } = JSON.parse(read('package.json')) as { version: string };
  const next = requireHigher(current, version);
  const changelog = dated(read('CHANGELOG.md'), next, new Date().toISOString().slice(0, 10));
  if (execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' }) !== '')
    throw new Error('there are uncommitted changes: commit or stash them first');
  run('npm', 'run', 'lint');
  run('npm', 'run', 'typecheck');
  run('npm', 'run', 'test:all');
  run('npm', 'version', next, '--no-git-tag-version');
  if (!dryRun) writeFileSync(join(root, 'CHANGELOG.md'), changelog);
  run('git', 'commit', '-am', `Version ${next}`);
  run('git', 'tag', '-a', `v${next}`, '-m', `Version ${next}`);
  run('npm', 'pack');
  process.stdout.write(
    `policyloop-${next}.tgz is ready; git push --follow-tags and npm publish are up to you\n`,
  );
}

if (process.argv[1] === import.meta.filename) release();
