import { arch, platform } from 'node:process';
import { messageOf, UserError } from '../../../base/errors.js';
import { GraphBuilder } from '../graph/graph.js';
import { type Device, devices, type LocalConfig } from '../settings.js';
import { ort } from './onnx-runtime.js';

/** Devices that `auto` tries before the CPU. On Linux, WebGPU is omitted: it may be a slow software renderer. */
const devicePreference: readonly Device[] =
  platform === 'win32' ? ['cuda', 'dml', 'webgpu'] : platform === 'darwin' ? ['webgpu'] : ['cuda'];

/** Selects the device to run on. @throws UserError if `wanted`, from the config field `field`, can't be used */
export async function chooseDevice(wanted: LocalConfig['device'], field = 'model.device'): Promise<Device> {
  if (wanted === 'auto') {
    for (const device of devicePreference) if ((await tryDevice(device)) === undefined) return device;
    return 'cpu';
  }
  // The CPU is always available.
  const failure = wanted === 'cpu' ? undefined : await tryDevice(wanted);
  if (failure === undefined) return wanted;
  const { usable } = await surveyDevices();
  throw new UserError({
    field,
    value: wanted,
    message: `this device can't be used: ${failure.reason}`,
    alternatives: ['auto', ...usable],
    hint: failure.hint,
  });
}

export interface DeviceSurvey {
  readonly usable: readonly Device[];
  /** Devices that the runtime supports on this system, but that can't be used. */
  readonly unusable: readonly UnusableDevice[];
}

export async function surveyDevices(): Promise<DeviceSurvey> {
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

async function tryDevice(device: Device): Promise<UnusableDevice | undefined> {
  if (!hasProvider(device)) return unusableDevice(device);
  try {
    const g = new GraphBuilder();
    const x = g.input('x', 'float32', [1, 1]);
    g.output('y', g.op('MatMul', [x, x]), 'float32', [1, 1]);
    const session = await ort.InferenceSession.create(g.build('probe').model, {
      executionProviders: [device],
      logSeverityLevel: 4,
    });
    await session.run({ x: new ort.Tensor('float32', Float32Array.of(1), [1, 1]) }, { logSeverityLevel: 4 });
    await session.release();
    return undefined;
  } catch (error) {
    return unusableDevice(device, error);
  }
}

export interface UnusableDevice {
  readonly device: Device;
  readonly reason: string;
  readonly hint: string;
}

const installCommand = 'ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js';

const hints: Readonly<Record<Device, string>> = {
  cpu: 'reinstall onnxruntime-node',
  cuda: `install an NVIDIA driver, CUDA 12 and cuDNN 9, then run \`${installCommand}\`; webgpu needs only the driver`,
  webgpu:
    platform === 'linux'
      ? "install the graphics card's driver and the Vulkan loader (Debian, Ubuntu: libvulkan1, and mesa-vulkan-drivers or NVIDIA's driver), or use cpu"
      : "install the graphics card's driver, or use cpu",
  dml: 'use webgpu or cpu',
  coreml: 'use webgpu (which uses Metal on a Mac) or cpu',
};

/** @param cause error thrown by the runtime; undefined if the runtime doesn't include the device */
export function unusableDevice(device: Device, cause?: unknown): UnusableDevice {
  const reason =
    cause === undefined
      ? `the runtime for ${platform} ${arch} doesn't include ${device}`
      : reasonOf(device, messageOf(cause));
  const hint = cause === undefined ? 'use auto, which selects a device that works here' : hints[device];
  return { device, reason, hint };
}

function reasonOf(device: Device, message: string): string {
  const api = { win32: 'Direct3D 12', darwin: 'Metal' }[platform as string] ?? 'Vulkan';
  if (/Failed to get a WebGPU adapter/.test(message))
    return `no graphics card with a ${api} driver was found`;
  // The runtime's own message quotes its source code.
  if (device === 'cuda') return 'the NVIDIA driver or a library of CUDA or cuDNN is missing or unsuitable';
  return message.split('\n')[0]!;
}
