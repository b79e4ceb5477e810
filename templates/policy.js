/**
 * A policy turns parameters into actions. This one chooses between the first and the last discrete action by a linear
 * score. Use this file in a config:
 *
 *   policy: { kind: ./policy.js }                                   or, with options,
 *   policy: { kind: ./policy.js, options: { range: 3 } }
 */
export default {
  /** The name in reports (default: the file name). */
  name: 'threshold',

  /** Creates the policies of an environment, {id, observationSpace, actionSpace, maxSteps}, from the config's `options`. */
  create({ range = 1 } = {}, environment) {
    const { observationSpace, actionSpace } = environment;
    if (observationSpace.kind !== 'box' || actionSpace.kind !== 'discrete') {
      throw new Error(
        `this policy needs vector observations and discrete actions, which ${environment.id} doesn't have`,
      );
    }
    const count = observationSpace.low.length;
    const first = actionSpace.start ?? 0;

    return {
      /** The proposed parameters: `count` numbers from low to high, with this many decimals (0: integers). */
      parameters: { count, low: -range, high: range, decimals: 1 },

      /** How prompts describe the policy. */
      description:
        'The last action is taken if the sum of params[i] * observation[i] is above 0, otherwise the first.',

      /** Returns the policy for a vector of parameters: a function from observation to action. */
      build(parameters) {
        return (observation) => {
          const score = parameters.reduce((sum, weight, i) => sum + weight * observation[i], 0);
          return score > 0 ? first + actionSpace.n - 1 : first;
        };
      },
    };
  },
};
