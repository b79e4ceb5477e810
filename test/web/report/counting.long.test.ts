import { describe, expect, it } from 'vitest';
import { readFigures } from '../../../finetune/evaluate/evaluation.js';
import type { CallRecord } from '../../../src/runs/calls.js';
import { readRun } from '../../../src/runs/reader.js';
import { isRejected, loggedProposals, skipRevisions } from '../../../src/web/report/data/proposals.js';
import { renderReport } from '../../../src/web/report/run-report.js';
import { quick, runExperimentFrom, seededModel } from '../../support/experiments.js';
import { visibleText } from '../shown.js';
import { runFixture } from './run-fixture.js';

const fixture = runFixture({ iterations: 4, failureRate: 0 });

/** One request for a revision in each iteration, whose reply is unreadable. */
const questions = (data: typeof fixture): readonly CallRecord[] =>
  [1, 2, 3, 4].map((iteration) => ({
    ...data.calls[0]!,
    iteration,
    candidate: data.config.candidates,
    attempt: 0,
    purpose: 'critic',
    outcome: { kind: 'rejected', failure: { kind: 'missing' } },
  }));

describe('four accepted proposals and four failed revisions', () => {
  const calls = [...fixture.calls, ...questions(fixture)];
  const logged = loggedProposals({ calls, entries: fixture.entries });

  it('count as four proposals, none of them lost', () => {
    expect(logged).toHaveLength(8);
    expect(skipRevisions(logged)).toHaveLength(4);
    expect(skipRevisions(logged).filter(isRejected)).toEqual([]);
  });

  it('give four failed calls and no lost proposal on the page', () => {
    const text = visibleText(renderReport({ ...fixture, calls })).replaceAll('\u202f', '');
    expect(text).toContain('every proposal succeeded in the end');
    expect(text).not.toMatch(/proposals? lost/);
    expect(text).toMatch(/Failed calls 4 of \d+/);
    expect(text).toContain('iteration 4, revised');
  });
});

it('a lost proposal counts once, even among failed revisions', () => {
  const lost = fixture.calls.map((call) =>
    call.iteration === 2
      ? { ...call, outcome: { kind: 'rejected', failure: { kind: 'missing' } } as const }
      : call,
  );
  const entries = fixture.entries.filter(({ iteration }) => iteration !== 2);
  const logged = loggedProposals({ calls: [...lost, ...questions(fixture)], entries });
  expect(
    skipRevisions(logged)
      .filter(isRejected)
      .map(({ iteration }) => iteration),
  ).toEqual([2]);
});

it('an aborted call is not a failure', () => {
  const [first, ...others] = fixture.calls;
  const outcome = { kind: 'error', error: 'aborted', message: 'aborted', retries: 0, latencyMs: 0 } as const;
  const calls = [{ ...first!, outcome }, ...others];
  const entries = fixture.entries.filter(({ iteration }) => iteration !== 1);
  expect(loggedProposals({ calls, entries }).filter(isRejected)).toEqual([]);
  const text = visibleText(renderReport({ ...fixture, calls, entries })).replaceAll('\u202f', '');
  expect(text).toContain('Failed calls 0 of 4');
});

it('logged calls have a purpose; corrections and revisions do not count as proposals', async () => {
  const model = seededModel(0.4);
  const { path } = await runExperimentFrom(
    { ...quick, model: { provider: 'ollama', name: 'scripted' }, critic: { distance: 1, every: 2 } },
    { model },
  );
  const { calls } = readRun(path);
  expect(new Set(calls.map(({ purpose }) => purpose))).toEqual(new Set(['proposal', 'correction', 'critic']));
  for (const { attempt, purpose } of calls)
    if (purpose === 'proposal' || purpose === 'correction')
      expect(purpose === 'correction').toBe(attempt > 0);
  expect(readFigures(path)).toMatchObject({ proposals: 6 });
});
