import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { execute as compareCommand } from '../../src/commands/compare.js';
import { execute as showCommand } from '../../src/commands/show.js';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { highestReturn } from '../../src/environments/catalogue/known-bounds.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { EpisodeBatch, RemoteEnvironment } from '../../src/environments/remote/remote-environment.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { createGenerator, type RandomGenerator } from '../../src/random/generator.js';
import { evaluationSeeds } from '../../src/random/seeds.js';
import { type EvaluationSetting, evaluate } from '../../src/rollout/evaluation.js';
import { createWorkers } from '../../src/rollout/evaluation-workers.js';
import { isLost, type Race } from '../../src/rollout/racing.js';
import { type BufferEntry, racingTotals } from '../../src/rollout/replay-buffer.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { mean } from '../../src/statistics/descriptive.js';
import {
  readRunFile,
  recordingContext,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../support/experiments.js';

const certain = { confidence: 1, block: 2 };
const raced = {
  environment: 'CartPole-v1',
  model: { provider: 'hill-climb' },
  iterations: 25,
  warmup: 5,
  evaluation: { episodes: 10, maxSteps: 60, racing: certain },
  confirmation: { candidates: 2, episodes: 5 },
} as const satisfies ConfigInput;
const unraced = { ...raced, evaluation: { episodes: 10, maxSteps: 60 } } as const;

/** After how many episodes an evaluation ends: all of them where it is not cut short. */
function ending(race: Race, returns: readonly number[]): number {
  for (let played = race.block; played < returns.length; played += race.block) {
    if (isLost(race, returns.slice(0, played))) return played;
  }
  return returns.length;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe('isLost', () => {
  const race = { confidence: 1, block: 1, highest: 10, episodes: 4, total: 20 };

  it('is true once the highest possible returns couldn’t match the incumbent, and not before', () => {
    expect(isLost(race, [0])).toBe(false);
    expect(isLost(race, [0, 0])).toBe(false); // 10 and 10 make it as good as the incumbent
    expect(isLost(race, [0, 0, 9])).toBe(true);
    expect(isLost(race, [0, 0, 10])).toBe(false);
    expect(isLost(race, [-1, 0])).toBe(true);
  });

  it('with confidence 1 is true only once no remaining returns could match the incumbent', () => {
    const returns = fc.integer({ min: -30, max: 10 });
    fc.assert(
      fc.property(
        fc.array(returns, { minLength: 2, maxLength: 12 }),
        fc.array(returns, { minLength: 12, maxLength: 12 }),
        (incumbent, candidate) => {
          const episodes = incumbent.length;
          const own = { ...race, episodes, total: sum(incumbent) };
          const played = ending(own, candidate.slice(0, episodes));
          const best = [
            ...candidate.slice(0, played),
            ...Array.from({ length: episodes - played }, () => 10),
          ];
          if (played < episodes) expect(sum(best)).toBeLessThan(own.total);
          // No earlier look would have been sure.
          const before = [
            ...candidate.slice(0, played - 1),
            ...Array.from({ length: episodes - played + 1 }, () => 10),
          ];
          if (played > 1) expect(sum(before)).toBeGreaterThanOrEqual(own.total);
        },
      ),
    );
  });

  it('is false if the mean is at least the incumbent’s, or if a return exceeds the bound', () => {
    const low = { ...race, confidence: 0.9, episodes: 20, total: 100 };
    expect(
      isLost(
        low,
        Array.from({ length: 10 }, () => 0),
      ),
    ).toBe(true);
    expect(isLost(low, [...Array.from({ length: 9 }, () => 0), 11])).toBe(false);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 1, maxLength: 19 }), (returns) => {
        if (isLost(low, returns)) expect(mean(returns)).toBeLessThan(5);
      }),
    );
  });

  /** Returns up to 1, of kinds that deceive: rare successes after many equal failures, long tails below. */
  const kinds: Readonly<Record<string, (random: RandomGenerator) => number>> = {
    uniform: (random) => random.random(),
    'one in ten succeeds': (random) => (random.random() < 0.1 ? 1 : 0),
    'half succeed': (random) => (random.random() < 0.5 ? 1 : 0),
    'a long tail below': (random) => 1 + Math.log(1 - random.random()),
    'far below the bound': (random) => Math.min(1, -20 + 3 * random.normal()),
  };

  it.each(Object.entries(kinds))('is wrong at a rate of at most 1 − confidence: %s', (_kind, draw) => {
    const random = createGenerator(7);
    const trials = 600;
    for (const [confidence, block] of [
      [0.95, 1],
      [0.8, 1],
      [0.8, 5],
    ] as const) {
      let wrong = 0;
      for (let trial = 0; trial < trials; trial++) {
        const returns = Array.from({ length: 20 }, () => draw(random));
        // A candidate that, played to its end, is exactly as good as the incumbent: the hardest case.
        const total = sum(returns);
        if (ending({ confidence, block, highest: 1, episodes: 20, total }, returns) < 20) wrong++;
      }
      const most = (1 - confidence) * trials;
      expect(wrong).toBeLessThanOrEqual(most + 3 * Math.sqrt(most * confidence));
    }
  });

  it('is true early if the policy is far behind', () => {
    const far = { confidence: 0.95, block: 1, highest: 1, episodes: 20, total: 18 };
    expect(
      ending(
        far,
        Array.from({ length: 20 }, () => 0),
      ),
    ).toBeLessThanOrEqual(2);
    const behind = { ...far, total: 10 };
    expect(
      ending(
        behind,
        Array.from({ length: 20 }, () => 0),
      ),
    ).toBe(5);
    expect(
      ending(
        { ...behind, confidence: 1 },
        Array.from({ length: 20 }, () => 0),
      ),
    ).toBe(11);
  });
});

