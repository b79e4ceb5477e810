import { describe, expect, it } from 'vitest';
import { openLearning, planLearning } from '../../../finetune/rl/assemble.js';
import { scoreBeforeUpdate } from '../../../finetune/rl/improvement.js';
import type { Group } from '../../../finetune/rl/learning/episode.js';
import { learnOnline } from '../../../finetune/rl/online.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { learned, tinyConfig } from './tiny-learning.js';

const ppo = { kind: 'ppo', valueCoefficient: 1, valueClip: 100, lambda: 1, clip: { low: 0.2, high: 0.2 } };

/** Outputs of the value head after learning, by observation: means over many episodes. */
async function valuesIn(environment: string, objective: object): Promise<ReadonlyMap<string, number>> {
  const config = tinyConfig({
    environment,
    objective,
    updates: 50,
    groups: 16,
    groupSize: 1,
    learningRate: 5e-3,
  });
  const learning = await openLearning(planLearning(config));
  try {
    await learnOnline(learning);
    const seen = new Map<string, number[]>();
    const { sampler, sessions, settings, task } = learning;
    sampler.refresh(learning.parameters);
    const groups = await task.play(sampler, [...Array(16).keys()], 1, 5);
    const sequences = groups.flat().flatMap((episode) => episode.sequences);
    const read = await scoreBeforeUpdate(sessions, learning.parameters, sequences, undefined, settings);
    for (const sequence of sequences) {
      const { oldValues, promptIds, trained } = read(sequence);
      let turn = 0;
      trained.forEach((isTrained, place) => {
        if (!isTrained) return;
        const key = turn++ === 0 ? promptIds.join() : 'second';
        seen.set(key, [...(seen.get(key) ?? []), oldValues![place]!]);
      });
    }
    return new Map([...seen].map(([key, values]) => [key, mean(values)]));
  } finally {
    await learning.close();
  }
}

describe('training on the probe environments', () => {
  it('learns a constant value (probe 1)', async () => {
    const values = await valuesIn('probe-value', ppo);
    expect([...values.values()]).toEqual([expect.closeTo(1, 1)]);
  });

  it('learns a value for each observation (probe 2)', async () => {
    const values = [...(await valuesIn('probe-observation', ppo)).values()].toSorted((a, b) => a - b);
    expect(values).toEqual([expect.closeTo(-1, 0), expect.closeTo(1, 0)]);
    expect(values[1]! - values[0]!).toBeGreaterThan(1.6);
  });

  it('learns a value of γ one step before a reward of 1 (probe 3)', async () => {
    const values = [...(await valuesIn('probe-discount', { ...ppo, discount: 0.5 })).values()];
    expect(Math.abs(values[0]! - 0.5)).toBeLessThan(0.15);
    expect(Math.abs(values[1]! - 1)).toBeLessThan(0.15);
  });

  const objectives = [
    ['grpo', { kind: 'grpo' }],
    ['ppo', { kind: 'ppo', valueCoefficient: 0.5 }],
  ] as const;

  const trained = {
    agent: { maxTokens: 1 },
    reward: { invalid: -1 },
    updates: 35,
    groups: 8,
    groupSize: 32,
    learningRate: 1e-2,
  };

  it.each(objectives)('learns to take the better action (probe 4, %s)', async (_, objective) => {
    const { last } = await learned(tinyConfig({ environment: 'probe-policy', objective, ...trained }));
    expect(last!.meanReward).toBeGreaterThan(0.9);
  });

  it.each(objectives)('learns the better action for each observation (probe 5, %s)', async (_, objective) => {
    const { last } = await learned(
      tinyConfig({ environment: 'probe-policy-observation', objective, ...trained }),
    );
    expect(last!.meanReward).toBeGreaterThan(0.9);
  });
});

const bandit = {
  environment: 'bandit',
  updates: 25,
  groups: 2,
  groupSize: 64,
  agent: { maxTokens: 1 },
  evaluation: { every: 1000, episodes: 1000 },
};

describe('the bandit', () => {
  it('is solved with a mean reward above 0.99', async () => {
    const { events, last } = await learned(tinyConfig(bandit));
    const [before] = events.filter((event) => event.kind === 'evaluation');
    expect(before!.meanReward).toBeLessThan(0.05);
    expect(last!.meanReward).toBeGreaterThan(0.99);
  });

  it('is not solved when returns are shuffled within groups', async () => {
    const { last } = await learned(tinyConfig({ ...bandit, reward: { shuffle: true } }));
    expect(last!.meanReward).toBeLessThan(0.3);
  });

  it('is not solved when returns are assigned to the wrong completions', async () => {
    const { last } = await learned(tinyConfig(bandit), {}, (learning) => ({
      ...learning,
      task: {
        ...learning.task,
        play: async (...given) => (await learning.task.play(...given)).map(misattributed),
      },
    }));
    expect(last!.meanReward).toBeLessThan(0.3);
  });
});

/** Gives each episode the tokens of the next, as a trainer does that samples again after the replies were scored. */
const misattributed = (group: Group): Group =>
  group.map((episode, i) => ({ ...episode, sequences: group[(i + 1) % group.length]!.sequences }));
