/** Looks for devices in a process of its own: drivers write to the terminal, and a broken one may crash. */
import { chooseDevice, usableDevices } from './device.js';

const usable = await usableDevices();
process.send?.({ usable, auto: await chooseDevice('auto') });
process.disconnect?.();
