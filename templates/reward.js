/**
 * A reward for each step, which replaces the environment's reward. Use this file in a config:
 *
 *   evaluation: { reward: ./reward.js }
 *
 * The returns of the run are sums of these rewards. Describe them to the model in prompts.description.
 */
export default {
  /**
   * Creates the function. Every thread calls it for every step, so its result must depend only on its argument:
   * {before, action, observation, reward, terminated, truncated}. `before` is the observation before the step,
   * and `observation` the one after it. The result must be a finite number.
   */
  create: () => {
    return ({ before, observation, reward }) => {
      const change = Math.abs([observation].flat()[0] - [before].flat()[0]);
      return reward - 0.1 * change; // calm steps earn more
    };
  },
};
