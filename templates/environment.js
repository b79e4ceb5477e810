/**
 * An environment: move a cart on a rail to the middle and keep it there, with little force.
 * Set it in a config, and policyloop creates one environment per thread:
 *
 *   environment: ./environment.js                                   or, with options,
 *   environment: { id: ./environment.js, options: { friction: 0.2 } }
 */
export default {
  /** The name in lists, reports and prompts (default: the file name). */
  name: 'cart-on-rail',

  /** Creates an environment from the config's `options`. To check them, add `schema: z.strictObject({...})` next to `create`. */
  create({ friction = 0.1 } = {}) {
    let position = 0;
    let velocity = 0;

    return {
      /** Bounds of each number in the observation. {kind: 'discrete', n: 16} would be one of 16 states. */
      observationSpace: { kind: 'box', low: [-2, -2], high: [2, 2] },

      /** The action: 0, 1 or 2. {kind: 'box', low: [-1], high: [1]} would be a force, as an array of one number. */
      actionSpace: { kind: 'discrete', n: 3 },

      /** How prompts describe the environment. All three are optional. In a discrete space, name each value. */
      description:
        'A cart on a rail is pushed left or right, to bring it to the middle and keep it there with little force. A step earns 1 minus half of the distance, and 0.1 less for a push. Beyond 2 the episode ends.',
      observationNames: ['position', 'velocity'],
      actionNames: ['push left', 'no push', 'push right'],

      /** The step limit, after which an episode is truncated. Optional: evaluation.maxSteps also limits it. */
      maxSteps: 100,

      /** Seconds per step: the speed of animations. Optional. */
      stepSeconds: 0.05,

      /**
       * Starts an episode and returns its first observation. The same seed must start the same episode, so draw from
       * `random`, which is seeded: random() in [0, 1), uniform(low, high), normal(mean, deviation),
       * integers(low, high), choice(list). With Math.random, runs would not be reproducible.
       */
      reset(_seed, random) {
        position = random.uniform(-1, 1);
        velocity = 0;
        return [position, velocity];
      },

      /** Takes a step. The return of an episode is the sum of its rewards. */
      step(action) {
        const force = action - 1;
        velocity = (velocity + 0.1 * force) * (1 - friction);
        position += velocity;
        const terminated = Math.abs(position) > 2; // off the rail: the episode ends without reward
        return {
          observation: [position, velocity],
          reward: terminated ? 0 : 1 - Math.abs(position) / 2 - 0.1 * Math.abs(force),
          terminated,
        };
      },

      /** Draws the current state as flat shapes; x points right, y up. Optional; without it, there are no animations. */
      frame() {
        return {
          view: { min: [-2.2, -0.6], max: [2.2, 0.8] },
          shapes: [
            {
              kind: 'line',
              points: [
                [-2, 0],
                [2, 0],
              ],
              width: 0.04,
              role: 'ground',
            },
            { kind: 'circle', center: [0, 0], radius: 0.08, role: 'goal' },
            { kind: 'rectangle', min: [position - 0.15, 0], max: [position + 0.15, 0.2], role: 'agent' },
          ],
        };
      },

      /** Releases resources that the garbage collector can't, such as files or processes. Optional. */
      close() {},
    };
  },
};
