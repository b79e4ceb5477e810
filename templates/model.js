/**
 * A model answers prompts. This one slightly changes the best parameters in the history, so it works as it is.
 * Replace that with a call to your own model. Use this file in a config:
 *
 *   model: { provider: ./model.js }                                 or, with options,
 *   model: { provider: ./model.js, options: { step: 0.5 } }
 */
export default {
  /** The name in lists and reports, unless the model has an `id` (default: the file name). */
  name: 'small-steps',

  /** Creates the model from the config's `options`. May be async. */
  create({ step = 1 } = {}) {
    return {
      /**
       * Answers a prompt: messages of {role: 'system' | 'user' | 'assistant', content}. Return the text, or an object
       * with `text` and, if known, `usage: {promptTokens, completionTokens}` and `reasoning`. If there is no answer,
       * throw: the call then counts as failed. `options.seeds` holds the seed of this answer (the same seed should give
       * the same answer). `options.signal` aborts the call.
       */
      async generate(messages, options) {
        // The history has one evaluation per line: "params[0]: 1.2; params[1]: -3.0; f(params): 37.50". A request to
        // correct an answer follows as a separate message.
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
