/**
 * Helpers: functions and values that the templates of a prompt set of your own may use. A config names this file:
 *
 *   prompts: { set: ./my-prompts, helpers: ./helpers.js }
 *
 * A template then writes {{laboratory}}, and {{upper environment.id}} with variables, numbers or texts in quotes.
 */
export default {
  create: () => ({
    laboratory: 'Laboratory 7',
    upper: (text) => text.toUpperCase(),
  }),
};
