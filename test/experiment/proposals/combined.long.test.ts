import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { preflight } from '../../../src/experiment/preflight/preflight.js';
import { type Assembly, assemble } from '../../../src/experiment/setup/assemble.js';
import { type LanguageModel, ModelError } from '../../../src/models/language-model.js';
import type { Proposer } from '../../../src/proposers/proposer.js';
import { configChanges } from '../../../src/runs/fingerprint.js';
import { readPlayableRun } from '../../../src/runs/open-run.js';
import { readManifest, readRun, runFiles } from '../../../src/runs/reader.js';
import { materialSettings } from '../../../src/studies/comparison/run-groups.js';
import { memberFigures } from '../../../src/web/report/data/contributions.js';
import { loggedProposals } from '../../../src/web/report/data/proposals.js';
import { iterationDetails, iterationText } from '../../../src/web/report/iteration-text.js';
import { renderReport } from '../../../src/web/report/run-report.js';
import { runFigures, runText } from '../../../src/web/report/run-text.js';
import { runData } from '../../../src/web/report/write-report.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  stopAfter,
  temporaryDirectory,
} from '../../support/experiments.js';
import { chartIn, visibleText } from '../../web/shown.js';

const baselines = [{ provider: 'hill-climb' }, { provider: 'gp' }, { provider: 'cma-es' }] as const;
const fast = [{ provider: 'hill-climb' }, { provider: 'cma-es' }] as const;
const reader = { provider: 'ollama', name: 'scripted', price: { input: 1, output: 4 } } as const;

const portfolio = (model: object, more: Partial<ConfigInput> = {}) =>
  ({ ...quick, iterations: 6, ...more, model: { provider: 'portfolio', ...model } }) as ConfigInput;

/** The portfolio or relay of a config with another model in the place of its language model. */
async function withModel(config: ConfigInput, model: LanguageModel): Promise<Proposer> {
  const { proposer } = await assemble(parseConfig(config), {}, undefined, { model });
  return proposer;
}

const membersIn = (path: string) => readRun(path).calls.map(({ member }) => member);

it('a run with a portfolio makes the same evaluations if it is resumed or replayed', async () => {
  const config = portfolio({ members: [{ ...reader, weight: 2 }, ...fast] }, { candidates: 3 });
  const made = () => withModel(config, seededModel(0.3));
  const { path } = await runExperimentFrom(config, { model: await made() });
  expect(new Set(membersIn(path)).size).toBeGreaterThan(1);
  const { path: stopped } = await runExperimentFrom(config, { model: await made(), ...stopAfter(3) });
  expect(readManifest(stopped).iterations.done).toBe(3);
  await resumeExperiment(stopped, { model: await made() });
  expect(readRunFile(stopped, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  expect(membersIn(stopped)).toEqual(membersIn(path));
  const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: path } });
  expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  expect(membersIn(replayed.path)).toEqual(membersIn(path));
  expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
});

it("a portfolio counts only its language model's tokens; corrections go to the member that erred", async () => {
  const config = portfolio(
    { members: [reader, { provider: 'random' }] },
    { candidates: 4, limits: { cost: 1 } },
  );
  const { path } = await runExperimentFrom(config, { model: await withModel(config, seededModel(0.5)) });
  const { calls } = readRun(path);
  const by = (name: string) => calls.filter(({ member }) => member === name);
  expect(by('ollama').length).toBeGreaterThan(5);
  expect(by('ollama').some(({ attempt }) => attempt > 0)).toBe(true);
  for (const { candidate, iteration, member } of calls.filter(({ attempt }) => attempt > 0)) {
    const first = calls.find((call) => call.iteration === iteration && call.candidate === candidate);
    expect(first?.member).toBe(member);
  }
  expect(by('random').every(({ cost }) => cost === undefined)).toBe(true);
  const prompts = by('ollama').map(({ completion }) => completion?.usage.promptTokens ?? 0);
  expect(readManifest(path).usage.promptTokens).toBe(prompts.reduce((sum, tokens) => sum + tokens, 0));
});

it('a run fails at once if the language model of its portfolio is unreachable', async () => {
  const config = portfolio({ members: [{ provider: 'random' }, { ...reader, weight: 1000 }] });
  const absent: LanguageModel = {
    id: 'ollama/absent',
    generate: () =>
      Promise.reject(new ModelError('network', 'nobody is there', { retries: 0, latencyMs: 0 })),
  };
  const { path } = await runExperimentFrom(config, { model: await withModel(config, absent) });
  expect(readManifest(path)).toMatchObject({
    ...{ status: 'failed', iterations: { done: 0 } },
    reason: { kind: 'model-error', message: 'nobody is there' },
  });
});

