/** Explains why a device can't be used and what helps; the runtime's own messages say neither. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { messageOf } from '../../../base/errors.js';
import type { Device } from '../settings.js';

/** A device that can't be used here. */
export interface UnusableDevice {
  readonly device: Device;
  readonly reason: string;
  readonly remedy: string;
}

const install = 'ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js';

const remedies: Readonly<Record<Device, string>> = {
  cpu: 'reinstall onnxruntime-node',
  cuda: `install an NVIDIA driver, CUDA 12 and cuDNN 9, then \`${install}\`; webgpu needs the driver alone`,
  webgpu:
    "install the graphics card's driver and the Vulkan loader (Debian, Ubuntu: libvulkan1, and mesa-vulkan-drivers or NVIDIA's driver), or take cpu",
  dml: 'DirectML exists on Windows only: take webgpu or cpu',
  coreml: 'take webgpu, which is Metal on a Mac, or cpu',
};

/** @param cause what the runtime threw; undefined if it doesn't include the device */
export function unusable(device: Device, cause?: unknown): UnusableDevice {
  const reason =
    cause === undefined
      ? `the runtime for ${process.platform} ${process.arch} has no ${device} in it`
      : reasonOf(device, messageOf(cause));
  return { device, reason, remedy: remedies[device] };
}

function reasonOf(device: Device, message: string): string {
  if (/Failed to get a WebGPU adapter/.test(message)) return noAdapter;
  // The runtime only says that a library could not be loaded.
  if (device === 'cuda' && process.platform === 'linux') return cudaLack() ?? message.split('\n')[0]!;
  return message.split('\n')[0]!;
}

const noAdapter = `no graphics card with a ${
  { win32: 'Direct3D 12', darwin: 'Metal' }[process.platform as string] ?? 'Vulkan'
} driver was found`;

/** Paths that exist if there is an NVIDIA driver: on Linux itself, and on Linux in Windows. */
const driverPlaces = ['/proc/driver/nvidia/version', '/dev/dxg'];

/** The first thing that CUDA lacks; undefined if nothing is found. */
export function cudaLack(
  folder = runtimeFolder(),
  places: readonly string[] = driverPlaces,
): string | undefined {
  const driver = places.some((place) => existsSync(place)) ? '' : ', and no NVIDIA driver is there either';
  for (const name of ['shared', 'cuda']) {
    const library = path.join(folder, `libonnxruntime_providers_${name}.so`);
    if (!existsSync(library)) return `${path.basename(library)} is not installed${driver}`;
  }
  if (driver !== '') return 'no NVIDIA driver is there';
  try {
    process.dlopen({ exports: {} }, path.join(folder, 'libonnxruntime_providers_cuda.so'));
  } catch (error) {
    const missing = /^(\S+\.so[.\d]*): cannot open shared object file/.exec(messageOf(error));
    if (missing !== null) return `${missing[1]}, which is part of CUDA 12 or cuDNN 9, was not found`;
  }
  return undefined;
}

/** The folder of the runtime's libraries. */
function runtimeFolder(): string {
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node');
  return path.join(path.dirname(entry), '..', 'bin', 'napi-v6', process.platform, process.arch);
}
