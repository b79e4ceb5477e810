import type { Assembly } from '../experiment/assemble.js';
import { type ModelContext, ModelError } from '../models/language-model.js';

/**
 * What the model of an experiment takes; undefined where that is not known.
 * @param ask whether a server may be asked
 */
export async function contextOf(
  { config: { model: config }, model }: Assembly,
  ask: boolean,
): Promise<ModelContext | undefined> {
  if (config.provider === 'ollama' && !ask) {
    return config.contextTokens === undefined ? undefined : { tokens: config.contextTokens };
  }
  try {
    return await model.context?.();
  } catch (error) {
    // Asking for an answer will say the same.
    if (error instanceof ModelError) return undefined;
    throw error;
  }
}
