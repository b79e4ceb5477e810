/** Starts and resumes experiments for MCP clients. Each runs in its own process, which continues if the server ends. */
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type CommandContext, shownPath } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { newRunPath } from '../runs/create.js';
import { findRun } from '../runs/listing/names.js';
import { readManifest, runFiles, statusOf } from '../runs/reader.js';

export interface LaunchedRun {
  /** Path of the run, to pass to the other tools. */
  readonly run: string;
  /** Process id. */
  readonly pid: number;
  /** Exit code 0 if the process has already ended; otherwise null. */
  readonly ended: number | null;
}

type LaunchContext = Pick<CommandContext, 'cwd' | 'env' | 'now'>;

/** Starts an experiment in a new directory, named after the config and the time. */
export async function launchRun(
  { config, overrides }: { readonly config: string; readonly overrides: readonly string[] },
  runsDir: string,
  context: LaunchContext,
): Promise<LaunchedRun> {
  const path = newRunPath({ runsDir }, config, context);
  // Other tools accept the run as soon as this file exists.
  const isBegun = () => existsSync(join(path, runFiles.manifest));
  try {
    return await launch(['run', config, ...overrides, '--run-dir', path], path, isBegun, context);
  } finally {
    if (existsSync(path) && readdirSync(path).length === 0) rmdirSync(path);
  }
}

/** Resumes a run in a new process. */
export async function launchResumption(
  { overrides, run }: { readonly run: string; readonly overrides: readonly string[] },
  runsDir: string,
  context: LaunchContext,
): Promise<LaunchedRun> {
  const path = findRun(run, { cwd: context.cwd, runsDir });
  const status = () =>
    existsSync(join(path, runFiles.manifest)) ? statusOf(path, readManifest(path)) : undefined;
  const startMs = context.now().getTime();
  // If this returned earlier, a stop could overtake the resumption, which would then restart the stopped run.
  const isBegun =
    status() === undefined ? () => context.now().getTime() > startMs + 1000 : () => status() === 'running';
  return launch(['resume', path, ...overrides], path, isBegun, context);
}

/** Maximum time to wait for a run to start, in milliseconds; loading a large model takes time. */
const maxStartMs = 60_000;

/** @throws UserError with the output of the process if it fails before the run starts */
async function launch(
  words: readonly string[],
  path: string,
  isBegun: () => boolean,
  { cwd, env }: LaunchContext,
): Promise<LaunchedRun> {
  const folder = mkdtempSync(join(tmpdir(), 'policyloop-'));
  const logFile = join(folder, 'output');
  const descriptor = openSync(logFile, 'w');
  // The process writes to a file, because with pipes, the run would end with this server.
  const child = spawn(
    process.execPath,
    // The client's words can't be options, because `confined.ts` rejects leading hyphens.
    [fileURLToPath(new URL('../cli.js', import.meta.url)), ...words, '--quiet'],
    {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ['ignore', 'ignore', descriptor],
    },
  );
  try {
    let code: number | undefined;
    child.on('error', () => {
      code = 1;
    });
    child.on('exit', (status) => {
      code = status ?? 1;
    });
    for (let waitedMs = 0; waitedMs < maxStartMs && code === undefined && !isBegun(); waitedMs += 50)
      await delay(50);
    if (code !== undefined && code !== 0)
      throw new UserError({
        message: readFileSync(logFile, 'utf8')
          .trim()
          .replace(/^error /, ''),
      });
    return { run: shownPath(path, cwd), pid: child.pid ?? 0, ended: code ?? null };
  } finally {
    child.unref();
    closeSync(descriptor);
    rmSync(folder, { recursive: true, force: true });
  }
}
