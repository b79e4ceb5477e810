/**
 * Records test/fixtures/version-0.1.0 with another version's command: `npx tsx test/compatibility/record.ts
 * PATH/TO/dist/src/cli.js`. Not part of any test.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { builds, killed, looks, resumes, words } from './command-lines.js';
import { hashesIn, runLine } from './run-lines.js';

const [cli = ''] = process.argv.slice(2).map((path) => resolve(path));
const fixture = resolve(import.meta.dirname, '../fixtures/version-0.1.0');
const folder = mkdtempSync(join(tmpdir(), 'policyloop-record-'));
mkdirSync(join(folder, 'buffers'));
for (const line of builds) {
  const { exit } = runLine(cli, folder, line);
  if (exit !== 0) throw new Error(`${line} exits with ${exit}`);
}
for (const [output, line] of Object.entries(killed)) {
  const training = spawn(process.execPath, [cli, ...words(line)], { cwd: folder, stdio: 'ignore' });
  const dead = once(training, 'exit');
  while (!existsSync(join(folder, output, 'checkpoint.safetensors'))) await setTimeout(5);
  training.kill('SIGKILL');
  await dead;
}
// Pages are made from the rest.
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (/\.(html|svg|gif)$/.test(entry.name)) rmSync(join(entry.parentPath, entry.name));
}
rmSync(fixture, { recursive: true, force: true });
cpSync(folder, join(fixture, 'project'), { recursive: true });
const answers = [...looks, ...resumes].map((line) => runLine(cli, folder, line));
writeFileSync(join(fixture, 'answers.json'), `${JSON.stringify(answers, null, 1)}\n`);
writeFileSync(join(fixture, 'hashes.json'), `${JSON.stringify(hashesIn(folder), null, 1)}\n`);
for (const { line, exit } of answers) process.stdout.write(`${exit} ${line}\n`);
rmSync(folder, { recursive: true });
