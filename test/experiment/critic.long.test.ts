import { expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { preflight } from '../../src/experiment/preflight/preflight.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import { rememberedEntries } from '../../src/prompting/context/history.js';
import { formatParameters } from '../../src/prompting/notation/grammar.js';
import { baselineProposer } from '../../src/proposers/baseline-proposer.js';
import { distanceOf } from '../../src/proposers/moves.js';
import type { Proposer } from '../../src/proposers/proposer.js';
import { type RunEvent, tallyOf } from '../../src/runs/events.js';
import { readPlayableRun } from '../../src/runs/open-run.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { iterationDetails, iterationText } from '../../src/web/report/iteration-text.js';
import { renderReport } from '../../src/web/report/run-report.js';
import { runFigures, runText } from '../../src/web/report/run-text.js';
import { runData } from '../../src/web/report/write-report.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  stopAfter,
} from '../support/experiments.js';
import { createScriptedModel, type ScriptedCall } from '../support/scripted-model.js';

const spec = { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
const config = {
  ...quick,
  model: { provider: 'ollama', name: 'scripted', price: { input: 1, output: 4 } },
  critic: {},
  repeats: 'parameters',
} as const satisfies ConfigInput;

const isCritic = ({ messages }: Pick<ScriptedCall, 'messages'>) =>
  messages[0]!.content.includes('You look at how the policy');

/** The parameters that the critic is shown. */
const shown = ({ messages }: Pick<ScriptedCall, 'messages'>) =>
  [...messages[1]!.content.split('\n')[1]!.matchAll(/: (-?[\d.]+)/g)].map(([, value]) => Number(value));

/** Ten numbers that depend on the seed of the call. */
function drawn({ options }: Pick<ScriptedCall, 'options'>, scale: number): readonly number[] {
  const random = createGenerator(options.seeds[0]!);
  return Array.from({ length: 10 }, () => Number(random.uniform(-scale, scale).toFixed(1)));
}

/** Proposes according to the seed of the call, and changes each parameter by `size` in a revision. */
const reviser = (size: (call: ScriptedCall) => number) =>
  createScriptedModel((call) => {
    if (!isCritic(call)) return `${formatParameters(drawn(call, 6), spec)}\nA guess.`;
    const steps = drawn(call, size(call));
    const revision = shown(call).map((value, i) => Math.min(6, Math.max(-6, value + steps[i]!)));
    return `${formatParameters(revision, spec)}\nLess of what fails.`;
  });

const resultsIn = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.kind === 'revised' ? event.result : []));

const careful = () => reviser(() => 1.5);

it('the critic revises the best proposal of each iteration, and prompts show the proposal or its revision, whichever is better', async () => {
  const model = careful();
  const { path, events } = await runExperimentFrom({ ...config, candidates: 2 }, { model });
  const { calls, entries } = readRun(path);
  const revisions = entries.filter(({ revises }) => revises !== undefined);
  expect(revisions).toHaveLength(6);
  const told = events.filter((event) => event.kind === 'revised');
  for (const [i, revision] of revisions.entries()) {
    const own = entries.filter(({ iteration, revises }) => iteration === i + 1 && revises === undefined);
    const best = own.toSorted((a, b) => b.score - a.score || a.candidate - b.candidate)[0]!;
    expect(revision).toMatchObject({ iteration: i + 1, candidate: 2, revises: best.candidate });
    expect(told[i]).toMatchObject({
      revises: best.candidate,
      before: best.score,
      after: revision.score,
      result: revision.score > best.score ? 'better' : 'no-better',
      distance: distanceOf(revision.parameters, best.parameters, spec),
    });
    const asked = calls.find(({ iteration, purpose }) => iteration === i + 1 && purpose === 'critic')!;
    expect(asked.messages[1]!.content).toContain(formatParameters(best.parameters, spec));
    const worse = revision.score > best.score ? best : revision;
    const later = calls.findLast(({ purpose }) => purpose === 'proposal')!;
    if (i + 1 < later.iteration) {
      const line = (parameters: readonly number[]) => formatParameters(parameters, spec, '; ');
      expect(later.messages[1]!.content).not.toContain(line(worse.parameters));
      expect(later.messages[1]!.content).toContain(line((worse === best ? revision : best).parameters));
    }
  }
  expect(new Set(told.map(({ result }) => result)).size).toBe(2);
});

