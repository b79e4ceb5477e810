/** Runs a policyloop command in a separate process. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { exitCodes } from '../../src/base/context.js';
import { packageRoot } from '../../src/base/package.js';

/** Maximum heap of a command in megabytes; datasets are held in memory as a whole. */
export const heapMegabytes = 8000;

/** A signal stopped the process; the command can be run again. */
export class Interrupted extends Error {}

/**
 * Runs `policyloop <args>` from the sources, with output to this terminal.
 * @throws Interrupted if a signal stopped it; Error if it failed
 */
export function policyloop(args: readonly string[]): Promise<void> {
  process.stderr.write(`$ policyloop ${args.map(shown).join(' ')}\n`);
  const root = packageRoot();
  return new Promise((resolve, reject) => {
    const node = [`--max-old-space-size=${heapMegabytes}`, '--import', 'tsx'];
    const child = spawn(process.execPath, [...node, join(root, 'src/cli.ts'), ...args], {
      cwd: root,
      stdio: ['ignore', 2, 2],
    });
    // Ctrl-C in a terminal also reaches the child; a second signal would stop it immediately.
    const forward = (signal: NodeJS.Signals) => {
      if (signal === 'SIGTERM' || !process.stderr.isTTY) child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const signal of signals) process.on(signal, forward);
    const done = () => {
      for (const signal of signals) process.off(signal, forward);
    };
    child.on('error', (error) => {
      done();
      reject(error);
    });
    child.on('exit', (code, signal) => {
      done();
      if (code === 0) resolve();
      else if (code === exitCodes.interrupted || signal === 'SIGINT' || signal === 'SIGTERM')
        reject(new Interrupted());
      else reject(new Error(`policyloop ${args.slice(0, 2).join(' ')} ended with ${code ?? signal}`));
    });
  });
}

const shown = (text: string) => (/^[\w./=,:-]+$/.test(text) ? text : `'${text}'`);
