/** First values for a training of all weights. */
import type { DecoderConfig } from '../src/models/local/hf-config.js';
import { decoderTensors, requireTensor } from '../src/models/local/parameters.js';
import { toFloat32 } from '../src/models/local/quantization.js';
import { readTensorBytes, type StoredTensors } from '../src/models/local/safetensors.js';
import { createGenerator } from '../src/random.js';
import type { Parameter } from './training-session.js';

/** The stored weights, in float32. */
export function storedModel(config: DecoderConfig, weights: StoredTensors): Parameter[] {
  return decoderTensors(config).map(({ name, shape }) => {
    const tensor = requireTensor(weights, name);
    return { name, shape, values: toFloat32(readTensorBytes(tensor), tensor.dtype) };
  });
}

/** Matrices normal with this standard deviation, as Transformers initialises the Llama family. */
const initialDeviation = 0.02;

/** Random weights: matrices normal, biases 0, the scales of norms 1. */
export function randomModel(config: DecoderConfig, seed: number): Parameter[] {
  const random = createGenerator(seed);
  return decoderTensors(config).map(({ name, shape }) => {
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    if (shape.length === 2)
      for (let i = 0; i < values.length; i++) values[i] = random.normal(0, initialDeviation);
    else if (!name.endsWith('.bias')) values.fill(1);
    return { name, shape, values };
  });
}
