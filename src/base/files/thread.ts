/**
 * Starts threads and processes of policyloop, with the TypeScript loader if it runs from source (tests, development).
 */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type MessagePort, Worker } from 'node:worker_threads';
import { childEnv } from '../child-environment.js';

const extension = extname(fileURLToPath(import.meta.url));
const isSource = extension === '.ts';

const moduleUrl = (module: URL) => new URL(`${module.href}${extension}`);
const loaderUrl = (name: string) => pathToFileURL(createRequire(import.meta.url).resolve(name));

/**
 * @param module URL of the thread's module, without the extension
 * @param transferList ports in `workerData` that the thread receives
 */
export function startThread(
  module: URL,
  workerData: unknown,
  transferList: readonly MessagePort[] = [],
): Worker {
  const file = moduleUrl(module);
  if (!isSource) return new Worker(file, { workerData, transferList: [...transferList] });
  // The thread must register the loader before it can import anything.
  const { href } = new URL('./index.mjs', loaderUrl('tsx/esm/api'));
  const script = `import('${href}').then(({ register }) => { register(); return import('${file.href}'); });`;
  return new Worker(script, { eval: true, workerData, transferList: [...transferList] });
}

/** @param module URL of the process's module, without the extension */
export function startProcess(module: URL, options: ForkOptions): ChildProcess {
  return fork(moduleUrl(module), {
    env: childEnv(),
    ...options,
    execArgv: isSource ? ['--import', loaderUrl('tsx').href] : [],
  });
}
