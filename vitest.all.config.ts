import { defineConfig } from 'vitest/config';
import { common, sharedRooms } from './vitest.config.js';

const suite = (name: string) => ({
  ...common,
  test: { ...common.test, name, include: [`test/**/*.${name}.test.ts`] },
});

const sharedLong = sharedRooms.map((room) => `test/${room}/**/*.long.test.ts`);
const long = suite('long');

/** The suites that `npm test` leaves out. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      // End-to-end runs, numeric parity and attacks that take seconds each: `npm run test:long`.
      { ...long, test: { ...long.test, exclude: sharedLong } },
      { ...long, test: { ...long.test, name: 'long shared', include: sharedLong, isolate: false } },
      // Trainings to their end, processes that are killed again and again: `npm run test:slow`.
      suite('slow'),
      // Every command of the documents, pasted and run: `npm run test:docs`.
      suite('docs'),
    ],
  },
});
