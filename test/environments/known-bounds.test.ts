import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { bundledConfigs } from '../../src/config/file.js';
import { loadConfig } from '../../src/config/load.js';
import { bestReturn, returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { environmentIds, makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Action, NumericSpace } from '../../src/environments/environment.js';
import { unbounded } from '../../src/statistics/bootstrap.js';

const lakes = {
  '4x4': 'SFFFFHFHFFFHHFFG',
  '8x8': 'SFFFFFFFFFFFFFFFFFFHFFFFFFFFFHFFFFFHFFFFFHHFFFHFFHFFHFHFFFFHFFFG',
} as const;

/** Probability of reaching the goal within so many steps, of the best policy that knows the time. */
function bestOnIce(map: keyof typeof lakes, steps: number): number {
  const tiles = lakes[map];
  const side = Math.sqrt(tiles.length);
  const clamp = (x: number) => Math.min(side - 1, Math.max(0, x));
  const moves = [
    [0, -1],
    [1, 0],
    [0, 1],
    [-1, 0],
  ] as const;
  const next = (state: number, direction: number) => {
    const [down, right] = moves[(direction + 4) % 4]!;
    return clamp(Math.floor(state / side) + down) * side + clamp((state % side) + right);
  };
  let values = Array.from(tiles, () => 0);
  for (let t = 0; t < steps; t++) {
    const worth = (state: number) => (tiles[state] === 'G' ? 1 : tiles[state] === 'H' ? 0 : values[state]!);
    values = values.map((_, state) =>
      Math.max(
        ...moves.map((_move, a) => [a - 1, a, a + 1].reduce((sum, d) => sum + worth(next(state, d)) / 3, 0)),
      ),
    );
  }
  return values[0]!;
}

describe('known bounds of returns', () => {
  it('are consistent with dynamic programming on the slippery lakes', () => {
    const lake = (map_name: string, steps: number) =>
      bestReturn({ id: 'FrozenLake-v1', options: { map_name } }, steps)!.value;
    expect(lake('4x4', 100)).toBeCloseTo(bestOnIce('4x4', 100), 3);
    expect(lake('8x8', 100)).toBeCloseTo(bestOnIce('8x8', 100), 3);
    expect(lake('4x4', 1000)).toBeCloseTo(bestOnIce('4x4', 5000), 4);
    expect(lake('8x8', 1000)).toBeGreaterThan(bestOnIce('8x8', 1000));
  });

  it('depend on options, in either spelling, and on the step limit', () => {
    const of = (id: string, options: Record<string, unknown>, steps: number) =>
      bestReturn({ id, options }, steps)?.value;
    expect(of('FrozenLake-v1', { is_slippery: false }, 100)).toBe(1);
    expect(of('FrozenLake-v1', { isSlippery: false }, 100)).toBe(1);
    expect(of('FrozenLake-v1', { reward_schedule: [10, -1, 0] }, 100)).toBeUndefined();
    expect(of('CartPole-v1', {}, 120)).toBe(120);
    expect(of('CartPole-v1', { sutton_barto_reward: true }, 500)).toBe(0);
    expect(of('gymnasium:CartPole-v1', {}, 500)).toBe(500);
    expect(of('CliffWalking-v1', {}, 1000)).toBe(-13);
    expect(of('CliffWalking-v1', { is_slippery: true }, 1000)).toBe(-63.01);
    // Luck on slippery ground may lead along the shortest path before the step limit.
    expect(of('CliffWalking-v1', { is_slippery: true }, 99)).toBe(-13);
    expect(of('CliffWalking-v1', { is_slippery: true }, 9)).toBe(-9);
    expect(of('Reacher-v5', {}, 50)).toBe(0);
    expect(of('Reacher-v5', { reward_dist_weight: -1 }, 50)).toBeUndefined();
    expect(of('InvertedDoublePendulum-v5', { healthy_reward: 0 }, 1000)).toBe(0);
    expect(of('InvertedDoublePendulum-v5', {}, 1000)).toBeCloseTo(9360, 6);
    expect(of('HalfCheetah-v5', {}, 1000)).toBeUndefined();
  });

  it.each(bundledConfigs().filter((name) => name.endsWith('-numeric')))(
    'are at least the optimum stated in the prompts of %s, up to rounding',
    (name) => {
      const { environment, evaluation, prompts } = loadConfig({ file: name }).config;
      const steps = { 'CartPole-v1': 500, 'FrozenLake-v1': 100 }[environment.id] ?? evaluation.maxSteps;
      const bound = bestReturn(environment, steps);
      if (bound === undefined || prompts.optimum === undefined) return;
      expect(prompts.optimum).toBeLessThanOrEqual(bound.value + 0.01 * Math.abs(bound.value));
    },
  );
});

describe('the range of returns', () => {
  const range = (id: string, options: Record<string, unknown> = {}, evaluation: object = {}) =>
    returnRange({ id, options }, { maxSteps: 1000, ...evaluation });

  it('depends on options, step limits and custom rewards', () => {
    expect(range('CartPole-v1')).toEqual([1, 500]);
    expect(range('CartPole-v1', {}, { maxSteps: 120 })).toEqual([1, 120]);
    expect(range('CartPole-v1', { max_episode_steps: 40 })).toEqual([1, 40]);
    expect(range('CartPole-v1', { suttonBartoReward: true })).toEqual([-1, 0]);
    expect(range('FrozenLake-v1')).toEqual([0, 1]);
    expect(range('FrozenLake-v1', { reward_schedule: [10, -5, -1] })).toEqual([-104, 10]);
    expect(range('Blackjack-v1', { natural: true })).toEqual([-1, 1]);
    expect(range('Blackjack-v1', { natural: true, sab: false })).toEqual([-1, 1.5]);
    expect(range('MountainCarContinuous-v0')).toEqual([Number.NEGATIVE_INFINITY, 100]);
    expect(range('maze-sample-3x3-v0')[0]).toBeCloseTo((-0.1 * 200) / 9);
    for (const unknown of ['gymnasium:CartPole-v1', './pole.js', 'custom:CartPole-v1', 'HalfCheetah-v5']) {
      expect(range(unknown)).toEqual(unbounded);
    }
    expect(range('CartPole-v1', {}, { reward: { module: './r.js' } })).toEqual(unbounded);
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
