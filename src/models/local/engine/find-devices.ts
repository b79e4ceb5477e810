import { UserError } from '../../../base/errors.js';
import { startProcess } from '../../../storage/thread.js';
import type { Device } from '../settings.js';

/** Devices that a model can run on here, and the one that `auto` takes. */
export interface Devices {
  readonly usable: readonly Device[];
  readonly auto: Device;
}

/** @throws UserError when a driver crashes as it is tried */
export function findDevices(): Promise<Devices> {
  const child = startProcess(new URL('./device-child', import.meta.url), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
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
