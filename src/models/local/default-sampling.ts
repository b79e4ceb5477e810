import { plainSampling, type Sampling } from '../language-model.js';
import { freeCores } from './cores.js';
import { type LocalConfig, modelDirectory, sharesProcess } from './settings.js';
import { readGenerationDefaults, samplingOf } from './weights/generation-config.js';
import { isGguf } from './weights/gguf.js';

type SampledModel = Pick<
  LocalConfig,
  'format' | 'minP' | 'path' | 'repetitionPenalty' | 'temperature' | 'topK' | 'topP'
>;

/**
 * Returns the sampling settings of a new run. By default, they are the publisher's with `format: text`, and plain with
 * other formats: otherwise, models repeat the parameters in the prompt (docs/results/real-models.md).
 */
export function defaultSampling(model: SampledModel): Sampling {
  const path = modelDirectory(model.path);
  const defaults = readGenerationDefaults(path);
  if (model.format !== 'text') return samplingOf(defaults, [model, plainSampling]);
  // A GGUF file lacks the publisher's settings.
  return samplingOf(defaults, isGguf(path) ? [model, { temperature: 0.7 }] : [model]);
}

/**
 * Adds settings that affect replies to the config of a new run: sampling settings, whose defaults later versions may
 * change, and the number of threads, which depends on the machine's load (but not for models that share a process).
 */
export const withLocalDefaults = <Config extends LocalConfig>(model: Config): Config => ({
  ...model,
  ...defaultSampling(model),
  ...(!sharesProcess(model) && { threads: model.threads ?? freeCores() }),
});

export const samplingText = ({ temperature, topP, topK, minP, repetitionPenalty }: Sampling): string =>
  `temperature ${temperature}, top-p ${topP}, top-k ${topK}, min-p ${minP}, repetition penalty ${repetitionPenalty}`;