describe('a raced run', { timeout: 120_000 }, () => {
  it('with confidence 1 finds the same best policies as an unraced run, with fewer episodes', async () => {
    const [with_, without] = [await runExperimentFrom(raced), await runExperimentFrom(unraced)];
    const [entries, all] = [readRun(with_.path).entries, readRun(without.path).entries];
    expect(entries.map(({ parameters }) => parameters)).toEqual(all.map(({ parameters }) => parameters));
    for (const [i, { planned, returns, lengths, score }] of entries.entries()) {
      const whole = all[i]!;
      expect([returns, lengths]).toEqual([
        whole.returns.slice(0, returns.length),
        whole.lengths.slice(0, returns.length),
      ]);
      expect(score).toBe(mean(returns));
      expect(planned).toBe(returns.length < 10 ? 10 : undefined);
    }
    const totals = racingTotals(entries);
    expect(totals).toMatchObject({ evaluations: 30, episodes: 300 });
    expect(totals.cut).toBeGreaterThan(5);
    expect(totals.saved).toBe(300 - sum(entries.map(({ returns }) => returns.length)));
    expect(totals.saved).toBeGreaterThan(20);
    expect(readManifest(with_.path).best).toEqual(readManifest(without.path).best);
    expect(readManifest(with_.path).confirmations).toEqual(readManifest(without.path).confirmations);
    expect(with_.events.at(-1)).toMatchObject({ kind: 'run-finished', racing: totals });
    expect(readManifest(with_.path).racing).toEqual(totals);
  });

  it('never selects or confirms a policy whose evaluation was cut short', async () => {
    const racing = { confidence: 0.6, block: 1 };
    const config = { ...raced, candidates: 3, iterations: 15, evaluation: { ...raced.evaluation, racing } };
    const { path, events } = await runExperimentFrom(config, { model: seededModel() });
    let best: BufferEntry | undefined;
    let before: BufferEntry | undefined;
    let iteration = 0;
    for (const entry of readRun(path).entries) {
      if (entry.iteration === 0 || entry.iteration > iteration) before = best;
      ({ iteration } = entry);
      if (entry.planned !== undefined) expect(entry.score).toBeLessThan(before!.score);
      else if (best === undefined || entry.score > best.score) best = entry;
    }
    expect(racingTotals(readRun(path).entries).cut).toBeGreaterThan(10);
    expect(readManifest(path).best).toMatchObject({ return: best!.score, iteration: best!.iteration });
    for (const event of events) {
      if (event.kind !== 'confirmed') continue;
      const { iteration: at, candidate, episodes } = event.confirmation;
      const chosen = readRun(path).entries.find((e) => e.iteration === at && e.candidate === candidate)!;
      expect([chosen.planned, episodes]).toEqual([undefined, 5]);
    }
  });

  it('gives the same result after an interruption', async () => {
    const whole = await runExperimentFrom(raced);
    const finish = new AbortController();
    const cut = await runExperimentFrom(raced, {
      finish: finish.signal,
      onEvent: (event) => event.kind === 'iteration-finished' && event.iteration === 12 && finish.abort(),
    });
    const { events } = await resumeExperiment(cut.path);
    const files = ['evaluations', 'episodes'] as const;
    for (const file of files) expect(readRunFile(cut.path, file)).toBe(readRunFile(whole.path, file));
    const early = racingTotals(readRun(whole.path).entries.filter(({ iteration }) => iteration <= 12));
    expect(events[0]).toMatchObject({ kind: 'run-started', racing: early });
    expect(readManifest(cut.path).racing).toEqual(readManifest(whole.path).racing);
  });

  it('tells the model how many episodes were played, only for evaluations that were cut short', async () => {
    const model = seededModel();
    const config = { ...raced, iterations: 8, model: { provider: 'ollama', name: 'scripted' } } as const;
    const { path } = await runExperimentFrom(config, { model });
    const prompt = model.calls
      .at(-1)!
      .messages.map(({ content }) => content)
      .join('\n');
    const shown = readRun(path).entries.filter(({ iteration }) => iteration < 8);
    const cut = shown.filter(({ planned }) => planned !== undefined);
    expect(cut.length).toBeGreaterThan(0);
    for (const { score, returns } of cut) {
      expect(prompt).toContain(
        `f(params): ${score.toFixed(2)} (stopped after ${returns.length} of 10 episodes)`,
      );
    }
    // The best stands in the prompt once more.
    expect(prompt.match(/\(stopped after/g)).toHaveLength(cut.length);
  });

  it('shows how many episodes it saved, in show, in the report and in a comparison', async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'runs'));
    const path = join(root, 'runs', 'raced');
    await runExperimentFrom(raced, { path });
    await runExperimentFrom({ ...unraced, iterations: 3 }, { path: join(root, 'runs', 'whole') });
    const { cut, saved } = readManifest(path).racing!;
    const { context, printed } = recordingContext(root);
    await showCommand({ run: 'raced', runsDir: join(root, 'runs'), top: 3, json: false }, context);
    expect(printed.join('\n')).toContain(
      `${cut} of 30 evaluations cut short, ${saved} of 300 episodes saved (about `,
    );
    await showCommand({ run: 'whole', runsDir: join(root, 'runs'), top: 3, json: false }, context);
    expect(printed.at(-1)).not.toContain('saved');
    expect(readRunFile(path, 'report')).toContain(`${cut} of 30 evaluations cut short`);
    expect(readRunFile(join(root, 'runs', 'whole'), 'report')).not.toContain('cut short');
    const table = await compared(root);
    expect(table).toContain('episodes saved');
    expect(table).toContain(`${cut} of 30`);
    expect(table).toContain(`${saved} of 300`);
  });

  it('warns if an episode returns more than `highest`', async () => {
    const racing = { highest: 12 };
    const config = { ...raced, iterations: 3, evaluation: { ...raced.evaluation, racing } };
    const { events } = await runExperimentFrom(config);
    const warnings = events.flatMap((event) => (event.kind === 'warning' ? [event.message] : []));
    expect(warnings).toEqual([expect.stringContaining('an episode returned more than 12')]);
  });
});

