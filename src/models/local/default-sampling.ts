import { plainSampling, type Sampling } from '../language-model.js';
import { freeCores } from './cores.js';
import { type LocalConfig, modelDirectory, sharesProcess } from './settings.js';
import { readGenerationDefaults, samplingOf } from './weights/generation-config.js';
import { isGguf } from './weights/gguf.js';

type Sampled = Pick<
  LocalConfig,
  'format' | 'minP' | 'path' | 'repetitionPenalty' | 'temperature' | 'topK' | 'topP'
>;

/**
 * The sampling settings of a new run. Free text is sampled as the publisher recommends. Under a constraint, those
 * settings make the model repeat the shown parameters (docs/results/real-models.md), so the full distribution is sampled.
 */
export function defaultSampling(model: Sampled): Sampling {
  const path = modelDirectory(model.path);
  const published = readGenerationDefaults(path);
  if (model.format !== 'text') return samplingOf(published, [model, plainSampling]);
  // A GGUF file lacks the publisher's settings.
  return samplingOf(published, isGguf(path) ? [model, { temperature: 0.7 }] : [model]);
}

/**
 * Adds the settings that may change replies to a new run's config: sampling settings, whose defaults later versions may
 * change, and the number of threads, which depends on the machine's load (unset for models that share a process).
 */
export const withLocalDefaults = <Config extends LocalConfig>(model: Config): Config => ({
  ...model,
  ...defaultSampling(model),
  ...(!sharesProcess(model) && { threads: model.threads ?? freeCores() }),
});

export const samplingText = ({ temperature, topP, topK, minP, repetitionPenalty }: Sampling): string =>
  `temperature ${temperature}, top-p ${topP}, top-k ${topK}, min-p ${minP}, repetition penalty ${repetitionPenalty}`;
