import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type OpenedLearning, openLearning, planLearning } from '../../../../finetune/rl/assemble.js';
import { learnOnline, type OnlineHooks } from '../../../../finetune/rl/online.js';
import { loadLearningConfig } from '../../../../finetune/rl/rl-config.js';
import { isPolicyStep, type TrainingEvent } from '../../../../finetune/train/events.js';
import { UserError } from '../../../../src/base/errors.js';
import { packageRoot } from '../../../../src/base/package.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { checkpointIn, crashing } from '../tiny-learning.js';

const written = {
  model: 'package:models/tiny-improver',
  output: './out',
  method: { kind: 'full' },
  experiment: {
    environment: 'Pendulum-v1',
    policy: { kind: 'linear', bias: false },
    iterations: 3,
    warmup: 2,
    evaluation: { episodes: 1 },
    memory: { best: 4, recent: 2 },
    prompts: { set: 'compact' },
  },
  tasks: [{}],
  reward: { kind: 'rank' },
  objective: { kind: 'grpo' },
  updates: 4,
  groups: 2,
  groupSize: 4,
  checkpointEvery: 2,
  learningRate: 1e-3,
  threads: 1,
  answers: { maxTokens: 512, format: 'constrained' },
  evaluation: { every: 2, runs: 2 },
  baselines: ['random'],
};

/** One step, which returns −|action − 3|. */
const environment = `export default {
  name: 'aim',
  create: () => ({
    id: 'aim',
    observationSpace: { kind: 'box', low: [1], high: [1] },
    actionSpace: { kind: 'box', low: [-9], high: [9] },
    maxSteps: 1,
    reset: () => [1],
    step: ([action]) => ({ observation: [1], reward: -Math.abs(action - 3), terminated: true, truncated: false }),
  }),
};`;

function configIn(folder: string, changes: object = {}) {
  const file = join(folder, 'rl.yaml');
  mkdirSync(join(folder, 'out'), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...written, ...changes }));
  return loadLearningConfig(file);
}

async function learned(
  folder: string,
  {
    changes = {},
    hooks = {},
    change = (learning) => learning,
  }: {
    readonly changes?: object;
    readonly hooks?: OnlineHooks;
    readonly change?: (learning: OpenedLearning) => OpenedLearning;
  } = {},
) {
  const events: TrainingEvent[] = [];
  const all: OnlineHooks = { ...hooks, onEvent: (event) => events.push(event) };
  const learning = await openLearning(planLearning(configIn(folder, changes)), all);
  try {
    const outcome = await learnOnline(change(learning), all);
    const steps = events.filter(isPolicyStep);
    return { ...outcome, events, steps };
  } finally {
    await learning.close();
  }
}

