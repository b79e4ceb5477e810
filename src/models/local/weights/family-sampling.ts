/** The sampling that publishers recommend for families of models whose GGUF files don't carry it. */
import type { SamplingChoice } from '../../language-model.js';
import type { GgufFile } from './gguf.js';

/**
 * By the beginning of `general.basename` or `general.name`, letters and digits only; the first that fits. From the
 * publishers' generation_config.json and model cards, as of November 2026. Qwen's repetition penalty (1.05 to 1.1) is left out:
 * it makes a model avoid digits that the prompt holds.
 */
const families: readonly (readonly [RegExp, SamplingChoice])[] = [
  [/^qwen3.*thinking|^qwq/, { temperature: 0.6, topP: 0.95, topK: 20 }],
  [/^qwen/, { temperature: 0.7, topP: 0.8, topK: 20 }],
  [/^deepseekr1/, { temperature: 0.6, topP: 0.95 }],
  [/^(meta)?llama3/, { temperature: 0.6, topP: 0.9 }],
  [/^gemma[23]/, { temperature: 1, topP: 0.95, topK: 64 }],
  [/^smollm3/, { temperature: 0.6, topP: 0.95 }],
  [/^smollm2/, { temperature: 0.2, topP: 0.9 }],
  [/^(ministral|mistral)/, { temperature: 0.7 }],
];

/** @returns undefined for a family that is not known */
export function familySampling({ metadata }: GgufFile): SamplingChoice | undefined {
  const names = ['general.basename', 'general.name'].map((key) =>
    String(metadata.get(key) ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, ''),
  );
  return families.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1];
}
