/** Runs in processes of their own, asked for by a server that answers as a test decides. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach } from 'vitest';
import { startCommand } from './command.js';
import { HeldServer } from './held-server.js';
import { temporaryDirectory } from './temporary-directory.js';

/** @param configOf the config, by the URL of the server; each test has it in a new directory */
export async function heldRuns(configOf: (url: string) => string, options: readonly string[] = []) {
  const server = await HeldServer.start();
  let cwd = '';
  beforeEach(() => {
    cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'config.yaml'), configOf(server.url));
    server.requests.length = 0;
  });
  const at = (...path: string[]) => join(cwd, ...path);
  const start = (...args: string[]) => startCommand(cwd, [...args, ...options]);
  return {
    server,
    at,
    run: (name: string, ...overrides: string[]) =>
      start('run', 'config.yaml', ...overrides, '--run-dir', name),
    sweep: (name: string, ...words: string[]) => start('sweep', 'config.yaml', ...words, '--out', name),
    resume: (name: string, ...overrides: string[]) => start('resume', name, ...overrides, '--runs-dir', '.'),
    evaluations: (name: string) => readFileSync(at(name, 'evaluations.jsonl'), 'utf8'),
    seeds: () => server.requests.map(({ seed }) => seed),
  };
}
