import { fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { UserError } from '../../../errors.js';
import type { Device } from '../settings.js';

/** Devices that a model can run on here, and the one that `auto` takes. */
export interface Devices {
  readonly usable: readonly Device[];
  readonly auto: Device;
}

/** @throws UserError when a driver crashes as it is tried */
export function findDevices(): Promise<Devices> {
  const extension = extname(fileURLToPath(import.meta.url));
  const child = fork(new URL(`./device-child${extension}`, import.meta.url), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // From sources the child needs the TypeScript loader too.
    execArgv:
      extension === '.ts'
        ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href]
        : [],
  });
  return new Promise((resolve, reject) => {
    child.on('message', (devices: Devices) => resolve(devices));
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      reject(
        new UserError({
          message: `looking for devices ended with ${signal ?? `exit code ${code}`}: a driver may be broken`,
          remedy: 'set model.device to cpu',
        }),
      ),
    );
  });
}