it('candidates that one member proposes in a group are all different', async () => {
  const config = portfolio(
    { members: [{ provider: 'gp', weight: 3 }, { provider: 'random' }] },
    { candidates: 8 },
  );
  const { path } = await runExperimentFrom({ ...config, iterations: 3 });
  const points = readRun(path).entries.map(({ parameters }) => parameters.join());
  expect(new Set(points).size).toBe(points.length);
});

it('a portfolio rejects a second language model, a nested portfolio, a single member and unknown settings', () => {
  const wrong = (model: object) => () => parseConfig(portfolio(model));
  expect(wrong({ members: [reader, { provider: 'local' }] })).toThrow(
    /members\.1\.provider.*second language model/s,
  );
  expect(wrong({ members: [baselines[0], { provider: 'portfolio', members: [...baselines] }] })).toThrow(
    /members\.1/,
  );
  expect(wrong({ members: [baselines[0]] })).toThrow(/members/);
  expect(wrong({ members: [baselines[0], { provider: 'hill-climb', sigmma: 3 }] })).toThrow(
    /members\.1\.sigm/,
  );
});

it('a resumed run may change the timeout of a member, but not its search settings', () => {
  const config = (timeoutSeconds: number, sigma: number) =>
    parseConfig(
      portfolio({
        members: [
          { ...reader, timeoutSeconds },
          { provider: 'hill-climb', sigma },
        ],
      }),
    );
  expect(configChanges(config(10, 1), config(20, 1))).toEqual([]);
  expect(configChanges(config(10, 1), config(10, 2))).toHaveLength(1);
});

it('check validates the language model in a portfolio', async () => {
  const config = parseConfig(
    portfolio({
      members: [
        { ...reader, maxTokens: 8 },
        { provider: 'gp', weight: 3 },
      ],
    }),
  );
  const assembly: Assembly = await assemble(config, {});
  const findings = preflight(assembly);
  expect(findings.find(({ field }) => field === 'model.members.0.maxTokens')).toMatchObject({
    level: 'error',
  });
  expect(findings.find(({ field }) => field === 'estimate')?.message).toMatch(/^about 2 calls/);
});

