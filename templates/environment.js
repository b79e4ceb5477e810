/**
 * An environment: a cart on a rail is to be brought to the middle and kept there, with little force.
 * It imports nothing. A config names this file, and policyloop makes one environment a thread from it:
 *
 *   environment: ./environment.js                                   or, with options,
 *   environment: { id: ./environment.js, options: { friction: 0.2 } }
 */
export default {
  /** How lists, reports and prompts call it (default: the name of the file). */
  name: 'cart-on-rail',

  /** Makes an environment; `options` are those of the config. `schema: z.strictObject({...})` beside `create` would check them. */
  create({ friction = 0.1 } = {}) {
    let position = 0;
    let velocity = 0;

    return {
      /** What the policy sees: bounds of each number. {kind: 'discrete', n: 16} would be one of 16 states. */
      observationSpace: { kind: 'box', low: [-2, -2], high: [2, 2] },

      /** What the policy does: 0, 1 or 2. {kind: 'box', low: [-1], high: [1]} would be a force, as an array of one number. */
      actionSpace: { kind: 'discrete', n: 3 },

      /** What prompts say of it. All three are optional; of discrete spaces, the names are those of the values. */
      description:
        'A cart on a rail is pushed left or right, to bring it to the middle and keep it there with little force. A step earns 1 minus half of the distance, and 0.1 less for a push. Beyond 2 the episode ends.',
      observationNames: ['position', 'velocity'],
      actionNames: ['push left', 'no push', 'push right'],

      /** Steps after which an episode is cut off (truncated); without it evaluation.maxSteps alone does that. */
      maxSteps: 100,

      /** Seconds that a step stands for: the speed of animations. Optional. */
      stepSeconds: 0.05,

      /**
       * Starts an episode and returns its first observation. The same seed must start the same episode: draw from
       * `random`, which follows from the seed: random() in [0, 1), uniform(low, high), normal(mean, deviation),
       * integers(low, high), choice(list). Math.random would make runs that nobody can repeat.
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
        const terminated = Math.abs(position) > 2; // off the rail: the episode ends, and so does the reward
        return {
          observation: [position, velocity],
          reward: terminated ? 0 : 1 - Math.abs(position) / 2 - 0.1 * Math.abs(force),
          terminated,
        };
      },

      /** How the present state looks, as flat shapes; x to the right, y upwards. Optional: without it there are no pictures. */
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
            { kind: 'circle', centre: [0, 0], radius: 0.08, role: 'goal' },
            { kind: 'rectangle', min: [position - 0.15, 0], max: [position + 0.15, 0.2], role: 'agent' },
          ],
        };
      },

      /** Frees what the garbage collector can't: a file, a process. Optional. */
      close() {},
    };
  },
};
