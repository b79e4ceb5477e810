/** A budget of evaluations: rejected proposals spend none of it. */
import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { preflight } from '../../src/experiment/preflight/preflight.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import { readPlayableRun } from '../../src/runs/open-run.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { readComparedRuns } from '../../src/studies/comparison/compared-runs.js';
import { runFigures } from '../../src/web/report/run-text.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
} from '../support/experiments.js';

const config = {
  ...quick,
  iterations: 40,
  corrections: 0,
  limits: { evaluations: 12 },
  model: { provider: 'ollama', name: 'scripted' },
} as const satisfies ConfigInput;

/** Half of its answers are unusable, as are those of its critic. */
const clumsy = () => seededModel(0.5);

const reached = { status: 'completed', reason: { kind: 'limit', limit: 'evaluations' } };

describe('limits.evaluations', () => {
  it.each<[string, Partial<ConfigInput>, number]>([
    ['one proposal per iteration', {}, 12],
    ['groups, the last of which would exceed the limit', { candidates: 4 }, 12],
    ['revisions, some of them rejected', { critic: { distance: 1 } }, 12],
    ['a search', { model: { provider: 'cma-es' } }, 12],
  ])('ends a run with %s', async (_name, more, most) => {
    const whole = { ...config, ...more } as ConfigInput;
    const model = 'model' in more ? undefined : clumsy();
    const { path } = await runExperimentFrom(whole, model && { model });
    const { entries } = readRun(path);
    const each = more.candidates ?? 1;
    expect(entries.length).toBeGreaterThan(most - each);
    expect(entries.length).toBeLessThanOrEqual(most);
    expect(readManifest(path)).toMatchObject({
      ...reached,
      caps: [{ limit: 'evaluations', used: entries.length, cap: 12 }],
    });
    const [compared] = readComparedRuns([path]).runs;
    expect(compared).toMatchObject({ budget: 12, evaluations: entries.length });
    const best = entries.map((_, i) => Math.max(...entries.slice(0, i + 1).map(({ score }) => score)));
    expect(compared!.curve).toHaveLength(12);
    expect(compared!.curve.slice(0, entries.length)).toEqual(best);
  });

  it('skips the critic if a revision would exceed the limit', async () => {
    const model = seededModel();
    const more = { critic: { distance: 1 }, limits: { evaluations: 6 }, repeats: 'parameters' } as const;
    const { path } = await runExperimentFrom({ ...config, ...more }, { model });
    const { calls, entries } = readRun(path);
    expect(entries).toHaveLength(6);
    expect(entries.filter(({ revises }) => revises !== undefined)).toHaveLength(1);
    const purposes = calls.map(({ iteration, purpose }) => [iteration, purpose]);
    expect(purposes).toEqual([
      [1, 'proposal'],
      [1, 'critic'],
      [2, 'proposal'],
    ]);
  });

  it.each(['finish', 'abort'] as const)('holds for a run resumed after the %s signal', async (how) => {
    const { path } = await runExperimentFrom(config, { model: clumsy() });
    const stop = new AbortController();
    const stopped = await runExperimentFrom(config, {
      model: clumsy(),
      [how]: stop.signal,
      onEvent: (event) => event.kind === 'iteration-finished' && event.iteration === 4 && stop.abort(),
    });
    expect(readManifest(stopped.path).status).toBe('interrupted');
    await resumeExperiment(stopped.path, { model: clumsy() });
    expect(readManifest(stopped.path)).toMatchObject(reached);
    expect(readRunFile(stopped.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    const answered = (run: string) =>
      readRun(run).calls.flatMap(({ iteration, outcome }) => (outcome.kind === 'error' ? [] : iteration));
    expect(answered(stopped.path)).toEqual(answered(path));
  });

  it('is included in the estimate of check and in show, and is rejected if it allows no iteration', async () => {
    const findings = async (more: Partial<ConfigInput>) =>
      preflight(await assemble(parseConfig({ ...config, ...more } as ConfigInput), {}));
    const estimate = (await findings({})).find((finding) => 'estimate' in finding);
    expect(estimate).toMatchObject({ estimate: { calls: { expected: 9, most: 40 } } });
    const tight = await findings({ limits: { evaluations: 6 }, candidates: 4 });
    expect(tight.filter(({ level }) => level === 'error')).toEqual([
      {
        level: 'error',
        field: 'limits.evaluations',
        value: 6,
        message:
          'the warm-up takes 3 evaluations and the first iteration 4, so the run would stop before its first iteration',
        hint: 'set limits.evaluations=7 or higher',
      },
    ]);
    const { path } = await runExperimentFrom(config, { model: seededModel() });
    expect(runFigures(await readPlayableRun(path), { top: 1, cwd: '/' })).toMatchObject({
      caps: [{ limit: 'evaluations', used: 12, cap: 12 }],
    });
  });
});
