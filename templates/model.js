/**
 * A model: whoever answers the prompts. This one keeps the best answer of the history and changes it a little, so that
 * it runs as it is; put a call of your own model in the place of that. A config names this file:
 *
 *   model: { provider: ./model.js }                                 or, with options,
 *   model: { provider: ./model.js, options: { step: 0.5 } }
 */
export default {
  /** How lists and reports call it, unless the model has an `id` (default: the name of the file). */
  name: 'small-steps',

  /** Makes the model; `options` are those of the config. It may be async. */
  create({ step = 1 } = {}) {
    return {
      /**
       * Answers a prompt: messages of {role: 'system' | 'user' | 'assistant', content}. Return the text, or an object
       * with `text` and, where they are known, usage: {promptTokens, completionTokens} and reasoning. Throw where there
       * is no answer: the call then counts as failed. `options.seeds` holds the seed of this answer (the same seed asks
       * for the same one), `options.signal` tells when the call is no longer wanted.
       */
      async generate(messages, options) {
        // The history has an evaluation a line: "params[0]: 1.2; params[1]: -3.0; f(params): 37.50". A request to correct
        // an answer follows it as a message of its own.
        const evaluated = messages
          .flatMap(({ content }) => content.split('\n'))
          .map((line) => line.split('; f(params): '))
          .filter(([, value]) => !Number.isNaN(Number.parseFloat(value)));
        if (evaluated.length === 0) throw new Error('the prompt shows no evaluated parameters');
        const [best] = evaluated.reduce((a, b) =>
          Number.parseFloat(b[1]) > Number.parseFloat(a[1]) ? b : a,
        );
        let [state] = options.seeds;
        const draw = () => {
          state = (48271 * (state + 1)) % 2147483647; // Lehmer's generator, with Park and Miller's constants
          return state / 2147483647 - 0.5;
        };
        return best.replace(/: (-?[\d.]+)/g, (_, value) => `: ${(Number(value) + step * draw()).toFixed(1)}`);
      },
    };
  },
};
