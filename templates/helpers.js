/**
 * Helpers: functions and values for the templates of your own prompt set, which `policyloop init prompts FOLDER` writes.
 * Use this file in a config:
 *
 *   prompts: { set: FOLDER, helpers: ./helpers.js }
 *
 * Templates can then use {{laboratory}} or {{upper environment.id}}. Arguments are variables, numbers or quoted strings.
 */
export default {
  create: () => ({
    laboratory: 'Laboratory 7',
    upper: (text) => text.toUpperCase(),
  }),
};
