/**
 * The history in columns: one line per parameter, with its values in all shown trials. Each name then occurs once instead
 * of once per trial, which halves the prompt, and is followed by the same kind of text in the history and in the answer.
 */
export default {
  create: () => ({
    columns: (trials) => {
      const rows = trials.toReversed().map(({ percent, parameters }) => ({
        percent,
        values: parameters.split(', ').map((part) => part.split(': ')),
      }));
      const names = rows[0]?.values.map(([name]) => name) ?? [];
      return [
        `value: ${rows.map(({ percent }) => percent).join(' ')}`,
        ...names.map((name, i) => `${name}: ${rows.map(({ values }) => values[i][1]).join(' ')}`),
      ].join('\n');
    },
  }),
};