it('the report, show and iteration details name the members that proposed', async () => {
  const { path } = await runExperimentFrom(portfolio({ members: [...baselines] }, { candidates: 3 }));
  const run = await readPlayableRun(path);
  const page = renderReport(runData(run));
  expect(page).toContain('Contributions');
  for (const name of ['hill-climb', 'gp', 'cma-es']) expect(visibleText(page)).toContain(`${name} `);
  const figures = memberFigures(loggedProposals(run.recorded));
  expect(figures.reduce((sum, { candidates }) => sum + candidates, 0)).toBe(18);
  expect(figures.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(runText(run, { top: 3, cwd: '/' })).toMatch(/by\s+gp: \d+ candidates/);
  const { calls, entries } = run.recorded;
  const { top } = runFigures(run, { top: entries.length, cwd: '/' });
  for (const { by, candidate, iteration } of top) {
    const call = [...calls].find((one) => one.iteration === iteration && one.candidate === candidate);
    expect(by).toBe(call?.member);
  }
  expect(runText(run, { top: entries.length, cwd: '/' })).toMatch(/candidate {2}by\n[\s\S]*\d {2}cma-es\n/);
  expect(iterationText(iterationDetails(run, 2, undefined))).toMatch(
    /proposal \((hill-climb|gp|cma-es), first attempt: accepted\)/,
  );
});

/** A model for three iterations, then two searches. */
const relay: ConfigInput = {
  ...{ ...quick, iterations: 12, candidates: 2 },
  model: {
    provider: 'relay',
    relay: [{ ...reader, calls: 6 }, { provider: 'gp', evaluations: 4 }, { provider: 'cma-es' }],
  },
};
const legs = ['leg 1 (ollama)', 'leg 2 (gp)', 'leg 3 (cma-es)'];

const scripted = async (given: ConfigInput, wrong = 0.3) => ({
  model: await withModel(given, seededModel(wrong)),
});
const recordedIn = (path: string) => [
  readRunFile(path, 'evaluations'),
  readRunFile(path, 'episodes'),
  membersIn(path),
];

it('a relay killed in any leg makes the same evaluations when resumed; a replay needs no model', async () => {
  const snapshots: string[] = [];
  const random = createGenerator(5);
  const path = join(temporaryDirectory(), 'run');
  const onEvent = () => {
    if (random.random() > 0.15) return;
    // What a kill leaves, except for its lock, which a living process holds here.
    const copy = join(temporaryDirectory(), 'killed');
    cpSync(path, copy, { recursive: true });
    rmSync(join(copy, runFiles.lock), { force: true });
    snapshots.push(copy);
  };
  await runExperimentFrom(relay, { ...(await scripted(relay)), path, onEvent });
  expect(membersIn(path).filter((member, i, all) => member !== all[i - 1])).toEqual(legs);
  const left = snapshots.filter((copy) => readManifest(copy).status !== 'completed');
  const found = left.map((copy) => new Set(membersIn(copy)).size);
  expect(new Set(found)).toEqual(new Set([0, 1, 2, 3]));
  for (const copy of left) {
    await resumeExperiment(copy, await scripted(relay));
    expect(recordedIn(copy)).toEqual(recordedIn(path));
  }
  const replayed = await runExperimentFrom({ ...relay, model: { provider: 'replayed', run: path } });
  expect(recordedIn(replayed.path)).toEqual(recordedIn(path));
  expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
});

it.each([
  [{ calls: 4 }, 1],
  [{ cost: 0.03 }, 1],
  [{ calls: 9 }, 2],
  [{ evaluations: 15 }, 3],
])('the limit %o ends a relay in the leg that reaches it, and the run is complete', async (limits, last) => {
  const given = { ...relay, limits };
  const { path } = await runExperimentFrom(given, await scripted(given, 0));
  const [[limit, cap]] = Object.entries(limits) as [[string, number]];
  const { caps, reason, status } = readManifest(path);
  expect({ reason, status }).toEqual({ status: 'completed', reason: { kind: 'limit', limit } });
  expect([...new Set(membersIn(path))]).toEqual(legs.slice(0, last));
  expect(caps![0]!.used).toBeLessThanOrEqual(cap);
});

it("check counts the calls of a relay's model, and the evaluations that its searches add", async () => {
  const messageOf = async (changes: Partial<ConfigInput>) => {
    const findings = preflight(await assemble(parseConfig({ ...relay, ...changes }), {}));
    return findings.find(({ field }) => field === 'estimate')?.message;
  };
  expect(await messageOf({})).toMatch(
    /^about 6 calls \(48 with all corrections\).*; leg 1 \(ollama\) lasts up to twice as long while all returns are equal; leg 2 \(gp\) adds at most 4 evaluations at no cost; leg 3 \(cma-es\) adds at most 14 evaluations at no cost/,
  );
  expect(await messageOf({ limits: { evaluations: 7 } })).toMatch(/^about 4 calls/);
  expect(await messageOf({ iterations: 2 })).toMatch(/^about 4 calls.*\(gp\) adds at most 0 evaluations/);
});

it('show, its JSON, the report and the learning curve show which leg of a relay proposed a policy', async () => {
  const { path } = await runExperimentFrom(relay, await scripted(relay));
  const run = await readPlayableRun(path);
  const { foundBy, members } = runFigures(run, { top: 3, cwd: '/' });
  expect(members?.map(({ member }) => member)).toEqual(legs);
  const keys = [...materialSettings(run).keys()].filter((key) => key.startsWith('model.relay.0.'));
  expect(keys).toEqual(
    ['provider', 'name', 'maxTokens', 'format', 'calls'].map((key) => `model.relay.0.${key}`),
  );
  expect(runText(run, { top: 3, cwd: '/' })).toContain(`best policy  ${foundBy}, iteration`);
  const page = renderReport(runData(run));
  expect(visibleText(page)).toContain('Contributions');
  expect(visibleText(page)).toContain(`(${foundBy}): best on fresh episodes`);
  const counted = (values: readonly unknown[]) => values.filter((value) => value !== null).length;
  const drawn = chartIn(page).series.map(({ label, values }) => [label, counted(values)]);
  const evaluated = members!.map((one) => [one.member, one.evaluated]);
  expect(drawn).toEqual([['evaluations', 3], ...evaluated, ['best so far', run.recorded.entries.length]]);
});