it('the critic sees the median episode and statistics over all episodes, or only one of these', async () => {
  const promptOf = async (show: 'statistics' | 'median-episode' | 'both') => {
    const model = careful();
    await runExperimentFrom({ ...config, iterations: 1, critic: { show, rows: 4 } }, { model });
    return model.calls.find(isCritic)!.messages[1]!.content;
  };
  const both = await promptOf('both');
  expect(both).toMatch(/## What all 3 episodes show/);
  expect(both).toMatch(/action [01], share of steps: /);
  expect(both).toMatch(/terminated: mean return .* observed last: observation\[0\]/);
  const [, rows] = /## The episode with the median return \(number (?:\d) of 3\)\n.*\n([\s\S]*?)\n\n/.exec(
    both,
  )!;
  expect(rows!.split('\n')).toHaveLength(5);
  expect(await promptOf('statistics')).not.toContain('median return');
  expect(await promptOf('median-episode')).not.toContain('share of steps');
});

it('a run with a critic records no extra trajectories, only one per evaluation', async () => {
  const { path } = await runExperimentFrom(config, { model: careful() });
  const { entries, episodes } = readRun(path);
  expect(episodes.map(({ episode }) => episode)).toEqual(entries.map(() => 0));
});

it.each(['finish', 'abort'] as const)(
  'a run makes the same evaluations if it is resumed after the %s signal during a revision, or replayed',
  async (how) => {
    const more = { ...config, candidates: 2, critic: { every: 2 }, iterations: 6 } as const;
    const whole = careful();
    const { path } = await runExperimentFrom(more, { model: whole });
    const stop = new AbortController();
    const before = careful();
    const first = await runExperimentFrom(more, {
      model: before,
      [how]: stop.signal,
      onEvent: (event) => {
        if (event.kind === 'call-finished' && event.call.purpose === 'critic') stop.abort();
      },
    });
    expect(readManifest(first.path).iterations.done).toBeLessThan(6);
    const tally = tallyOf(readRun(first.path).events);
    if (how === 'finish') expect(tally.revisions).toBeGreaterThan(0);
    const after = careful();
    const { events } = await resumeExperiment(first.path, { model: after });
    expect(events[0]).toMatchObject({ kind: 'run-started', tally });
    expect(readRunFile(first.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    const seeds = [...before.calls, ...after.calls].map(({ options }) => options.seeds[0]);
    expect(new Set(seeds).size).toBe(seeds.length);
    expect(seeds).toHaveLength(whole.calls.length);
    if (how === 'finish') expect(readManifest(first.path).usage).toEqual(readManifest(path).usage);
    const replayed = await runExperimentFrom({ ...more, model: { provider: 'replayed', run: path } });
    for (const file of ['evaluations', 'episodes'] as const)
      expect(readRunFile(replayed.path, file)).toBe(readRunFile(path, file));
    const timeless = (of: string) => readRun(of).calls.map(({ time: _, ...call }) => call);
    expect(timeless(replayed.path)).toEqual(timeless(path));
    expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
  },
);

it('a revision beyond critic.distance is rejected with the reason, and the critic tries again', async () => {
  const model = reviser(({ messages }) => (messages.length > 2 ? 1 : 6));
  const { path } = await runExperimentFrom({ ...config, critic: { distance: 0.15 } }, { model });
  const { calls, entries } = readRun(path);
  const refused = calls.filter(
    ({ outcome }) => outcome.kind === 'rejected' && outcome.failure.kind === 'too-far',
  );
  expect(refused.length).toBeGreaterThan(3);
  for (const { revises, iteration, parameters } of entries) {
    if (revises === undefined) continue;
    const own = entries.find((entry) => entry.iteration === iteration && entry.candidate === revises)!;
    expect(distanceOf(parameters, own.parameters, spec)).toBeLessThanOrEqual(0.15);
  }
  const correction = calls.find(({ attempt, purpose }) => attempt === 1 && purpose === 'critic')!;
  expect(correction.messages.at(-1)!.content).toMatch(/change [\d.]+ % of the range. Change 15 % or less/);
  const free = await runExperimentFrom({ ...config, critic: { distance: 1 } }, { model: reviser(() => 6) });
  expect(readRun(free.path).calls.every(({ outcome }) => outcome.kind === 'accepted')).toBe(true);
});

it('a revision that repeats another proposal of its iteration is rejected', async () => {
  let proposed: string[] = [];
  const model = createScriptedModel((call) => {
    if (isCritic(call)) {
      const own = formatParameters(shown(call), spec);
      return call.messages.length > 2 ? own : proposed.find((text) => text !== own)!;
    }
    const text = formatParameters(drawn(call, 6), spec);
    proposed = [...proposed.slice(-1), text];
    return text;
  });
  const more = { ...config, candidates: 2, iterations: 2, critic: { distance: 1 } };
  const { path } = await runExperimentFrom(more, { model });
  const critics = readRun(path).calls.filter(({ purpose }) => purpose === 'critic');
  const kinds = critics.map(({ outcome }) => ('failure' in outcome ? outcome.failure.kind : outcome.kind));
  expect(kinds).toEqual(['repeated', 'accepted', 'repeated', 'accepted']);
});

it("the critic may keep a proposal, and unusable replies of the critic don't end the run", async () => {
  const kept = await runExperimentFrom(config, { model: reviser(() => 0) });
  expect(readRun(kept.path).entries.filter(({ revises }) => revises !== undefined)).toEqual([]);
  expect(resultsIn(kept.events)).toEqual(Array(6).fill('kept'));
  const mute = createScriptedModel((call) =>
    isCritic(call) ? 'I have no idea.' : formatParameters(drawn(call, 6), spec),
  );
  const { path, events } = await runExperimentFrom({ ...config, iterations: 2 }, { model: mute });
  expect(resultsIn(events)).toEqual(['rejected', 'rejected']);
  expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: 2 } });
});

