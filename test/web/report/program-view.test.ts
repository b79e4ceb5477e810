import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load.js';
import { withoutProgram } from '../../../src/prompting/answer/program.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import type { CallRecord } from '../../../src/runs/calls.js';
import { lineage, parentOf } from '../../../src/web/report/data/lineage.js';
import { loggedProposals } from '../../../src/web/report/data/proposals.js';
import { iterationText } from '../../../src/web/report/iteration-text.js';
import { proposalList } from '../../../src/web/report/views/call-log.js';
import { lineageView } from '../../../src/web/report/views/program-view.js';
import { visibleText } from '../shown.js';

const configOf = (more: Partial<Parameters<typeof parseConfig>[0]> = {}) =>
  parseConfig({
    environment: 'CartPole-v1',
    policy: { kind: 'program' },
    model: { provider: 'openai', name: 'm' },
    ...more,
  });

const entryOf = (
  iteration: number,
  score: number,
  structure: number,
  more: Partial<BufferEntry> = {},
): BufferEntry => ({
  iteration,
  score,
  group: iteration,
  candidate: 0,
  source: iteration === 0 ? 'warm-up' : 'proposal',
  parameters: [structure, score],
  returns: [score],
  lengths: [1],
  program: `program ${structure}`,
  ...more,
});

it('parentOf finds the tuned, the revised or the configured program, or the best one in the prompt', () => {
  const entries = [
    ...[entryOf(0, 1, 10), entryOf(1, 5, 11), entryOf(2, 9, 10), entryOf(3, 3, 12)],
    entryOf(3, 4, 13, { candidate: 7, revises: 0 }),
  ];
  const data = { config: configOf(), entries };
  expect(parentOf(entryOf(4, 0, 14), data)).toBe(entries[2]);
  expect(parentOf(entryOf(2, 0, 14), data)).toBe(entries[1]);
  expect(parentOf(entryOf(4, 0, 11, { tuned: true }), data)).toBe(entries[1]);
  expect(parentOf(entries[4]!, data)).toBe(entries[3]);
  const recent = configOf({ memory: { best: 0, recent: 1 } });
  expect(parentOf(entryOf(4, 0, 14), { config: recent, entries: entries.slice(0, 4) })).toBe(entries[3]);
  const edits = configOf({ policy: { kind: 'program', edits: true } });
  expect(parentOf(entryOf(4, 0, 14), { config: edits, entries })).toBe(entries[2]);
});

it('the lineage lists new bests with their parents, and none for programs found by a search', () => {
  const entries = [
    entryOf(0, 1, 10),
    entryOf(0, 2, 11),
    entryOf(1, 5, 12),
    entryOf(2, 4, 13),
    entryOf(3, 9, 14),
  ];
  const call = (iteration: number, content: string | undefined): CallRecord => ({
    iteration,
    candidate: 0,
    attempt: 0,
    purpose: 'proposal',
    seed: 0,
    time: '2026-01-01T00:00:00.000Z',
    messages: [],
    outcome: { kind: 'accepted', parameters: [], program: '' },
    ...(content !== undefined && {
      completion: { text: content, finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 },
    }),
  });
  const config = configOf();
  const shown = (calls: readonly CallRecord[]) => {
    const proposals = loggedProposals({ calls, entries });
    return lineage({ config, entries }, proposals, new Map(calls.entries()));
  };
  expect(shown([call(1, undefined)]).some(({ isWritten, parent }) => isWritten || parent)).toBe(false);
  const descents = shown([call(1, 'p'), call(2, 'p'), call(3, 'p')]);
  expect(descents.map(({ entry }) => entry)).toEqual([entries[2], entries[4]]);
  expect(descents.map(({ parent }) => parent)).toEqual([undefined, entries[2]]);
  const text = visibleText({ part: lineageView(descents, config, () => undefined) });
  expect(text).toContain('iteration 3 9.000 iteration 1 +4.000 model 1 line, 1 constant');
  expect(text).toContain('iteration 3: changes from iteration 1');
  expect(text).toContain('iteration 1 5.000 – – model');
  const searched = shown([call(1, 'p'), call(2, 'p'), call(3, undefined)]);
  expect(searched.map(({ parent, isWritten }) => [parent, isWritten])).toEqual([
    [undefined, true],
    [undefined, false],
  ]);
});

it('withoutProgram keeps only the text around a program', () => {
  expect(withoutProgram('So.\n```js\nfunction act(o) {\n  return 1;\n}\n```\nDone.')).toBe('So.\n\nDone.');
  expect(withoutProgram('So.\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\nDone.')).toBe('So.\n\nDone.');
  expect(withoutProgram('```\nparams[0]: 1\n```')).toBe('```\nparams[0]: 1\n```');
});

it('a program found by a search is shown as source, not as the numbers of the reply', () => {
  const call: CallRecord = {
    iteration: 1,
    candidate: 0,
    attempt: 0,
    purpose: 'proposal',
    seed: 0,
    time: '2026-01-01T00:00:00.000Z',
    messages: [],
    outcome: { kind: 'accepted', parameters: [12, 5], program: 'program 12' },
  };
  const entry = entryOf(1, 5, 12, { tuned: true });
  const text = iterationText({ iteration: 1, evaluations: [entry], calls: [call] });
  expect(text).toContain('--- program, 1 line, 1 constant ---\n  program 12');
  const proposals = loggedProposals({ calls: [call], entries: [entry] });
  const log = visibleText({ part: proposalList('r', { proposals, calls: new Map([[0, call]]) }) });
  expect(log).toContain('Program program 12');
  expect(text + log).not.toContain('params[');
});
