/** Default sampling settings of a local model. */
import { plainSampling } from '../language-model.js';
import { type LocalConfig, modelDirectory } from './settings.js';
import { storedSampling } from './stores/stored-models.js';
import { familySampling } from './weights/family-sampling.js';
import {
  readGenerationDefaults,
  type SamplingLayer,
  type SourcedSampling,
  samplingOf,
  valuesOf,
} from './weights/generation-config.js';
import { isGguf, openGguf } from './weights/gguf.js';

type Sampled = Pick<
  LocalConfig,
  'format' | 'heatAfterRepeat' | 'minP' | 'path' | 'repetitionPenalty' | 'temperature' | 'topK' | 'topP'
>;

/**
 * The sampling settings of a new run, with the source of each. Free text is sampled as the publisher
 * recommends. Under a constraint, that is too cold: the model repeats parameters that it was shown
 * (docs/real-models.md), so the full distribution is sampled.
 * @throws UserError if the model doesn't exist
 */
export function defaultSampling(model: Sampled): SourcedSampling {
  const config = { from: 'the config', sampling: model };
  const path = modelDirectory(model.path);
  const published = readGenerationDefaults(path);
  if (model.format !== 'text')
    return samplingOf(published, [
      config,
      { from: "policyloop's default under a constraint", sampling: plainSampling },
    ]);
  return samplingOf(published, [config, ...storedSampling(model.path), ...ofFamily(path)]);
}

/** A GGUF file doesn't contain its publisher's sampling settings. */
function ofFamily(path: string): readonly SamplingLayer[] {
  if (!isGguf(path)) return [];
  const known = familySampling(openGguf(path));
  return [
    ...(known === undefined
      ? []
      : [{ from: "its publisher's recommendation for the family", sampling: known }]),
    { from: "policyloop's default for GGUF files", sampling: { temperature: 0.7 } },
  ];
}

/**
 * The config of a new run states its sampling settings, so that they stay the same whatever later versions recommend.
 */
export const withDefaultSampling = <Config extends Sampled>(model: Config): Config => ({
  ...model,
  ...valuesOf(defaultSampling(model)),
  heatAfterRepeat: model.heatAfterRepeat ?? 0.5,
});
