import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { preflight } from '../../../src/experiment/preflight/preflight.js';
import { assemble } from '../../../src/experiment/setup/assemble.js';
import { readWholeRun } from '../../../src/runs/open-run.js';
import { readManifest, readRun, runFiles } from '../../../src/runs/reader.js';
import { renderReport } from '../../../src/web/report/run-report.js';
import { runFigures, runText } from '../../../src/web/report/run-text.js';
import { runData } from '../../../src/web/report/write-report.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../../support/experiments.js';
import { chartIn, visibleText } from '../../web/shown.js';

const reader = { provider: 'ollama', name: 'scripted', price: { input: 1, output: 4 } } as const;

/** A model for three iterations, then two searches. */
const config: ConfigInput = {
  ...quick,
  iterations: 12,
  candidates: 2,
  model: {
    relay: [{ ...reader, calls: 6 }, { provider: 'gp', evaluations: 4 }, { provider: 'cma-es' }],
  },
};

async function relay(given: ConfigInput, wrong = 0.3) {
  const { proposer } = await assemble(parseConfig(given), {}, undefined, { model: seededModel(wrong) });
  return { model: proposer };
}

const membersIn = (path: string) => readRun(path).calls.map(({ member }) => member);
const files = ['evaluations', 'episodes'] as const;
const contentOf = (path: string) => files.map((file) => readRunFile(path, file));

it('a run killed after any event in any leg resumes to the same bytes, and a replay needs no model', async () => {
  const snapshots: string[] = [];
  const random = createGenerator(5);
  const path = join(temporaryDirectory(), 'run');
  await runExperimentFrom(config, {
    ...(await relay(config)),
    path,
    onEvent() {
      if (random.random() > 0.15) return;
      // What a kill leaves, except for its lock, which a living process holds here.
      const copy = join(temporaryDirectory(), 'killed');
      cpSync(path, copy, { recursive: true });
      rmSync(join(copy, runFiles.lock), { force: true });
      snapshots.push(copy);
    },
  });
  const turns = readRun(path).calls.map(({ iteration, member }) => `${iteration}: ${member}`);
  expect([...new Set(turns)]).toEqual([
    ...[1, 2, 3].map((i) => `${i}: leg 1 (ollama)`),
    ...[4, 5].map((i) => `${i}: leg 2 (gp)`),
    ...[6, 7, 8, 9, 10, 11, 12].map((i) => `${i}: leg 3 (cma-es)`),
  ]);
  const found = snapshots.map((copy) => new Set(membersIn(copy)).size);
  for (const legs of [1, 2, 3]) expect(found).toContain(legs);
  for (const copy of snapshots) {
    if (readManifest(copy).status === 'completed') continue;
    await resumeExperiment(copy, await relay(config));
    expect(contentOf(copy)).toEqual(contentOf(path));
    expect(membersIn(copy)).toEqual(membersIn(path));
  }
  const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: path } });
  expect(contentOf(replayed.path)).toEqual(contentOf(path));
  expect(membersIn(replayed.path)).toEqual(membersIn(path));
  expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
});

it.each([
  [{ calls: 4 }, 'calls', 1],
  [{ cost: 0.03 }, 'cost', 1],
  [{ evaluations: 8 }, 'evaluations', 1],
  [{ calls: 9 }, 'calls', 2],
  [{ evaluations: 15 }, 'evaluations', 3],
])('the limit %o ends the run in its leg, and the run is complete', async (limits, limit, legs) => {
  const given = { ...config, limits };
  const { path } = await runExperimentFrom(given, await relay(given, 0));
  expect(readManifest(path)).toMatchObject({ status: 'completed', reason: { kind: 'limit', limit } });
  expect(new Set(membersIn(path)).size).toBe(legs);
  const [used, cap] = [readManifest(path).caps?.[0]?.used ?? 0, Object.values(limits)[0]!];
  expect(used).toBeGreaterThan(0);
  expect(used).toBeLessThanOrEqual(cap);
});

it('the flat beginning of a task keeps the model proposing', async () => {
  const flat = { ...config, environment: 'MountainCar-v0', iterations: 5 } as const;
  const { path } = await runExperimentFrom(flat, await relay(flat, 0));
  expect(new Set(readRun(path).entries.map(({ score }) => score)).size).toBe(1);
  expect(new Set(membersIn(path))).toEqual(new Set(['leg 1 (ollama)']));
});

it('check counts the calls of the model, and what the searches add', async () => {
  const messageOf = async (changes: Partial<ConfigInput>) => {
    const findings = preflight(await assemble(parseConfig({ ...config, ...changes }), {}));
    return findings.find(({ field }) => field === 'estimate')?.message;
  };
  expect(await messageOf({})).toMatch(
    /^about 6 calls \(24 with all corrections\).*; leg 1 \(ollama\) continues while all returns are equal; leg 2 \(gp\) adds at most 4 evaluations at no cost; leg 3 \(cma-es\) adds at most 14 evaluations at no cost/,
  );
  expect(await messageOf({ limits: { evaluations: 7 } })).toMatch(/^about 4 calls/);
  expect(await messageOf({ iterations: 2 })).toMatch(
    /^about 4 calls.*leg 2 \(gp\) adds at most 0 evaluations/,
  );
});

it('show, its JSON, the report and the learning curve say which leg found what', async () => {
  const { path } = await runExperimentFrom(config, await relay(config));
  const run = await readWholeRun(path);
  const { foundBy, members, top } = runFigures(run, { top: 30, cwd: '/' });
  const legs = ['leg 1 (ollama)', 'leg 2 (gp)', 'leg 3 (cma-es)'];
  expect(members?.map(({ member }) => member)).toEqual(legs);
  const [first] = top;
  const call = [...run.recorded.calls].find((one) => one.iteration === first!.iteration);
  expect(first!.by).toBe(call?.member);
  const shown = runText(run, { top: 30, cwd: '/' });
  expect(shown).toMatch(/by {8}leg 1 \(ollama\): 6 candidates/);
  expect(shown).toContain(`best policy  ${foundBy}, iteration`);
  const page = renderReport(runData(run));
  expect(visibleText(page)).toContain('Legs');
  expect(visibleText(page)).toContain(`(${foundBy}): best on unseen episodes`);
  const drawn = chartIn(page).series.map(({ label, values }) => [
    label,
    values.filter((v) => v !== null).length,
  ]);
  const evaluated = members!.map(({ member, evaluated: count }) => [member, count]);
  expect(drawn).toEqual([['evaluations', 3], ...evaluated, ['best so far', run.recorded.entries.length]]);
});
