import { expect, it } from 'vitest';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/assemble.js';
import { preflight } from '../../../src/preflight/preflight.js';
import { renderReport } from '../../../src/report/run-report.js';
import { runText } from '../../../src/report/run-text.js';
import { runData } from '../../../src/report/write-report.js';
import { readWholeRun } from '../../../src/runs/open-run.js';
import { readRun } from '../../../src/runs/reader.js';
import { nearestTried } from '../../../src/search/moves.js';
import { quick, readRunFile, resumeExperiment, runExperimentFrom } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';

const spec = { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
const config = (action: 'ask' | 'jitter') =>
  ({
    ...quick,
    candidates: 2,
    iterations: 5,
    corrections: 4,
    model: { provider: 'ollama', name: 'scripted' },
    novelty: { distance: 0.05, action },
  }) as const satisfies ConfigInput;

/** Answers near one place, and a little further off each time that it is asked again. */
const timid = () =>
  createScriptedModel(({ messages, options }) => {
    const offset = (options.seeds[0]! % 3) / 10 + messages.filter(({ role }) => role === 'assistant').length;
    return Array.from({ length: 10 }, (_, i) => `params[${i}]: ${(offset - 1).toFixed(1)}`).join(', ');
  });

it.each(['ask', 'jitter'] as const)(
  'novelty (%s) keeps proposals apart, and resumed and replayed runs are identical',
  async (action) => {
    const { path } = await runExperimentFrom(config(action), { model: timid() });
    const { calls, entries } = readRun(path);
    for (const [i, { parameters, source }] of entries.entries()) {
      if (source !== 'proposal') continue;
      expect(nearestTried(parameters, entries.slice(0, i), spec)!.distance).toBeGreaterThanOrEqual(0.05);
    }
    const refused = calls.filter(
      ({ outcome }) => outcome.kind === 'rejected' && outcome.failure.kind === 'too-close',
    );
    const moved = calls.filter(({ outcome }) => outcome.kind === 'accepted' && outcome.moved !== undefined);
    expect(
      action === 'ask' ? [refused.length > 0, moved.length] : [moved.length > 0, refused.length],
    ).toEqual([true, 0]);

    const stop = new AbortController();
    const stopped = await runExperimentFrom(config(action), {
      model: timid(),
      finish: stop.signal,
      onEvent: (event) => event.kind === 'iteration-finished' && event.iteration === 2 && stop.abort(),
    });
    await resumeExperiment(stopped.path, { model: timid() });
    expect(readRunFile(stopped.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    const replayed = await runExperimentFrom({
      ...config(action),
      model: { provider: 'replayed', run: path },
    });
    expect(readRunFile(replayed.path, 'calls')).toBe(readRunFile(path, 'calls'));

    const run = await readWholeRun(path);
    const page = renderReport({ ...runData(run), animations: [] });
    expect(page).toContain(action === 'ask' ? 'too-close' : 'too close to earlier ones');
    expect(runText(run, { top: 1, cwd: '/' })).toMatch(
      action === 'ask'
        ? /novelty\s+\d+ answers? too close.*: [1-9]\d* rejected, 0 moved/
        : /: 0 rejected, [1-9]\d* moved/,
    );
  },
);

it('a correction tells the model the required distance', async () => {
  const model = timid();
  await runExperimentFrom(config('ask'), { model });
  const asked = model.calls.flatMap(({ messages }) =>
    messages.slice(2).filter(({ role }) => role === 'user'),
  );
  expect(asked.some(({ content }) => content.includes('Propose some that differ by 5 % or more.'))).toBe(
    true,
  );
});

it('novelty with action ask is rejected without corrections', () => {
  expect(() => parseConfig({ ...config('ask'), corrections: 0 })).toThrow(
    /novelty\.action.*corrections is 0/s,
  );
});

it('check warns about a novelty distance that hardly any parameters can reach', async () => {
  const found = async (changes: Partial<ConfigInput>) => {
    const assembly = await assemble(parseConfig({ ...config('ask'), ...changes } as ConfigInput), {});
    return preflight(assembly).find(({ field }) => field === 'novelty.distance');
  };
  expect(await found({ novelty: { distance: 0.5 } })).toMatchObject({
    level: 'warning',
    message: expect.stringMatching(/0\.41/),
  });
  expect(await found({ novelty: { distance: 0.3 } })).toBeUndefined();
  const table = { environment: 'FrozenLake-v1' };
  expect(await found({ ...table, novelty: { distance: 0.7 } })).toBeUndefined();
  expect(await found({ ...table, novelty: { distance: 0.8, action: 'jitter' } })).toMatchObject({
    message: expect.stringMatching(/0\.75/),
  });
});
