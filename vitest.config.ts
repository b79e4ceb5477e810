import { defineConfig } from 'vitest/config';

/** Files that mock modules of ours; the others share the modules of their worker. */
export const mocking = [
  'test/finetune/commands/package-paths.test.ts',
  'test/models/local/packaged-model.test.ts',
  'test/finetune/rl/sampler.long.test.ts',
  'test/experiment/local-experiment.slow.test.ts',
  'test/mcp/server.slow.test.ts',
];

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
    expect: { poll: { timeout: 120_000 } },
    maxWorkers: 2,
  },
};

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...mocking, ...otherSuites],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: mocking, exclude: otherSuites } },
    ],
  },
});
