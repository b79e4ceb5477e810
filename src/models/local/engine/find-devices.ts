import { createRequire } from 'node:module';
import { UserError } from '../../../base/errors.js';
import { startProcess } from '../../../base/files/thread.js';
import type { Device } from '../settings.js';
import type { DeviceSurvey } from './device.js';

/** Usable devices, unusable ones with the reasons, and the device that `auto` selects. */
export interface DetectedDevices extends DeviceSurvey {
  readonly auto: Device;
}

/** @throws UserError if the runtime is missing, or a driver crashes while being probed */
export async function findDevices(): Promise<DetectedDevices> {
  requireRuntime();
  const child = startProcess(new URL('./device-child', import.meta.url), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.on('message', (devices: DetectedDevices) => resolve(devices));
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      reject(
        new UserError({
          message: `the search for devices ended with ${signal ?? `exit code ${code}`}: a driver may be broken`,
          hint: 'set model.device to cpu',
        }),
      ),
    );
  });
}

/** Checks that the optional runtime for local models is installed. @throws UserError explaining how to install it */
export function requireRuntime(
  resolve: (name: string) => string = createRequire(import.meta.url).resolve,
): void {
  try {
    resolve('onnxruntime-node');
  } catch {
    throw new UserError({
      message: 'onnxruntime-node, the runtime for local models, was not installed with policyloop',
      hint: 'install it without its download script: npm install --ignore-scripts policyloop',
    });
  }
}
