import { expect, it } from 'vitest';
import { bestEntries, createReplayBuffer, entriesBefore } from '../../src/rollout/replay-buffer.js';
import { entryOf } from '../support/records.js';

it('a replay buffer finds the best entries, earlier iterations, and the first entry with given parameters', () => {
  const at = [
    [0, 1],
    [2, 2],
    [3, 3],
    [-0, 1],
  ].map((parameters) => ({ parameters }));
  const entries = [entryOf(0, 2, at[0]), entryOf(1, 5, at[1]), entryOf(1, 5, at[2]), entryOf(2, 7, at[3])];
  const buffer = createReplayBuffer(entries.slice(0, 3));
  expect([createReplayBuffer().best, buffer.best, buffer.find([9, 9])]).toEqual([
    undefined,
    entries[1],
    undefined,
  ]);
  expect(buffer.find([-0, 1])).toBe(entries[0]);
  buffer.append(entries.slice(3));
  buffer.append([entryOf(3, 1)]);
  expect([buffer.best, buffer.find([0, 1]), buffer.find([3, 3])]).toEqual([
    entries[3],
    entries[0],
    entries[2],
  ]);
  expect(entriesBefore(entries, 3)).toBe(entries);
  expect([0, 1].map((iteration) => entriesBefore(entries, iteration))).toEqual([[], entries.slice(0, 1)]);
  expect(bestEntries(entries, 2)).toEqual([entries[3], entries[1]]);
  expect(bestEntries(entries, 9)).toEqual([entries[3], entries[1], entries[2]]);
});
