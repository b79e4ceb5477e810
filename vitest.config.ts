import { defineConfig } from 'vitest/config';

/** Rooms whose tests start no process, set no variable and mock no module: their files can share a worker's modules. */
export const sharedRooms = [
  'base/files',
  'base/random',
  'base/text',
  'comparison',
  'config',
  'experiment/preflight',
  'finetune/dataset',
  'finetune/engine',
  'finetune/train',
  'policies',
  'prompting',
  'report',
  'search',
  'statistics',
];

const shared = sharedRooms.map((room) => `test/${room}/**/*.test.ts`);

/** Files with these endings run in `npm run test:long`, `test:slow` and `test:docs` (vitest.all.config.ts). */
const otherSuites = ['test/**/*.{long,slow,docs}.test.ts'];

/** What all suites share. */
export const common = {
  resolve: {
    alias: [
      {
        find: /^\.[./]*\/(base\/)?files\/thread\.js$/,
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
  },
};

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: [
      { extends: true, test: { name: 'shared', include: shared, exclude: otherSuites, isolate: false } },
      {
        extends: true,
        test: { name: 'alone', include: ['test/**/*.test.ts'], exclude: [...shared, ...otherSuites] },
      },
    ],
  },
});
