import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { environmentIds, makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Action, NumericSpace } from '../../src/environments/environment.js';
import { realLine } from '../../src/statistics/bootstrap.js';

describe('the range of returns', () => {
  const range = (id: string, options: Record<string, unknown> = {}, evaluation: object = {}) =>
    returnRange({ id, options }, { maxSteps: 1000, ...evaluation });

  it('depends on options, step limits and custom rewards', () => {
    expect(range('CartPole-v1')).toEqual([1, 500]);
    expect(range('CartPole-v1', {}, { maxSteps: 120 })).toEqual([1, 120]);
    expect(range('CartPole-v1', { max_episode_steps: 40 })).toEqual([1, 40]);
    expect(range('CartPole-v1', { suttonBartoReward: true })).toEqual([-1, 0]);
    expect(range('FrozenLake-v1')).toEqual([0, 1]);
    expect(range('CliffWalking-v1', {}, { maxSteps: 9 })).toEqual([-900, -9]);
    expect(range('Reacher-v5', { reward_dist_weight: -1 })).toEqual(realLine);
    expect(range('InvertedDoublePendulum-v5')[1]).toBeCloseTo(9360, 6);
    expect(range('DoubleInvertedPendulum-v4')[1]).toBeCloseTo(9360, 6);
    expect(range('FrozenLake-v1', { reward_schedule: [10, -5, -1] })).toEqual([-104, 10]);
    expect(range('Blackjack-v1', { natural: true })).toEqual([-1, 1]);
    expect(range('Blackjack-v1', { natural: true, sab: false })).toEqual([-1, 1.5]);
    expect(range('MountainCarContinuous-v0')).toEqual([Number.NEGATIVE_INFINITY, 100]);
    expect(range('maze-sample-3x3-v0')[0]).toBeCloseTo((-0.1 * 200) / 9);
    for (const unknown of ['gymnasium:CartPole-v1', './pole.js', 'custom:CartPole-v1', 'HalfCheetah-v5']) {
      expect(range(unknown)).toEqual(realLine);
    }
    expect(range('CartPole-v1', {}, { reward: { module: './r.js' } })).toEqual(realLine);
  });

  it.each(environmentIds().filter((id) => !/^(HalfCheetah|Hopper|Walker2d|Swimmer)/.test(id)))(
    'contains the returns of random play in %s',
    async (id) => {
      const environment = await makeEnvironment(id);
      const [low, high] = range(id);
      expect(Number.isFinite(low) || Number.isFinite(high)).toBe(true);
      const random = createGenerator(1);
      const draw = (space: NumericSpace): Action =>
        space.kind === 'discrete'
          ? (space.start ?? 0) + Number(random.integers(0, space.n))
          : space.kind === 'box'
            ? space.low.map(() => 3 * random.normal())
            : space.spaces.map((part) => draw(part) as number);
      for (let episode = 0; episode < 5; episode++) {
        environment.reset(episode);
        let total = 0;
        for (let step = 0; step < 1000; step++) {
          const { reward, terminated, truncated } = environment.step(
            draw(environment.actionSpace as NumericSpace),
          );
          total += reward;
          if (terminated || truncated) break;
        }
        expect(total).toBeGreaterThanOrEqual(low - 1e-9);
        expect(total).toBeLessThanOrEqual(high + 1e-9);
      }
      environment.close?.();
    },
  );
});
