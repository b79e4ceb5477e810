/** A stochastic policy: a network, and the action distribution given by its outputs. */
import { UserError } from '../../../../src/base/errors.js';
import type { EnvironmentSpec } from '../../../../src/environments/environment.js';
import { categoricalHead } from './categorical.js';
import { gaussianHead } from './gaussian.js';
import type { Distributions, Head, HeadSlope } from './head.js';
import type { NumericNetwork, Row } from './network.js';

/** θ has the network's parameters, then the head's own. */
export interface NumericPolicy {
  readonly head: Head;
  /** Length of θ. */
  readonly size: number;
  distributions(theta: Float64Array, rows: readonly Row[]): Promise<Distributions>;
  /** Gradient with respect to θ of a function whose gradient with respect to the distributions is `slope`. */
  backward(theta: Float64Array, rows: readonly Row[], slope: HeadSlope): Promise<Float64Array>;
  /** First-order change of the distributions when θ changes by `direction`. */
  change(theta: Float64Array, rows: readonly Row[], direction: Float64Array): Promise<HeadSlope>;
  close(): Promise<void>;
}

export function createPolicy(network: NumericNetwork, head: Head): NumericPolicy {
  const ownOf = (theta: Float64Array) => theta.slice(network.size);
  const networkOf = (theta: Float64Array) => theta.subarray(0, network.size);
  return {
    head,
    size: network.size + head.initial.length,
    distributions: async (theta, rows) => ({
      outputs: await network.forward(networkOf(theta), rows),
      own: ownOf(theta),
    }),
    async backward(theta, rows, { outputs, own }) {
      const gradient = await network.vectorJacobian(networkOf(theta), rows, outputs);
      return Float64Array.from([...gradient, ...own]);
    },
    change: async (theta, rows, direction) => ({
      outputs: await network.jacobianVector(networkOf(theta), rows, networkOf(direction)),
      own: ownOf(direction),
    }),
    close: () => network.close(),
  };
}

/**
 * A Gaussian for a box (standard deviations don't depend on the observation), a softmax for discrete actions.
 * @param logDeviation natural logarithm of the initial standard deviations
 * @throws UserError for other action spaces
 */
export function createHead({ id, actionSpace }: EnvironmentSpec, logDeviation: number): Head {
  switch (actionSpace.kind) {
    case 'box':
      return gaussianHead(actionSpace.low.length, logDeviation);
    case 'discrete':
      return categoricalHead(actionSpace.n, actionSpace.start ?? 0);
    case 'tuple':
    case 'text':
      throw new UserError({
        field: 'environment',
        value: id,
        message: `its actions are ${actionSpace.kind === 'text' ? 'texts' : 'several choices at once'}, for which there is no head`,
        remedy: 'name an environment with discrete or continuous actions',
      });
  }
}
