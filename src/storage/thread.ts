import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

/**
 * Starts a thread of this program.
 * @param module URL of its module, without the extension
 * @param workerData what the thread is told at its start
 */
export function startThread(module: URL, workerData: unknown): Worker {
  const extension = extname(fileURLToPath(import.meta.url));
  const file = new URL(`${module.href}${extension}`);
  return extension === '.ts'
    ? new Worker(fromSources(file), { eval: true, workerData })
    : new Worker(file, { workerData });
}

/** From sources (tests, development) a thread has to register the TypeScript loader before it can import anything. */
function fromSources(module: URL): string {
  const loader = new URL('./index.mjs', pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm/api')))
    .href;
  return `import('${loader}').then(({ register }) => { register(); return import('${module.href}'); });`;
}
