/** Models in Ollama's store and in the Hugging Face cache. */
import type { SamplingChoice } from '../../language-model.js';
import { hfModel, hfScheme } from './hf-cache.js';
import { ollamaModel, ollamaScheme, type Variables } from './ollama-store.js';

/** Whether a path refers to a model in a store rather than to a location on disk. */
export const isReference = (given: string): boolean =>
  given.startsWith(ollamaScheme) || given.startsWith(hfScheme);

/** The directory or GGUF file that a reference denotes. @throws UserError if the store doesn't contain the model */
export function storedModelPath(reference: string, env: Variables = process.env): string {
  if (reference.startsWith(ollamaScheme)) return ollamaModel(reference.slice(ollamaScheme.length), env).file;
  return hfModel(reference.slice(hfScheme.length), env);
}

/** Fills in settings that the config lacks but Ollama stores with a model: sampling, context length, stop strings. */
export function withStoreDefaults<Config extends StoreDefaults & { readonly path: string }>(
  config: Config,
  env: Variables = process.env,
): Config {
  if (!config.path.startsWith(ollamaScheme)) return config;
  const { parameters } = ollamaModel(config.path.slice(ollamaScheme.length), env);
  const { temperature, top_p, top_k, min_p, repeat_penalty, num_ctx, stop } = parameters;
  return {
    ...config,
    temperature: config.temperature ?? temperature,
    topP: config.topP ?? top_p,
    topK: config.topK ?? top_k,
    minP: config.minP ?? min_p,
    repetitionPenalty: config.repetitionPenalty ?? repeat_penalty,
    contextTokens: config.contextTokens ?? num_ctx,
    stop: config.stop.length > 0 ? config.stop : (stop ?? []),
  };
}

/** The sampling settings that Ollama stores with a model; empty for other models. */
export const storedSampling = (path: string, env: Variables = process.env): SamplingChoice =>
  withStoreDefaults<StoreDefaults & { readonly path: string }>({ path, stop: [] }, env);

interface StoreDefaults extends SamplingChoice {
  readonly contextTokens?: number | undefined;
  readonly stop: readonly string[];
}
