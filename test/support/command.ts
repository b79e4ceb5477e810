/** The command line as a process of its own, to be sent signals. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { built } from './built.js';

export interface StartedCommand {
  readonly child: ChildProcess;
  /** Resolves when the pattern stands in what it wrote to stderr. */
  wrote(pattern: RegExp): Promise<void>;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

export function startCommand(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): StartedCommand {
  const child = spawn(process.execPath, [built('src/cli.js'), ...args], {
    cwd,
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
  });
  let [stdout, stderr] = ['', ''];
  const looks = new Set<() => void>();
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    for (const look of looks) look();
  });
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    child,
    wrote: (pattern) =>
      new Promise((resolve) => {
        const look = () => pattern.test(stderr) && resolve();
        looks.add(look);
        look();
      }),
    ended: closed.then(([code, signal]) => ({ code, signal, stdout, stderr })),
  };
}