it('a critic with its own model is billed at its own price and counts towards limits', async () => {
  const own = { provider: 'openai', name: 'judge', price: { input: 10, output: 100 } } as const;
  const more = { ...config, critic: { model: own } } satisfies ConfigInput;
  const env = { OPENAI_API_KEY: 'k' };
  const [critic, proposer] = [careful(), careful()];
  const { path } = await runExperimentFrom(more, { model: proposer, env, critic });
  expect(critic.calls.every(isCritic)).toBe(true);
  expect(critic.calls).toHaveLength(6);
  expect(proposer.calls.some(isCritic)).toBe(false);
  const { calls } = readRun(path);
  for (const { completion, cost, purpose } of calls) {
    const { promptTokens = 0, completionTokens = 0 } = completion!.usage;
    const [input, output] = purpose === 'critic' ? [10, 100] : [1, 4];
    expect(cost).toBeCloseTo((promptTokens * input + completionTokens * output) / 1e6, 12);
  }
  const total = calls.reduce((sum, { cost }) => sum + cost!, 0);
  expect(readManifest(path).usage.cost).toBeCloseTo(total, 12);

  const capped = { ...more, limits: { calls: 5 } };
  const limited = await runExperimentFrom(capped, { model: careful(), env, critic: careful() });
  expect(readManifest(limited.path)).toMatchObject({
    reason: { kind: 'limit', limit: 'calls' },
    usage: { calls: 5 },
    iterations: { done: 3 },
  });
  expect(readRun(limited.path).entries.filter(({ revises }) => revises !== undefined)).toHaveLength(2);
  const replayed = await runExperimentFrom({ ...more, model: { provider: 'replayed', run: path } });
  expect(readRunFile(replayed.path, 'calls')).toBe(readRunFile(path, 'calls'));
  expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
});

