import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { UserError } from '../../../base/errors.js';
import { GraphBuilder, shaderDevice } from '../graph/graph.js';
import { type Device, devices, type LocalConfig } from '../settings.js';
import { quantizations } from '../weights/quantization.js';
import { type UnusableDevice, unusable } from './device-failure.js';
import { ort } from './onnx-runtime.js';

/** Devices that `auto` tries before the CPU. WebGPU on Linux may be a software renderer that is slower than the CPU. */
const preferred: readonly Device[] =
  process.platform === 'win32'
    ? ['cuda', 'dml', 'webgpu']
    : process.platform === 'darwin'
      ? ['webgpu']
      : ['cuda'];

/**
 * Selects the device to run on.
 * @param field config field that names it
 * @throws UserError if that device can't be used; lists those that can
 */
export async function chooseDevice(wanted: LocalConfig['device'], field = 'model.device'): Promise<Device> {
  if (wanted === 'auto') {
    for (const device of preferred) if ((await tryDevice(device)) === undefined) return device;
    return 'cpu';
  }
  // The CPU is always available.
  const failure = wanted === 'cpu' ? undefined : await tryDevice(wanted);
  if (failure === undefined) return wanted;
  const { usable } = await findDevicesHere();
  throw new UserError({
    field,
    value: wanted,
    message: `this device can't be used: ${failure.reason}`,
    alternatives: ['auto', ...usable],
    remedy: failure.remedy,
  });
}

export interface DevicesHere {
  /** Devices on which a model can run here. */
  readonly usable: readonly Device[];
  /** The others that the runtime supports on this system. */
  readonly unusable: readonly UnusableDevice[];
}

export async function findDevicesHere(): Promise<DevicesHere> {
  const usable: Device[] = ['cpu'];
  const failures: UnusableDevice[] = [];
  for (const device of devices.filter((one) => one !== 'cpu' && hasProvider(one))) {
    const failure = await tryDevice(device);
    if (failure === undefined) usable.push(device);
    else failures.push(failure);
  }
  return { usable, unusable: failures };
}

function hasProvider(device: Device): boolean {
  return ort.listSupportedBackends().some(({ name }) => name === device);
}

/**
 * Some GPUs can multiply in float16; a CPU would convert each number back and forth.
 * @throws UserError if the device can't
 */
export async function requireFloat16(device: Device): Promise<void> {
  if (device !== 'cpu' && (await runs(device, 'float16'))) return;
  throw new UserError({
    field: 'model.quantization',
    value: 'float16',
    message: `${device} can't multiply in float16${device === shaderDevice ? ': the graphics card or its driver lacks shader-f16' : ''}`,
    alternatives: quantizations.filter((one) => one !== 'float16'),
    remedy: device === 'cpu' ? 'int8 and int4 are what makes a processor fast' : 'take int8 or int4',
  });
}

/** Why a device can't be used, or undefined. */
async function tryDevice(device: Device): Promise<UnusableDevice | undefined> {
  if (!hasProvider(device)) return unusable(device);
  try {
    await run(device, 'float32');
    return undefined;
  } catch (error) {
    return unusable(device, error);
  }
}

const runs = (device: Device, type: 'float16') =>
  run(device, type).then(
    () => true,
    () => false,
  );

/** Runs a minimal model. */
async function run(device: Device, type: 'float16' | 'float32'): Promise<void> {
  const g = new GraphBuilder();
  const x = g.cast(g.input('x', 'float32', [1, 1]), type);
  g.output('y', g.cast(g.op('MatMul', [x, x]), 'float32'), 'float32', [1, 1]);
  const session = await ort.InferenceSession.create(g.build('probe').model, {
    executionProviders: [device],
    logSeverityLevel: 4,
  });
  try {
    await session.run({ x: new ort.Tensor('float32', Float32Array.of(1), [1, 1]) }, { logSeverityLevel: 4 });
  } finally {
    await session.release();
  }
}

/**
 * Number of threads for the model: the physical cores that are idle. More threads than idle cores wait for
 * each other and are slower than one (measured on a busy machine: 2 threads were a third as fast as 1).
 */
export function freeCores(): number {
  const cores = Math.min(physicalCores(), availableParallelism());
  // On Windows, the load is always 0.
  return Math.max(1, Math.round(cores - (loadavg()[0] ?? 0)));
}

/** Hardware threads that share a core count once, if the system reports them. */
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
