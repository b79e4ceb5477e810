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
import { callOf, entryOf } from '../../support/records.js';
import { visibleText } from '../shown.js';

const configOf = (more: Partial<Parameters<typeof parseConfig>[0]> = {}) =>
  parseConfig({
    environment: 'CartPole-v1',
    policy: { kind: 'program' },
    model: { provider: 'openai', name: 'm' },
    ...more,
  });

const programOf = (iteration: number, score: number, structure: number, more: Partial<BufferEntry> = {}) =>
  entryOf(iteration, score, { parameters: [structure, score], program: `program ${structure}`, ...more });

it('parentOf finds the tuned, revised or edited program, or else the best one in the prompt', () => {
  const entries = [
    ...[programOf(0, 1, 10), programOf(1, 5, 11), programOf(2, 9, 10), programOf(3, 3, 12)],
    programOf(3, 4, 13, { candidate: 7, revises: 0 }),
  ];
  const data = { config: configOf(), entries };
  expect(parentOf(programOf(4, 0, 14), data)).toBe(entries[2]);
  expect(parentOf(programOf(2, 0, 14), data)).toBe(entries[1]);
  expect(parentOf(programOf(4, 0, 11, { tuned: true }), data)).toBe(entries[1]);
  expect(parentOf(entries[4]!, data)).toBe(entries[3]);
  for (const memory of [{ best: 0, recent: 1 }, { recent: 1 }]) {
    const recent = { config: configOf({ memory }), entries: entries.slice(0, 4) };
    expect(parentOf(programOf(4, 0, 14), recent)).toBe(entries[3]);
  }
  const edits = configOf({ policy: { kind: 'program', edits: true } });
  expect(parentOf(programOf(4, 0, 14), { config: edits, entries })).toBe(entries[2]);
});

it('the lineage lists new bests after the warm-up with their parents; those of baselines have none', () => {
  const entries = [
    programOf(0, 1, 10),
    programOf(0, 2, 11),
    programOf(1, 5, 12),
    programOf(2, 4, 13),
    programOf(3, 9, 14),
  ];
  const call = (iteration: number, content: string | undefined) =>
    callOf({
      iteration,
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

it('a program found by a search is shown as source, not as parameters', () => {
  const call = callOf({ outcome: { kind: 'accepted', parameters: [12, 5], program: 'program 12' } });
  const entry = programOf(1, 5, 12, { tuned: true });
  const text = iterationText({ iteration: 1, evaluations: [entry], calls: [call] });
  expect(text).toContain('--- program, 1 line, 1 constant ---\n  program 12');
  const proposals = loggedProposals({ calls: [call], entries: [entry] });
  const log = visibleText({ part: proposalList('r', { proposals, calls: new Map([[0, call]]) }) });
  expect(log).toContain('Program program 12');
  expect(text + log).not.toContain('params[');
});
