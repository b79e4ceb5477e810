import type { Distributions, Head } from './head.js';

const logRootTau = 0.5 * Math.log(2 * Math.PI);

/** Independent normal distributions. The outputs are the means μ; the head's own parameters are log σ. */
export function gaussianHead(dimensions: number, logDeviation: number): Head {
  const width = dimensions;
  const count = ({ outputs }: Distributions) => outputs.length / width;
  return {
    outputs: width,
    width,
    initial: new Float64Array(width).fill(logDeviation),
    sample: ({ outputs, own }, random) =>
      Float64Array.from({ length: width }, (_, a) => outputs[a]! + Math.exp(own[a]!) * random.normal()),
    mode: ({ outputs }) => outputs.slice(0, width),
    toAction: (values) => [...values],
    logProbabilities(of, actions) {
      const inverse = of.own.map((log) => Math.exp(-log));
      return Float64Array.from({ length: count(of) }, (_, n) => {
        let sum = 0;
        for (let a = 0; a < width; a++) {
          const z = (actions[n * width + a]! - of.outputs[n * width + a]!) * inverse[a]!;
          sum -= 0.5 * z * z + logRootTau + of.own[a]!;
        }
        return sum;
      });
    },
    slopeOfLogProbabilities({ outputs, own }, actions, weights) {
      const inverse = own.map((log) => Math.exp(-log));
      const slope = { outputs: new Float64Array(outputs.length), own: new Float64Array(width) };
      for (let i = 0; i < outputs.length; i++) {
        const a = i % width;
        const weight = weights[(i - a) / width]!;
        const z = (actions[i]! - outputs[i]!) * inverse[a]!;
        slope.outputs[i] = weight * z * inverse[a]!;
        slope.own[a]! += weight * (z * z - 1);
      }
      return slope;
    },
    entropy: ({ own }) => own.reduce((sum, log) => sum + log + logRootTau + 0.5, 0),
    slopeOfEntropy: ({ outputs }) => ({
      outputs: new Float64Array(outputs.length),
      own: new Float64Array(width).fill(1),
    }),
    divergence(before, after) {
      let sum = 0;
      for (let i = 0; i < before.outputs.length; i++) {
        const a = i % width;
        const [log0, log1] = [before.own[a]!, after.own[a]!];
        const shift = before.outputs[i]! - after.outputs[i]!;
        sum += log1 - log0 + (Math.exp(2 * log0) + shift * shift) / (2 * Math.exp(2 * log1)) - 0.5;
      }
      return sum / count(before);
    },
    fisher: (of, change) => ({
      outputs: change.outputs.map((value, i) => (value * Math.exp(-2 * of.own[i % width]!)) / count(of)),
      own: change.own.map((value) => 2 * value),
    }),
  };
}
