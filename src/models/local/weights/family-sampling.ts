/** Sampling settings recommended by the publishers of model families whose GGUF files don't include them. */
import type { SamplingChoice } from '../../language-model.js';
import type { GgufFile } from './gguf.js';

/**
 * Keyed by the start of `general.basename` or `general.name`, reduced to letters and digits; the first match
 * wins. Only families whose publisher's figures we have checked (Qwen2.5 and Qwen3: generation_config.json;
 * Gemma 3: model card), November 2026. Omits Qwen2.5's repetition penalty (1.05 to 1.1), which makes a model
 * avoid digits that occur in the prompt.
 */
const families: readonly (readonly [RegExp, SamplingChoice])[] = [
  [/^qwen3.*thinking/, { temperature: 0.6, topP: 0.95, topK: 20 }],
  [/^qwen(2|3)/, { temperature: 0.7, topP: 0.8, topK: 20 }],
  [/^gemma3/, { temperature: 1, topP: 0.95, topK: 64 }],
];

/** @returns undefined for an unknown family */
export function familySampling({ metadata }: GgufFile): SamplingChoice | undefined {
  const names = ['general.basename', 'general.name'].map((key) =>
    String(metadata.get(key) ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, ''),
  );
  return families.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1];
}
