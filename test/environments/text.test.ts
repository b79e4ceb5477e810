import { describe, expect, it } from 'vitest';
import {
  environmentIds,
  makeEnvironment,
  textEnvironmentIds,
} from '../../src/environments/catalogue/open.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { describeEnvironment } from '../contracts/environment-contract.js';

for (const id of textEnvironmentIds())
  describeEnvironment({ name: id, make: (options) => makeEnvironment(id, options) });

describe('text environments', () => {
  it('are listed separately, and a linear policy rejects the bandit', async () => {
    expect(environmentIds().filter((id) => textEnvironmentIds().includes(id))).toEqual([]);
    const bandit = await makeEnvironment('bandit');
    expect(() =>
      createPolicyFamily({ kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 }, bandit),
    ).toThrow(/text observations or actions[\s\S]*finetune rl/);
  });

  it('with listed actions accept only these', async () => {
    const bandit = await makeEnvironment('bandit');
    bandit.reset(1);
    expect(() => bandit.step('I')).toThrow(/one of "A", "B", "C"/);
    expect(() => bandit.step(2)).toThrow(/is not an action of/);
  });
});

describe('the bandit', () => {
  it.each([
    [{}, 'C'],
    [{ best: 7 }, 'H'],
  ])('with the options %j rewards only %s', async (options, best) => {
    const bandit = await makeEnvironment('bandit', options);
    const paid = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].filter((arm) => {
      expect(bandit.reset(0)).toContain(arm);
      const { reward, terminated } = bandit.step(arm);
      expect(terminated).toBe(true);
      return reward === 1;
    });
    expect(paid).toEqual([best]);
  });
});

describe('the probe environments', () => {
  /** Observations and rewards of an episode, by the actions that a rule chooses. */
  async function episode(id: string, seed: number, act: (observation: unknown) => string) {
    const probe = await makeEnvironment(id);
    const observations = [probe.reset(seed)];
    const rewards: number[] = [];
    for (;;) {
      const step = probe.step(act(observations.at(-1)));
      rewards.push(step.reward);
      if (step.terminated) return { observations, rewards };
      observations.push(step.observation);
    }
  }

  it('give the expected observations and rewards', async () => {
    expect(await episode('probe-value', 0, () => 'A')).toEqual({ observations: ['go'], rewards: [1] });
    expect(await episode('probe-discount', 0, () => 'A')).toEqual({
      observations: ['first', 'last'],
      rewards: [0, 1],
    });
    expect((await episode('probe-policy', 0, () => 'A')).rewards).toEqual([1]);
    expect((await episode('probe-policy', 0, () => 'B')).rewards).toEqual([-1]);
    const seen = new Set<unknown>();
    for (let seed = 0; seed < 10; seed++) {
      const { observations, rewards } = await episode('probe-observation', seed, () => 'A');
      seen.add(observations[0]);
      expect(rewards).toEqual([observations[0] === 'up' ? 1 : -1]);
      const best = (observation: unknown) => (observation === 'up' ? 'A' : 'B');
      expect((await episode('probe-policy-observation', seed, best)).rewards).toEqual([1]);
      const worst = (observation: unknown) => (observation === 'up' ? 'B' : 'A');
      expect((await episode('probe-policy-observation', seed, worst)).rewards).toEqual([-1]);
    }
    expect([...seen].sort()).toEqual(['down', 'up']);
  });
});
