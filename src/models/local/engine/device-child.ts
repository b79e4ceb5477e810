/** Probes devices in a separate process, because drivers write to the terminal, and faulty drivers may crash. */
import { chooseDevice, surveyDevices } from './device.js';

process.send?.({ ...(await surveyDevices()), auto: await chooseDevice('auto') });
process.disconnect?.();
