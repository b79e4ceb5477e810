import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { messageOf, UserError } from '../../../base/errors.js';
import { GraphBuilder } from '../graph/graph.js';
import type { Device, LocalConfig } from '../settings.js';
import { ort } from './onnx-runtime.js';

/** Devices that `auto` tries before the processor. WebGPU on Linux may be a software renderer, slower than the processor. */
const preferred: readonly Device[] =
  process.platform === 'win32'
    ? ['cuda', 'dml', 'webgpu']
    : process.platform === 'darwin'
      ? ['webgpu']
      : ['cuda'];

const remedies: Readonly<Record<Device, string>> = {
  cpu: 'reinstall onnxruntime-node',
  cuda: 'install an NVIDIA driver, CUDA 12 and cuDNN 9, then `ONNXRUNTIME_NODE_INSTALL=1 node node_modules/onnxruntime-node/script/install.js`',
  webgpu: 'install a Vulkan driver for the graphics card (Linux), or set model.device to cpu',
  dml: 'DirectML exists on Windows only; set model.device to cpu',
  coreml: 'Core ML exists on macOS only; set model.device to cpu',
};

/**
 * The device to run on.
 * @throws UserError when the wanted one can't be used, naming those that can
 */
export async function chooseDevice(wanted: LocalConfig['device']): Promise<Device> {
  if (wanted === 'auto') {
    for (const device of preferred) if ((await tryDevice(device)) === undefined) return device;
    return 'cpu';
  }
  const failure = await tryDevice(wanted);
  if (failure === undefined) return wanted;
  throw new UserError({
    field: 'model.device',
    value: wanted,
    message: `this device can't be used: ${failure}`,
    alternatives: ['auto', ...(await usableDevices())],
    remedy: remedies[wanted],
  });
}

/** Devices that a model can run on here and now. */
export async function usableDevices(): Promise<Device[]> {
  const usable: Device[] = ['cpu'];
  for (const device of ['cuda', 'webgpu', 'dml', 'coreml'] as const)
    if ((await tryDevice(device)) === undefined) usable.push(device);
  return usable;
}

/** Runs the smallest model there is; returns why it could not be run, or undefined. */
async function tryDevice(device: Device): Promise<string | undefined> {
  if (!ort.listSupportedBackends().some(({ name }) => name === device))
    return `the installed onnxruntime-node has no ${device} provider`;
  const g = new GraphBuilder();
  const x = g.input('x', 'float32', [1]);
  g.output('y', g.op('Add', [x, x]), 'float32', [1]);
  try {
    const session = await ort.InferenceSession.create(g.build('probe').model, {
      executionProviders: [device],
      logSeverityLevel: 4,
    });
    await session.run({ x: new ort.Tensor('float32', Float32Array.of(1), [1]) });
    await session.release();
    return undefined;
  } catch (error) {
    return messageOf(error).split('\n')[0];
  }
}

/**
 * Threads that the model should use: the physical cores that are free. More threads than free cores wait for each
 * other and are slower than one (measured: 2 threads on a busy machine a third as fast as 1).
 */
export function freeCores(): number {
  const cores = Math.min(physicalCores(), availableParallelism());
  // On Windows the load is always 0.
  return Math.max(1, Math.round(cores - (loadavg()[0] ?? 0)));
}

/** Hardware threads that share a core count once, where the system tells. */
function physicalCores(): number {
  const logical = cpus().length;
  try {
    const siblings = Array.from({ length: logical }, (_, cpu) =>
      readFileSync(`/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`, 'utf8').trim(),
    );
    return new Set(siblings).size;
  } catch {
    return logical;
  }
}