async function compared(root: string): Promise<string> {
  const { context, printed } = recordingContext(root);
  await compareCommand(
    {
      runs: ['raced', 'whole'],
      runsDir: join(root, 'runs'),
      by: undefined,
      target: undefined,
      unfinished: false,
      json: false,
      csv: undefined,
      html: undefined,
    } as Parameters<typeof compareCommand>[0],
    context,
  );
  return printed.join('\n');
}

describe('a race gives the same result', { timeout: 120_000 }, () => {
  const seeds = evaluationSeeds(3, 12);
  const race = { confidence: 0.9, block: 4, highest: 80, episodes: 12, total: 12 * 60 };

  it('in this thread, in workers and in a batched remote environment', async () => {
    const policy = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
    const environment = await makeEnvironment('CartPole-v1');
    const family = createPolicyFamily(policy, environment);
    const here: EvaluationSetting = { environment, family, maxSteps: 80, record: 'all' };
    const workers = createWorkers(
      { environment: { id: 'CartPole-v1', options: {} }, policy, maxSteps: 80 },
      2,
    )!;
    const elsewhere = { ...here, environment: await batched(3) };
    try {
      const random = createGenerator(5);
      const played = new Set<number>();
      for (let trial = 0; trial < 12; trial++) {
        const parameters = family.initial(random);
        const expected = await evaluate(here, parameters, seeds, undefined, race);
        expect(await evaluate({ ...here, workers }, parameters, seeds, undefined, race)).toEqual(expected);
        expect(await evaluate(elsewhere, parameters, seeds, undefined, race)).toEqual(expected);
        const whole = await evaluate(here, parameters, seeds);
        expect(whole.returns.slice(0, expected.returns.length)).toEqual(expected.returns);
        played.add(expected.returns.length);
      }
      expect([...played].every((count) => count % 4 === 0)).toBe(true);
      expect(played.size).toBeGreaterThan(1);
    } finally {
      await workers.close();
    }
  });

  /** CartPole as if another program played it, in batches of so many episodes. */
  async function batched(slots: number): Promise<RemoteEnvironment> {
    const games = await Promise.all(Array.from({ length: slots }, () => makeEnvironment('CartPole-v1')));
    const batch: EpisodeBatch = {
      slots,
      reset: async (own) => own.map((seed, slot) => games[slot]!.reset(seed)),
      step: async (moves) => moves.map(({ slot, action }) => games[slot]!.step(action)),
    };
    const { id, observationSpace, actionSpace } = games[0]!;
    return { id, observationSpace, actionSpace, batches: [batch], close: async () => undefined };
  }
});

