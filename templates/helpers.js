/**
 * Helpers: functions and values for the templates of your own prompt set. A config names this file:
 *
 *   prompts: { set: ./my-prompts, helpers: ./helpers.js }
 *
 * A template then writes {{laboratory}} or {{upper environment.id}}. Arguments are variables, numbers or quoted strings.
 */
export default {
  create: () => ({
    laboratory: 'Laboratory 7',
    upper: (text) => text.toUpperCase(),
  }),
};
