import { plainSampling, type Sampling, type SamplingChoice } from '../language-model.js';
import { type LocalConfig, modelDirectory } from './settings.js';
import { readGenerationDefaults, samplingOf } from './weights/generation-config.js';
import { type GgufFile, isGguf, openGguf } from './weights/gguf.js';

type Sampled = Pick<
  LocalConfig,
  'format' | 'minP' | 'path' | 'repetitionPenalty' | 'temperature' | 'topK' | 'topP'
>;

/**
 * The sampling settings of a new run. Free text is sampled as the publisher recommends. Under a constraint, those
 * settings make the model repeat the shown parameters (docs/real-models.md), so the full distribution is sampled.
 */
export function defaultSampling(model: Sampled): Sampling {
  const path = modelDirectory(model.path);
  const published = readGenerationDefaults(path);
  if (model.format !== 'text') return samplingOf(published, [model, plainSampling]);
  // A GGUF file lacks the publisher's settings.
  const usual = isGguf(path) ? [familySampling(openGguf(path)), { temperature: 0.7 }] : [];
  return samplingOf(published, [model, ...usual]);
}

/** Adds sampling settings to the config of a new run, so that they don't change with later versions. */
export const withDefaultSampling = <Config extends Sampled>(model: Config): Config => ({
  ...model,
  ...defaultSampling(model),
});

export const samplingText = ({ temperature, topP, topK, minP, repetitionPenalty }: Sampling): string =>
  `temperature ${temperature}, top-p ${topP}, top-k ${topK}, min-p ${minP}, repetition penalty ${repetitionPenalty}`;

/**
 * Recommended sampling settings, by the start of `general.basename` or `general.name` (letters and digits only); the
 * first match wins. Checked in November 2026 (Qwen2.5, Qwen3: generation_config.json; Gemma 3: model card). Qwen2.5's
 * repetition penalty is omitted, because it makes a model avoid digits of the prompt.
 */
const families: readonly (readonly [RegExp, SamplingChoice])[] = [
  [/^qwen3.*thinking/, { temperature: 0.6, topP: 0.95, topK: 20 }],
  [/^qwen(2|3)/, { temperature: 0.7, topP: 0.8, topK: 20 }],
  [/^gemma3/, { temperature: 1, topP: 0.95, topK: 64 }],
];

/** @returns no settings for an unknown family */
export function familySampling({ metadata }: GgufFile): SamplingChoice {
  const names = ['general.basename', 'general.name'].map((key) =>
    String(metadata.get(key) ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, ''),
  );
  return families.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1] ?? {};
}
