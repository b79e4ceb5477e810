/** A stochastic policy: a network whose outputs determine the action distribution. */
import { UserError } from '../../../../src/base/errors.js';
import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import type { Action, EnvironmentSpec } from '../../../../src/environments/environment.js';
import { argmax } from '../../../../src/statistics/descriptive.js';
import type { NumericNetwork, Row } from './network.js';

/** θ contains the network's parameters, then the head's own. */
export interface NumericPolicy {
  readonly head: Head;
  /** Length of θ. */
  readonly size: number;
  distributions(theta: Float64Array, rows: readonly Row[]): Promise<Distributions>;
  /** Gradient with respect to θ of a function whose gradient with respect to the distributions is `slope`. */
  backward(theta: Float64Array, rows: readonly Row[], slope: HeadVector): Promise<Float64Array>;
  /** First-order change of the distributions when θ changes by `direction`. */
  change(theta: Float64Array, rows: readonly Row[], direction: Float64Array): Promise<HeadVector>;
  close(): Promise<void>;
}

export function createNumericPolicy(network: NumericNetwork, head: Head): NumericPolicy {
  const headPart = (theta: Float64Array) => theta.slice(network.size);
  const networkPart = (theta: Float64Array) => theta.subarray(0, network.size);
  return {
    head,
    size: network.size + head.initial.length,
    distributions: async (theta, rows) => ({
      outputs: await network.forward(networkPart(theta), rows),
      own: headPart(theta),
    }),
    async backward(theta, rows, { outputs, own }) {
      const gradient = await network.vectorJacobian(networkPart(theta), rows, outputs);
      return Float64Array.from([...gradient, ...own]);
    },
    change: async (theta, rows, direction) => ({
      outputs: await network.jacobianVector(networkPart(theta), rows, networkPart(direction)),
      own: headPart(direction),
    }),
    close: () => network.close(),
  };
}

/**
 * Creates a Gaussian head for continuous actions, or a softmax head for discrete ones.
 * @throws UserError for other action spaces
 */
export function createHead({ id, actionSpace }: EnvironmentSpec): Head {
  switch (actionSpace.kind) {
    case 'box':
      return gaussianHead(actionSpace.low.length);
    case 'discrete':
      return categoricalHead(actionSpace.n, actionSpace.start ?? 0);
    case 'tuple':
    case 'text':
      throw new UserError({
        field: 'environment',
        value: id,
        message: `numeric policies don't support ${actionSpace.kind === 'text' ? 'text actions' : 'several choices at once'}`,
        hint: 'choose an environment with discrete or continuous actions',
      });
  }
}

/** A change of the outputs [N × outputs] and of the head's own parameters, or a gradient with respect to them. */
export interface HeadVector {
  readonly outputs: Float64Array;
  readonly own: Float64Array;
}

/** Outputs [N × outputs] and own parameters of N distributions. */
export type Distributions = HeadVector;

/** A family of distributions over actions. `actions` has [N × width] numbers; means are over the N rows. */
interface Head {
  readonly outputs: number;
  readonly width: number;
  /** Initial values of the head's own parameters, which don't depend on the observation. */
  readonly initial: Float64Array;
  sample(p: Distributions, random: RandomGenerator): Float64Array;
  mode(p: Distributions): Float64Array;
  toAction(values: Float64Array): Action;
  /** log π(a|s): [N] */
  logProbabilities(p: Distributions, actions: Float64Array): Float64Array;
  /** Gradient of Σ weights·log π(a|s). */
  slopeOfLogProbabilities(p: Distributions, actions: Float64Array, weights: Float64Array): HeadVector;
  entropy(p: Distributions): number;
  slopeOfEntropy(p: Distributions): HeadVector;
  /** Mean of KL(before ‖ after) in nats. */
  divergence(before: Distributions, after: Distributions): number;
  /** Multiplies a change by the Hessian of the divergence at `after` = `before`. */
  fisher(p: Distributions, change: HeadVector): HeadVector;
}

