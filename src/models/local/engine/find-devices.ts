import { UserError } from '../../../base/errors.js';
import { startProcess } from '../../../storage/thread.js';
import type { Device } from '../settings.js';
import type { DevicesHere } from './device.js';
import { requireRuntime } from './require-runtime.js';

/** Devices on which a model can run here, why others can't be used, and the one that `auto` selects. */
export interface Devices extends DevicesHere {
  readonly auto: Device;
}

/** @throws UserError if the runtime is missing, or a driver crashes while being probed */
export async function findDevices(): Promise<Devices> {
  requireRuntime();
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
