/**
 * Computes the figures of all pages from `bench/rows`.
 * Run: npm run figures -- --check, which fails if a page differs from its rows; --page writes the pages
 */
for (const name of [
  'comparisons',
  'confirmation',
  'cooking',
  'coverage',
  'large-model',
  'own-logs',
  'programs',
  'readme',
  'real-models',
  'reinforcement',
  'repeats',
  'rl-speed',
])
  await import(`./${name}.js`);
await import('../../models/tiny-improver/recipe/figures.js');
