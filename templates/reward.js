/**
 * A reward: what each step earns, in the place of what the environment says. A config names this file:
 *
 *   evaluation: { reward: ./reward.js }
 *
 * The returns of the run are sums of these rewards. Describe them to the model with prompts.description.
 */
export default {
  /**
   * Makes the function. It is called for every step, in each thread that plays: what it returns must follow from what
   * it is given: {before, action, observation, reward, terminated, truncated}, where `before` and `observation` are
   * what the policy saw before and sees after the step. It returns a finite number.
   */
  create: () => {
    return ({ before, observation, reward }) => {
      const change = Math.abs([observation].flat()[0] - [before].flat()[0]);
      return reward - 0.1 * change; // calm steps earn more
    };
  },
};
