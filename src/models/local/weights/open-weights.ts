import { isGguf, openGguf } from './gguf.js';
import { ggufTensors } from './gguf-tensors.js';
import { directoryWeights, type StoredTensors } from './safetensors.js';

/**
 * Every tensor of a model under Hugging Face's names.
 * @param model its directory, or a GGUF file
 * @throws UserError when there are no weights, or a file of them is missing or damaged
 */
export function openWeights(model: string): StoredTensors {
  if (!isGguf(model)) return directoryWeights(model);
  return ggufTensors(openGguf(model));
}