describe('a proposer', () => {
  it('trains on groups and reports evaluations and a random-search baseline', async () => {
    const { events, steps } = await learned(temporaryDirectory());
    expect(steps).toHaveLength(4);
    for (const { flat, largestMismatch, reward, valid } of steps) {
      expect(valid).toBe(1);
      // Ranks of four: 1/4 to 1.
      expect(reward).toBeCloseTo(0.625, 6);
      expect(flat).toBeLessThanOrEqual(1);
      expect(largestMismatch).toBeLessThan(1e-4);
    }
    const [baseline] = events.filter((event) => event.kind === 'baseline');
    // Two policies of the warm-up and three proposals, of one episode each.
    expect(baseline).toMatchObject({ label: 'random search', episodes: 5 });
    const evaluations = events.filter((event) => event.kind === 'evaluation');
    expect(evaluations.map(({ step }) => step)).toEqual([0, 2, 4]);
    for (const { bestReturn, meanReward, policyReturn } of evaluations) {
      expect([0, 0.25, 0.5, 0.75, 1]).toContain(meanReward);
      expect(bestReturn!).toBeGreaterThanOrEqual(policyReturn!);
    }
  });

  it('is finally measured in runs other than those that choose the weights', async () => {
    const prompts: string[] = [];
    const change = (learning: OpenedLearning): OpenedLearning => ({
      ...learning,
      task: {
        ...learning.task,
        measure: async (sampler, starts, seed) => {
          const measured = await learning.task.measure(sampler, starts, seed);
          prompts.push(JSON.stringify(measured.samples.map(({ turns }) => turns[0]!.prompt)));
          return measured;
        },
      },
    });
    // With one iteration, prompts show only the warm-up, which depends on the run alone.
    const experiment = { ...written.experiment, iterations: 1 };
    await learned(temporaryDirectory(), { changes: { experiment, updates: 2 }, change });
    const [before, after, final] = prompts;
    expect(after).toBe(before);
    expect(final).not.toBe(after);
  });

  it("trains in a user's environment and includes unreadable replies in the mean reward", async () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'my-env.js'), environment);
    const changes = {
      experiment: { ...written.experiment, environment: './my-env.js', policy: { kind: 'linear' } },
      reward: { kind: 'return', low: -10, high: 0, invalid: -1 },
      answers: { maxTokens: 12, temperature: 2 },
      updates: 1,
      evaluation: { every: 1, runs: 1 },
    };
    const { events, steps } = await learned(folder, { changes });
    const [{ reward, valid } = { reward: 1, valid: 1 }] = steps;
    expect(valid).toBeGreaterThan(0);
    expect(valid).toBeLessThan(1);
    expect(reward).toBeLessThan(valid);
    expect(events.filter(({ kind }) => kind === 'evaluation')).toHaveLength(2);
  });

  it.each([
    ['in a rollout', (l: OpenedLearning) => ({ ...l, task: { ...l.task, play: crashing(l.task.play, 3) } })],
    [
      'in an update',
      (l: OpenedLearning) => {
        const training = { ...l.sessions.training, run: crashing(l.sessions.training.run, 3) };
        return { ...l, sessions: { ...l.sessions, training } };
      },
    ],
  ])('resumes bit for bit after a crash %s', async (_, change) => {
    const [whole, cut] = [temporaryDirectory(), temporaryDirectory()];
    const expected = await learned(whole);
    await expect(learned(cut, { change })).rejects.toThrow('the process ends here');
    const resumed = await learned(cut);
    expect(resumed.events[0]).toMatchObject({ kind: 'start', step: 2 });
    expect(checkpointIn(cut).equals(checkpointIn(whole))).toBe(true);
    expect(resumed.steps.at(-1)).toEqual(expected.steps.at(-1));
    expect(resumed.best).toEqual(expected.best);
  });

  it('does not resume after its prompts have changed', async () => {
    const folder = temporaryDirectory();
    const prompts = join(folder, 'prompts');
    cpSync(join(packageRoot(), 'prompts', 'compact'), prompts, { recursive: true });
    const changes = { experiment: { ...written.experiment, prompts: { set: './prompts' } }, updates: 2 };
    await learned(folder, { changes, hooks: { stop: () => true } });
    appendFileSync(join(prompts, 'system.hbs'), '\nBe bold.');
    await expect(learned(folder, { changes })).rejects.toThrow(/different settings/);
  });
});

describe('the config of a proposer', () => {
  const problemsOf = (changes: object): readonly string[] => {
    try {
      configIn(temporaryDirectory(), changes);
      return [];
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return error.problems.map(({ field, line, message }) => `${line}: ${field} ${message}`);
    }
  };
  const withRun = (keys: object) => ({ experiment: { ...written.experiment, ...keys } });

  it.each([
    ['a model within the run settings', withRun({ model: { provider: 'random' } }), /^1: experiment\.model/],
    ['candidates within the run settings', withRun({ candidates: 4 }), /^1: experiment\.candidates/],
    ['fresh episodes', withRun({ evaluation: { seeds: 'fresh' } }), /evaluation\.seeds can't be set/],
    ['an unknown key in a task', { tasks: [{ environmnt: 'x' }] }, /tasks/],
    ['groups of a single candidate', { groupSize: 1 }, /groupSize/],
    ['swapped bounds', { reward: { kind: 'return', low: 2, high: 1 } }, /reward\.low/],
    ['an empty list of baselines', { baselines: [] }, /baselines/],
  ])('is rejected with %s', (_, changes, expected) => {
    expect(problemsOf(changes).join('\n')).toMatch(expected);
  });

  it('is accepted if it is valid', () => expect(problemsOf({})).toEqual([]));
});