describe('evaluation.racing', () => {
  const problems = (config: ConfigInput) => {
    try {
      parseConfig(config);
    } catch (error) {
      if (error instanceof UserError)
        return error.problems.map(({ field, message }) => `${field} ${message}`);
      throw error;
    }
    return [];
  };
  const withRacing = (evaluation: ConfigInput['evaluation'], more: Partial<ConfigInput> = {}) => ({
    ...unraced,
    ...more,
    evaluation,
  });

  it('is off by default, and leaves no trace in the run', async () => {
    expect(parseConfig(unraced).evaluation).toEqual({
      episodes: 10,
      maxSteps: 60,
      seeds: 'common',
      workers: 'auto',
    });
    const { path, events } = await runExperimentFrom({ ...unraced, iterations: 3 });
    const text = JSON.stringify(events) + readRunFile(path, 'manifest') + readRunFile(path, 'evaluations');
    expect(text).not.toMatch(/racing|planned/);
  });

  it('has defaults', () => {
    expect(parseConfig(withRacing({ racing: {} })).evaluation.racing).toEqual({ confidence: 0.95, block: 5 });
  });

  it('is refused if it could never stop an evaluation, conflicts with `target.hold`, or is out of range', () => {
    expect(problems(withRacing({ episodes: 1, racing: { block: 1 } }))).toEqual([
      'evaluation.racing.block never stops an evaluation early: the first check comes after 1 of 1 episode',
    ]);
    expect(problems(withRacing({ episodes: 5, racing: {} }))).toHaveLength(1);
    expect(problems(withRacing({ racing: {} }, { target: { return: 50, hold: 2 } }))).toEqual([
      expect.stringContaining('target.hold'),
    ]);
    expect(problems(withRacing({ racing: { confidence: 1.5 } }))).toHaveLength(1);
    expect(problems(withRacing({ racing: { confidence: 0.3 } }))).toHaveLength(1);
  });

  it('requires `highest` for environments without a known bound', async () => {
    const config = { environment: 'Swimmer-v5', iterations: 1, warmup: 2 } as const;
    const play = (racing: NonNullable<ConfigInput['evaluation']>['racing']) =>
      runExperimentFrom({ ...unraced, ...config, evaluation: { episodes: 6, maxSteps: 30, racing } });
    await expect(play({})).rejects.toThrow(/evaluation.racing.highest: is required, because Swimmer-v5/);
    const { path } = await play({ highest: 1000 });
    expect(readManifest(path).racing).toMatchObject({ evaluations: 3, episodes: 18 });
  });

  it('knows the highest possible return of an episode, not just the best average', () => {
    const of = (id: string, options: Record<string, unknown> = {}, steps = 100) =>
      highestReturn({ id, options }, steps);
    expect(of('FrozenLake-v1')).toBe(1);
    expect(of('FrozenLake-v1', { reward_schedule: [10, 0, 0] })).toBeUndefined();
    expect(of('CliffWalking-v1', { is_slippery: true }, 1000)).toBe(-13);
    expect(of('CliffWalking-v1', {}, 5)).toBe(-5);
    expect(of('Taxi-v4', { is_rainy: true })).toBe(20);
    expect(of('Blackjack-v1')).toBe(1);
    expect(of('Blackjack-v1', { natural: true })).toBe(1);
    expect(of('Blackjack-v1', { natural: true, sab: false })).toBe(1.5);
    expect(of('CartPole-v1', {}, 60)).toBe(60);
    expect(of('Reacher-v5', { reward_dist_weight: -1 })).toBeUndefined();
    expect(of('InvertedDoublePendulum-v5', { healthy_reward: 0 })).toBe(0);
    expect(of('HalfCheetah-v5')).toBeUndefined();
    expect(of('gymnasium:CartPole-v1')).toBeUndefined();
  });
});
