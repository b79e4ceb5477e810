import { defineConfig } from 'vitest/config';
import { common } from './scripts/real-models/plan.js';

/** The suites that `npm test` leaves out. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: [
      // End-to-end runs, numeric parity and attacks that take seconds each: `npm run test:long`.
      { extends: true, test: { name: 'long', include: ['test/**/*.long.test.ts'] } },
      // Trainings to their end, processes that are killed again and again: `npm run test:slow`.
      { extends: true, test: { name: 'slow', include: ['test/**/*.slow.test.ts'] } },
      // Every command of the documents, pasted and run: `npm run test:docs`.
      { extends: true, test: { name: 'docs', include: ['test/**/*.docs.test.ts'] } },
    ],
  },
});
