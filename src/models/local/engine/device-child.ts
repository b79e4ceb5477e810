/** Probes devices in a separate process, because drivers write to the terminal, and faulty drivers may crash. */
import { chooseDevice, findDevicesHere } from './device.js';

process.send?.({ ...(await findDevicesHere()), auto: await chooseDevice('auto') });
process.disconnect?.();
