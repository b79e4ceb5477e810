/** First values for a training of all weights. */
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/errors.js';
import { decoderTensors, requireTensor } from '../../src/models/local/graph/parameters.js';
import type { DecoderConfig } from '../../src/models/local/weights/hf-config.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes, type StoredTensors } from '../../src/models/local/weights/safetensors.js';
import { createGenerator } from '../../src/random/generator.js';
import { readJson } from '../../src/storage/checked-json.js';
import { elementCount } from './trainable.js';
import type { Parameter } from './training-session.js';

const residual = /\.(o_proj|down_proj)\.weight$/;

/** The stored weights, in float32. */
export function storedModel(config: DecoderConfig, weights: StoredTensors): Parameter[] {
  return decoderTensors(config).map(({ name, shape }) => {
    const tensor = requireTensor(weights, name);
    return { name, shape, values: toFloat32(readTensorBytes(tensor), tensor.dtype) };
  });
}

const rangeSchema = z.looseObject({ initializer_range: z.number().positive().default(0.02) });

/**
 * `initializer_range` of a model's config.json, 0.02 where it is not stated (as in Transformers).
 * @throws UserError when it is no positive number
 */
export function initializerRange(directory: string): number {
  const file = path.join(directory, 'config.json');
  const parsed = rangeSchema.safeParse(readJson(file) ?? {});
  if (parsed.success) return parsed.data.initializer_range;
  throw new UserError({ file, field: 'initializer_range', message: parsed.error.issues[0]!.message });
}

/**
 * Random weights: matrices normal, biases 0, the scales of norms 1. The two matrices of each of the L layers that add
 * to the residual stream are drawn smaller by √(2L), so that its size does not grow with depth (Radford et al. 2019).
 * @param deviation standard deviation of the matrices
 */
export function randomModel(config: DecoderConfig, deviation: number, seed: number): Parameter[] {
  const random = createGenerator(seed);
  return decoderTensors(config).map(({ name, shape }) => {
    const values = new Float32Array(elementCount(shape));
    const own = residual.test(name) ? deviation / Math.sqrt(2 * config.layers.length) : deviation;
    if (shape.length === 2) for (let i = 0; i < values.length; i++) values[i] = random.normal(0, own);
    else if (!name.endsWith('.bias')) values.fill(1);
    return { name, shape, values };
  });
}
