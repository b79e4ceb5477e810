/** Probes devices in a separate process: drivers write to the terminal, and a broken one may crash. */
import { chooseDevice, findDevicesHere } from './device.js';

process.send?.({ ...(await findDevicesHere()), auto: await chooseDevice('auto') });
process.disconnect?.();
