import { defineConfig } from 'vitest/config';
import { common, mocking } from './vitest.config.js';

const filesOf = (suite: string) => [`test/**/*.${suite}.test.ts`];

/** The suites that `npm test` leaves out. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: [
      // End-to-end runs, numeric parity and attacks that take about a second each: `npm run test:long`.
      {
        extends: true,
        test: { name: 'long', include: filesOf('long'), exclude: mocking, isolate: false },
      },
      {
        extends: true,
        test: { name: 'long alone', include: mocking, exclude: ['test/**/!(*.long).test.ts'] },
      },
      // Trainings to their end, processes that are killed again and again: `npm run test:slow`.
      { extends: true, test: { name: 'slow', include: filesOf('slow') } },
      // Every command of the documents, pasted and run: `npm run test:docs`.
      { extends: true, test: { name: 'docs', include: filesOf('docs') } },
    ],
  },
});
