import { isGguf, openGguf } from './gguf.js';
import { ggufTensors } from './gguf-tensors.js';
import { directoryWeights, type StoredTensors } from './safetensors.js';

/**
 * Every tensor of a model by its Hugging Face name.
 * @param model its directory, or a GGUF file
 * @throws UserError if there are no weights, or one of their files is missing or damaged
 */
export function openWeights(model: string): StoredTensors {
  if (!isGguf(model)) return directoryWeights(model);
  return ggufTensors(openGguf(model));
}
