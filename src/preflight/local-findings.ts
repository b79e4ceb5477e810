import { languageModelOf, type ModelConfig } from '../config/model.js';
import { defaultSampling } from '../models/local/default-sampling.js';
import { findDevices } from '../models/local/engine/find-devices.js';
import { samplingText } from '../models/local/weights/generation-config.js';
import { type Finding, found } from './findings.js';

/** How a local model samples, and where each setting comes from. */
export function samplingFindings(config: ModelConfig): readonly Finding[] {
  const model = languageModelOf(config);
  if (model?.provider !== 'local') return [];
  return [found('model.temperature', `samples with ${samplingText(defaultSampling(model))}`)];
}

/**
 * The device that a local model will run on, and why the others can't be used. That the wanted one can't be is an error
 * of loading the model.
 */
export async function deviceFindings(config: ModelConfig): Promise<readonly Finding[]> {
  const model = languageModelOf(config);
  if (model?.provider !== 'local') return [];
  const { auto, usable, unusable } = await findDevices();
  const device = model.device === 'auto' ? auto : model.device;
  if (!usable.includes(device)) return [];
  const others = [
    ...usable.filter((other) => other !== device).map((other) => `${other} could be used`),
    ...unusable.map(({ device: other, reason }) => `${other} can't be: ${reason}`),
  ];
  return [found('model.device', [device, ...others].join('; '))];
}
