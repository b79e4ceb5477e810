/**
 * The history by columns: a line for each parameter, with its values in all shown trials. Each name then stands there once
 * instead of once a trial, which halves the prompt, and what follows a name in the history also follows it in the answer.
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