/** A softmax over discrete actions. The outputs are logits; an action is represented by its index. */
function categoricalHead(size: number, firstAction: number): Head {
  const emptyVector = () => new Float64Array(0);
  const rowCount = ({ outputs }: Distributions) => outputs.length / size;
  return {
    outputs: size,
    width: 1,
    initial: emptyVector(),
    sample: ({ outputs }, random) =>
      Float64Array.of(random.categorical([...expEach(logSoftmax(outputs.subarray(0, size), size))])),
    mode: ({ outputs }) => Float64Array.of(argmax([...outputs.subarray(0, size)])),
    toAction: ([index]) => index! + firstAction,
    logProbabilities(p, chosen) {
      const logProbs = logSoftmax(p.outputs, size);
      return chosen.map((index, n) => logProbs[n * size + index]!);
    },
    slopeOfLogProbabilities({ outputs }, chosen, weights) {
      const slope = expEach(logSoftmax(outputs, size));
      for (let i = 0; i < slope.length; i++) {
        const n = Math.floor(i / size);
        slope[i] = weights[n]! * ((chosen[n] === i % size ? 1 : 0) - slope[i]!);
      }
      return { outputs: slope, own: emptyVector() };
    },
    entropy(p) {
      const logProbs = logSoftmax(p.outputs, size);
      return -logProbs.reduce((sum, log) => sum + Math.exp(log) * log, 0) / rowCount(p);
    },
    slopeOfEntropy(p) {
      const logProbs = logSoftmax(p.outputs, size);
      const slope = new Float64Array(logProbs.length);
      for (let from = 0; from < logProbs.length; from += size) {
        let mean = 0;
        for (let i = from; i < from + size; i++) mean += Math.exp(logProbs[i]!) * logProbs[i]!;
        for (let i = from; i < from + size; i++)
          slope[i] = (Math.exp(logProbs[i]!) * (mean - logProbs[i]!)) / rowCount(p);
      }
      return { outputs: slope, own: emptyVector() };
    },
    divergence(before, after) {
      const logProbs0 = logSoftmax(before.outputs, size);
      const logProbs1 = logSoftmax(after.outputs, size);
      const sum = logProbs0.reduce((total, log, i) => total + Math.exp(log) * (log - logProbs1[i]!), 0);
      return sum / rowCount(before);
    },
    fisher(p, change) {
      const probabilities = expEach(logSoftmax(p.outputs, size));
      const product = new Float64Array(probabilities.length);
      for (let from = 0; from < probabilities.length; from += size) {
        let mean = 0;
        for (let i = from; i < from + size; i++) mean += probabilities[i]! * change.outputs[i]!;
        for (let i = from; i < from + size; i++)
          product[i] = (probabilities[i]! * (change.outputs[i]! - mean)) / rowCount(p);
      }
      return { outputs: product, own: emptyVector() };
    },
  };
}

const expEach = (logs: Float64Array) => logs.map(Math.exp);

function logSoftmax(logits: Float64Array, width: number): Float64Array {
  const logProbs = new Float64Array(logits.length);
  for (let from = 0; from < logits.length; from += width) {
    let largest = Number.NEGATIVE_INFINITY;
    for (let i = from; i < from + width; i++) largest = Math.max(largest, logits[i]!);
    let sum = 0;
    for (let i = from; i < from + width; i++) sum += Math.exp(logits[i]! - largest);
    const normalizer = largest + Math.log(sum);
    for (let i = from; i < from + width; i++) logProbs[i] = logits[i]! - normalizer;
  }
  return logProbs;
}

const halfLog2Pi = 0.5 * Math.log(2 * Math.PI);

/** Independent normal distributions. The outputs are the means μ; the head's own parameters are log σ, initially 0. */
function gaussianHead(width: number): Head {
  const rowCount = ({ outputs }: Distributions) => outputs.length / width;
  return {
    outputs: width,
    width,
    initial: new Float64Array(width),
    sample: ({ outputs, own }, random) =>
      Float64Array.from({ length: width }, (_, a) => outputs[a]! + Math.exp(own[a]!) * random.normal()),
    mode: ({ outputs }) => outputs.slice(0, width),
    toAction: (values) => [...values],
    logProbabilities(p, actions) {
      const inverseSigma = p.own.map((log) => Math.exp(-log));
      return Float64Array.from({ length: rowCount(p) }, (_, n) => {
        let sum = 0;
        for (let a = 0; a < width; a++) {
          const z = (actions[n * width + a]! - p.outputs[n * width + a]!) * inverseSigma[a]!;
          sum -= 0.5 * z * z + halfLog2Pi + p.own[a]!;
        }
        return sum;
      });
    },
    slopeOfLogProbabilities({ outputs, own }, actions, weights) {
      const inverseSigma = own.map((log) => Math.exp(-log));
      const slope = { outputs: new Float64Array(outputs.length), own: new Float64Array(width) };
      for (let i = 0; i < outputs.length; i++) {
        const a = i % width;
        const weight = weights[(i - a) / width]!;
        const z = (actions[i]! - outputs[i]!) * inverseSigma[a]!;
        slope.outputs[i] = weight * z * inverseSigma[a]!;
        slope.own[a]! += weight * (z * z - 1);
      }
      return slope;
    },
    entropy: ({ own }) => own.reduce((sum, log) => sum + log + halfLog2Pi + 0.5, 0),
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
      return sum / rowCount(before);
    },
    fisher: (p, change) => ({
      outputs: change.outputs.map((value, i) => (value * Math.exp(-2 * p.own[i % width]!)) / rowCount(p)),
      own: change.own.map((value) => 2 * value),
    }),
  };
}
