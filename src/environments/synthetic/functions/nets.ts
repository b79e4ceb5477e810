import type { RandomGenerator } from '../../../random/generator.js';
import { chance, integerBetween, logUniform } from '../distributions.js';
import type { Height } from '../landscape.js';

/** A random network of two to five layers with tanh or ReLU units, on [−1, 1]ⁿ. */
export function drawNet(random: RandomGenerator, n: number): Height {
  const rectified = chance(random, 0.5);
  const depth = integerBetween(random, 1, 4);
  const width = integerBetween(random, 6, 24);
  const gain = logUniform(random, 0.8, 4);
  const layers = Array.from({ length: depth + 1 }, (_, layer) => {
    const inputs = layer === 0 ? n : width;
    const outputs = layer === depth ? 1 : width;
    const scale = (layer === 0 ? 2 * gain : gain) / Math.sqrt(inputs);
    return {
      inputs,
      weights: Float64Array.from({ length: inputs * outputs }, () => scale * random.normal()),
      biases: Float64Array.from({ length: outputs }, () => random.normal()),
    };
  });
  return (point) => {
    let values: ArrayLike<number> = point;
    for (const [layer, { biases, inputs, weights }] of layers.entries()) {
      const next = new Float64Array(biases);
      for (let unit = 0; unit < next.length; unit++) {
        for (let i = 0; i < inputs; i++) next[unit]! += weights[unit * inputs + i]! * values[i]!;
        if (layer < depth) next[unit] = rectified ? Math.max(0, next[unit]!) : Math.tanh(next[unit]!);
      }
      values = next;
    }
    return values[0]!;
  };
}
