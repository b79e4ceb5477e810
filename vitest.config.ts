import { defineConfig } from 'vitest/config';

/** Rooms whose tests start no process, set no variable and mock no module: their files can share a worker's modules. */
const shared = [
  'comparison',
  'config',
  'finetune/dataset',
  'finetune/engine',
  'finetune/train',
  'format',
  'policies',
  'preflight',
  'prompting',
  'random',
  'render',
  'report',
  'search',
  'statistics',
  'storage',
].map((room) => `test/${room}/**/*.test.ts`);

/** Learnings to their end, processes that are killed again and again: `npm run test:slow`. */
const slow = ['test/**/*.slow.test.ts'];

/** Every command of the documents, pasted and run: `npm run test:docs`. */
const docs = ['test/**/*.docs.test.ts'];

export default defineConfig({
  resolve: {
    alias: [
      {
        find: /^\.[./]*\/storage\/thread\.js$/,
        replacement: `${import.meta.dirname}/test/support/threads.ts`,
      },
    ],
  },
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'shared', include: shared, exclude: slow, isolate: false } },
      {
        extends: true,
        test: { name: 'alone', include: ['test/**/*.test.ts'], exclude: [...shared, ...slow, ...docs] },
      },
      { extends: true, test: { name: 'slow', include: slow } },
      { extends: true, test: { name: 'docs', include: docs } },
    ],
  },
});
