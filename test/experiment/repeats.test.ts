/** Proposals that act like an earlier policy: what counts as one, and that a resumed run makes the same decisions. */
import { expect, it } from 'vitest';
import { evaluationSeeds } from '../../src/base/random/seeds.js';
import { formatNumber } from '../../src/base/text/numbers.js';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import { BehaviorTest } from '../../src/rollout/behavior-test.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { explainFailure, failureKind } from '../../src/runs/failure-text.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { quick, readRunFile, resumeExperiment, runExperimentFrom } from '../support/experiments.js';
import { createScriptedModel } from '../support/scripted-model.js';

const answer = (parameters: readonly number[]) => JSON.stringify({ params: parameters });
const model = { provider: 'ollama', name: 'scripted', format: 'json' } as const;
const alike = { ...quick, repeats: 'behaviour' } as const;
const lake = {
  ...alike,
  ...{ model, environment: 'FrozenLake-v1', evaluation: { episodes: 5, maxSteps: 12 }, corrections: 0 },
} as const satisfies ConfigInput;
const base = [1, 2, 1, 0, 1, 0, 2, 0, 2, 1, 1, 0, 0, 2, 2, 0];
/** The same table except for the action in one state. */
const variants = base.map((_, state) => base.map((action, s) => (s === state ? (action + 1) % 4 : action)));

it('a table is rejected only if no visited state distinguishes it from an earlier table', async () => {
  const config = { ...lake, iterations: 17, warmup: 1 };
  const { path } = await runExperimentFrom(config, {
    model: createScriptedModel([base, ...variants].map(answer)),
  });
  const { environment, family } = await assemble(parseConfig(config), {});
  const setting = { environment, family, maxSteps: 12, record: 'all' } as const;
  const { episodes } = await evaluate(setting, base, evaluationSeeds(0, 5));
  const { calls, episodes: recorded } = readRun(path);
  const seen = [...recorded].filter(({ iteration }) => iteration === 0).concat(episodes as never[]);
  const states = seen.flatMap(({ observations }) => observations.slice(0, -1));
  const times = base.map((_, state) => states.filter((one) => one === state).length);
  expect(calls.slice(1).map(({ outcome }) => outcome.kind)).toEqual(
    times.map((n) => (n === 0 ? 'rejected' : 'accepted')),
  );
  // Some differ in one step of one episode.
  for (const n of [0, 1]) expect(times).toContain(n);
  const test = new BehaviorTest(setting, []);
  test.observe([{ iteration: 0, observations: [0, 1] }]);
  expect(await test.prepare(undefined, [])).toBe(true);
  test.observe([{ iteration: 0, observations: [1, 2] }]);
  const chosen = await Promise.all([base, variants[1]!, variants[2]!].map((one) => test.actionHash(one)));
  // The final observation has no action.
  expect(chosen.map((one) => one === chosen[0])).toEqual([true, false, true]);
});

const gains = [0, 0, 0, 0, 0, 0, 0, 0, 1, 2];
const scaled = [1, 2, -1, -2].map((factor) => gains.map((gain) => gain && factor * gain));

it('a doubled vector is rejected, and the correction explains why', async () => {
  const scripted = createScriptedModel(scaled.map(answer));
  const config = { ...alike, model, iterations: 2, corrections: 1 };
  const { path } = await runExperimentFrom(config, { model: scripted });
  const [, second] = readRun(path).calls.map(({ outcome }) => outcome);
  const { score } = readRun(path).entries.at(-2)!;
  const failure = { kind: 'repeated', iteration: 1, score, same: 'actions', episodes: 3 } as const;
  expect(second).toEqual({ kind: 'rejected', failure });
  expect(failureKind(second!, [])).toBe('plays-alike');
  const text = `Plays like iteration 1, with score ${formatNumber(score)}: in 3 episodes it chooses the same actions.`;
  expect(explainFailure(failure)).toBe(text);
  expect(scripted.calls[2]!.messages.at(-1)!.content).toContain(
    `play like those of iteration 1, f(params) = ${score.toFixed(2)}: in 3 episodes, they choose the same actions.`,
  );
  expect(readRun(path).entries.at(-1)).toMatchObject({ iteration: 2, parameters: scaled[2] });
});

it('a doubled vector is accepted with repeats: parameters, but the confirmation compares only policies that act differently', async () => {
  const evaluation = { episodes: 3, maxSteps: 9 };
  const more = { evaluation, confirmation: { candidates: 9, episodes: 50 }, repeats: 'parameters' } as const;
  const config = { ...alike, ...more, model, iterations: 4, warmup: 1, corrections: 0 };
  const { path } = await runExperimentFrom(config, { model: createScriptedModel(scaled.map(answer)) });
  expect(readRun(path).entries).toHaveLength(5);
  const compared = readManifest(path).confirmations.filter(({ stage }) => stage === 'selection');
  expect(compared.length).toBeGreaterThan(1);
  expect(readManifest(path).noise).toMatchObject({ floor: expect.any(Number), episodes: 3 });
  expect(readRunFile(path, 'report')).toContain('"label":"noise floor (');
  for (const { iteration } of compared) expect([0, 1, 3]).toContain(iteration);
});

it.each(['common', 'fresh'] as const)(
  'a resumed run rejects the same repeats, with %s episodes',
  async (seeds) => {
    const more = { candidates: 2, corrections: 2, iterations: 8 };
    const config = { ...lake, ...more, evaluation: { ...lake.evaluation, seeds } };
    /** Tables of two actions, few of which act differently. */
    const seeded = () =>
      createScriptedModel(({ options }) => answer(base.map((_, s) => (options.seeds[0]! >> (s % 4)) & 1)));
    const whole = await runExperimentFrom(config, { model: seeded() });
    const kinds = readRun(whole.path).calls.map(({ outcome }) => failureKind(outcome, []));
    expect(kinds).toContain('plays-alike');
    for (const at of [2, 9]) {
      const stop = new AbortController();
      let calls = 0;
      const onEvent = ({ kind }: { readonly kind: string }) =>
        kind === 'call-finished' && ++calls === at && stop.abort();
      const { path } = await runExperimentFrom(config, { model: seeded(), abort: stop.signal, onEvent });
      expect(readManifest(path).status).toBe('interrupted');
      await resumeExperiment(path, { model: seeded() });
      expect(readRunFile(path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
      expect(readManifest(path).confirmations).toEqual(readManifest(whole.path).confirmations);
    }
  },
);

it.each([{ record: 'none' }, { warmup: 0 }] as const)('a repeat is found even with %j', async (setting) => {
  const config = { ...alike, ...setting, model, iterations: 2, corrections: 0 };
  const { path } = await runExperimentFrom(config, { model: createScriptedModel(scaled.map(answer)) });
  expect(readRun(path).calls.map(({ outcome }) => failureKind(outcome, []))).toEqual([
    undefined,
    'plays-alike',
  ]);
});

it('a search makes the same evaluations with repeats: behaviour as with repeats: parameters', async () => {
  const config = { ...lake, model: { provider: 'hill-climb' }, iterations: 30 } as const;
  const { path } = await runExperimentFrom({ ...config, repeats: 'behaviour' });
  const other = await runExperimentFrom({ ...config, repeats: 'parameters' });
  expect(readRunFile(path, 'evaluations')).toBe(readRunFile(other.path, 'evaluations'));
});
