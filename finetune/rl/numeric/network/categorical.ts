import { firstLargest } from '../../../../src/statistics/descriptive.js';
import type { Distributions, Head } from './head.js';

/** A softmax over discrete actions. The outputs are logits; an action is represented by its index. */
export function categoricalHead(actions: number, firstAction: number): Head {
  const none = () => new Float64Array(0);
  const count = ({ outputs }: Distributions) => outputs.length / actions;
  return {
    outputs: actions,
    width: 1,
    initial: none(),
    sample: ({ outputs }, random) =>
      Float64Array.of(random.categorical([...exponents(logSoftmax(outputs.subarray(0, actions), actions))])),
    mode: ({ outputs }) => Float64Array.of(firstLargest([...outputs.subarray(0, actions)])),
    toAction: ([place]) => place! + firstAction,
    logProbabilities(of, chosen) {
      const logs = logSoftmax(of.outputs, actions);
      return chosen.map((place, n) => logs[n * actions + place]!);
    },
    slopeOfLogProbabilities({ outputs }, chosen, weights) {
      const slope = exponents(logSoftmax(outputs, actions));
      for (let i = 0; i < slope.length; i++) {
        const n = Math.floor(i / actions);
        slope[i] = weights[n]! * ((chosen[n] === i % actions ? 1 : 0) - slope[i]!);
      }
      return { outputs: slope, own: none() };
    },
    entropy(of) {
      const logs = logSoftmax(of.outputs, actions);
      return -logs.reduce((sum, log) => sum + Math.exp(log) * log, 0) / count(of);
    },
    slopeOfEntropy(of) {
      const logs = logSoftmax(of.outputs, actions);
      const slope = new Float64Array(logs.length);
      for (let from = 0; from < logs.length; from += actions) {
        let mean = 0;
        for (let i = from; i < from + actions; i++) mean += Math.exp(logs[i]!) * logs[i]!;
        for (let i = from; i < from + actions; i++)
          slope[i] = (Math.exp(logs[i]!) * (mean - logs[i]!)) / count(of);
      }
      return { outputs: slope, own: none() };
    },
    divergence(before, after) {
      const logs0 = logSoftmax(before.outputs, actions);
      const logs1 = logSoftmax(after.outputs, actions);
      const sum = logs0.reduce((total, log, i) => total + Math.exp(log) * (log - logs1[i]!), 0);
      return sum / count(before);
    },
    fisher(of, change) {
      const shares = exponents(logSoftmax(of.outputs, actions));
      const product = new Float64Array(shares.length);
      for (let from = 0; from < shares.length; from += actions) {
        let mean = 0;
        for (let i = from; i < from + actions; i++) mean += shares[i]! * change.outputs[i]!;
        for (let i = from; i < from + actions; i++)
          product[i] = (shares[i]! * (change.outputs[i]! - mean)) / count(of);
      }
      return { outputs: product, own: none() };
    },
  };
}

const exponents = (logs: Float64Array) => logs.map(Math.exp);

/** Row-wise log-softmax. */
function logSoftmax(logits: Float64Array, width: number): Float64Array {
  const logs = new Float64Array(logits.length);
  for (let from = 0; from < logits.length; from += width) {
    let largest = Number.NEGATIVE_INFINITY;
    for (let i = from; i < from + width; i++) largest = Math.max(largest, logits[i]!);
    let sum = 0;
    for (let i = from; i < from + width; i++) sum += Math.exp(logits[i]! - largest);
    const normalizer = largest + Math.log(sum);
    for (let i = from; i < from + width; i++) logs[i] = logits[i]! - normalizer;
  }
  return logs;
}
