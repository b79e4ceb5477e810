/** Records of which a test states what matters to it. */
import type { ParameterSpec } from '../../src/policies/policy.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import type { CallRecord } from '../../src/runs/calls.js';

export const entryOf = (iteration: number, score: number, more: Partial<BufferEntry> = {}): BufferEntry => ({
  iteration,
  group: iteration,
  candidate: 0,
  source: iteration === 0 ? 'warm-up' : 'proposal',
  parameters: [iteration],
  returns: [score],
  lengths: [1],
  score,
  ...more,
});

export const callOf = (more: Partial<CallRecord> = {}): CallRecord => ({
  iteration: 1,
  candidate: 0,
  attempt: 0,
  purpose: 'proposal',
  messages: [],
  seed: 0,
  time: '2026-01-01T00:00:00.000Z',
  outcome: { kind: 'accepted', parameters: [1] },
  ...more,
});

/** The Q-table of FrozenLake. */
export const lakeTable: ParameterSpec = {
  count: 16,
  kind: 'integer',
  low: 0,
  high: 3,
  decimals: 0,
  choices: [0, 1, 2, 3],
};
