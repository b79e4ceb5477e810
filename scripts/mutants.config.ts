/** Vitest with one changed expression; `scripts/mutants.ts` says which in the environment. */
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { common } from '../vitest.config.js';

interface Change {
  readonly file: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly tests: readonly string[];
}

const { file, from, tests, text, to } = JSON.parse(process.env.MUTANT!) as Change;

export default defineConfig({
  ...common,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform: (code, id) => (id === file ? code.slice(0, from) + text + code.slice(to) : undefined),
    },
  ],
  test: {
    ...common.test,
    include: [...tests],
    exclude: ['test/**/*.slow.test.ts'],
    isolate: false,
    maxWorkers: 1,
    bail: 1,
    testTimeout: 30_000,
  },
});
