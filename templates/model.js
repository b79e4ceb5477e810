/**
 * A model answers prompts. This one changes the best parameters in the history at random, so it works as it is.
 * Replace that with a call to your own model. Use this file in a config:
 *
 *   model: { provider: ./model.js }                                 or, with options,
 *   model: { provider: ./model.js, options: { step: 0.5 } }
 */
export default {
  /** The name in lists and reports, unless the model has an `id` (default: the file name). */
  name: 'random-steps',

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
        const prompt = messages.map(({ content }) => content).join('\n');
        // An evaluation is a line "params[0]: 1.2; params[1]: -3.0; f(params): 37.50", or in the prompt set `compact`
        // "37 params[0]: 1.2, params[1]: -3.0".
        const evaluated = prompt.split('\n').flatMap((line) => {
          const [, before, parameters, after] =
            /^([-\d.]+ )?(params\[0\]: [-\d].*?)(?:; f\(params\): (.+))?$/.exec(line) ?? [];
          const value = Number.parseFloat(after ?? before);
          return Number.isNaN(value) ? [] : [{ parameters, value }];
        });
        if (evaluated.length === 0) throw new Error('the prompt shows no evaluated parameters');
        const best = evaluated.reduce((a, b) => (b.value > a.value ? b : a));
        const numbers = evaluated.flatMap(({ parameters }) =>
          parameters.match(/(?<=: )[-\d.]+/g).map(Number),
        );
        const [low, high] = [Math.min(...numbers), Math.max(...numbers)];

        let [state] = options.seeds;
        const draw = () => {
          state = (48271 * (state + 1)) % 2147483647; // Lehmer's generator, with Park and Miller's constants
          return state / 2147483647;
        };
        draw();
        // Large steps find better regions, and small ones refine.
        const size = (step * (high - low)) / 2 ** (6 * draw());
        return best.parameters.replace(/: (-?[\d.]+)/g, (_, text) => {
          const value = Number(text) + size * (draw() - 0.5);
          const decimals = (text.split('.')[1] ?? '').length;
          return `: ${Math.min(high, Math.max(low, value)).toFixed(decimals)}`;
        });
      },
    };
  },
};
