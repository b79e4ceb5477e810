/** Functions for the templates in `short/`. */
export default {
  create: () => ({
    advice: (remaining) => (remaining > 20 ? 'Try something different.' : 'Refine the best parameters.'),
  }),
};
