/**
 * A policy: how parameters become actions. This one pushes by one linear score, for discrete actions. A config names
 * this file:
 *
 *   policy: { kind: ./policy.js }                                   or, with options,
 *   policy: { kind: ./policy.js, options: { range: 3 } }
 */
export default {
  /** How reports call it (default: the name of the file). */
  name: 'threshold',

  /** Makes the policies of an environment: {id, observationSpace, actionSpace, maxSteps}. `options` are those of the config. */
  create({ range = 1 } = {}, environment) {
    const { observationSpace, actionSpace } = environment;
    if (observationSpace.kind !== 'box' || actionSpace.kind !== 'discrete') {
      throw new Error(
        `this policy needs a vector to observe and discrete actions, which ${environment.id} has not`,
      );
    }
    const count = observationSpace.low.length;
    const first = actionSpace.start ?? 0;

    return {
      /** What is proposed: so many numbers from low to high, with so many decimals (0: whole numbers). */
      parameters: { count, low: -range, high: range, decimals: 1 },

      /** How the model is told of it. */
      description:
        'The last action is taken where the sum of params[i] * observation[i] is above 0, else the first.',

      /** Turns a vector of parameters into a policy: observation → action. */
      build(parameters) {
        return (observation) => {
          const score = parameters.reduce((sum, weight, i) => sum + weight * observation[i], 0);
          return score > 0 ? first + actionSpace.n - 1 : first;
        };
      },
    };
  },
};