it('a critic can be a baseline at no cost, and works with groups', async () => {
  const control = { ...config, critic: { model: { provider: 'hill-climb', sigma: 0.5 } } } as const;
  const { path } = await runExperimentFrom(control, { model: careful() });
  const critics = readRun(path).calls.filter(({ purpose }) => purpose === 'critic');
  expect(critics.length).toBeGreaterThanOrEqual(6);
  expect(critics.every(({ cost }) => cost === undefined)).toBe(true);
  const group = { ...config, candidates: 3 };
  const whole = await runExperimentFrom(group, { model: careful() });
  expect(readRun(whole.path).entries.some(({ revises }) => revises !== undefined)).toBe(true);
  const half = await runExperimentFrom(group, { model: careful(), ...stopAfter(3) });
  await resumeExperiment(half.path, { model: careful() });
  expect(readRunFile(half.path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
});

it('a proposer receives task.shared = true only if there is a critic', async () => {
  const told = async (critic: ConfigInput['critic']) => {
    const shared: (boolean | undefined)[] = [];
    const random = baselineProposer({ provider: 'random' });
    const propose: Proposer['propose'] = (request) => {
      shared.push(request.task.shared);
      return random.propose(request);
    };
    const given = { ...quick, model: { provider: 'random' }, ...(critic && { critic }) } as const;
    await runExperimentFrom(given, { model: { ...random, propose } });
    return new Set(shared);
  };
  expect(await told({ model: { provider: 'hill-climb' } })).toEqual(new Set([true]));
  expect(await told(undefined)).toEqual(new Set([false]));
});

it('the critic revises proposals of a portfolio without crediting a member', async () => {
  const members = [config.model, { provider: 'hill-climb' } as const];
  const more = { ...config, candidates: 2, model: { provider: 'portfolio', members } } satisfies ConfigInput;
  const made = async () => (await assemble(parseConfig(more), {}, undefined, { model: careful() })).proposer;
  const whole = await runExperimentFrom(more, { model: await made() });
  const { calls, entries } = readRun(whole.path);
  const revisions = entries.filter(({ revises }) => revises !== undefined);
  expect(revisions.length).toBeGreaterThan(3);
  const critics = calls.filter(({ purpose }) => purpose === 'critic');
  expect(critics.every(({ member }) => member === undefined)).toBe(true);
  const half = await runExperimentFrom(more, { model: await made(), ...stopAfter(3) });
  await resumeExperiment(half.path, { model: await made() });
  expect(readRunFile(half.path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
});

it('revisions appear in show, the report and iteration details, and in the estimate of check', async () => {
  const { path } = await runExperimentFrom(config, { model: careful() });
  const run = await readPlayableRun(path);
  const text = runText(run, { top: 1, cwd: '/' });
  expect(text).toMatch(/revised {3}6 times: \d better, \d not better; mean change.*6 calls, .*tokens/);
  expect(runFigures(run, { top: 1, cwd: '/' }).revisions).toMatchObject({ asked: 6, calls: 6, rejected: 0 });
  const { entries } = run.recorded;
  for (const { by, candidate, iteration } of runFigures(run, { top: entries.length, cwd: '/' }).top) {
    const entry = entries.find((one) => one.iteration === iteration && one.candidate === candidate)!;
    expect(by).toBe(entry.revises === undefined ? undefined : 'critic');
  }
  const page = renderReport(runData(run));
  expect(page).toContain('"id":"revisions"');
  expect(page).toContain('["span",{"class":"chip"},"critic"]');
  expect(iterationText(iterationDetails(run, 2, undefined))).toMatch(
    /candidate 2 \(revised\).*critic, first attempt/s,
  );
  const assembly = await assemble(parseConfig(config), {});
  const estimate = preflight(assembly).find((finding) => 'estimate' in finding);
  expect(estimate).toMatchObject({ estimate: { calls: { expected: 12, most: 48 } } });
});

it('rememberedEntries keeps the better of a proposal and its revision, for random scores', () => {
  const random = createGenerator(3);
  for (let round = 0; round < 200; round++) {
    const entries = Array.from({ length: 4 }, (_, i) => i + 1).flatMap((iteration) => {
      const own = Array.from({ length: random.integers(1, 4) }, (__, candidate) => ({
        iteration,
        candidate,
        score: random.integers(0, 5),
      }));
      const revises = random.integers(0, own.length);
      return random.random() < 0.3
        ? own
        : [...own, { iteration, candidate: 9, score: random.integers(0, 5), revises }];
    });
    const held = rememberedEntries(entries);
    for (const entry of entries) {
      const pair =
        'revises' in entry
          ? entries.find((one) => one.iteration === entry.iteration && one.candidate === entry.revises)
          : undefined;
      if (pair === undefined) continue;
      expect([held.includes(entry), held.includes(pair)]).toEqual(
        entry.score > pair.score ? [true, false] : [false, true],
      );
    }
  }
});
