import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.js';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import type { Environment } from '../../../src/environments/environment.js';

/** Return of one episode. */
function play(environment: Environment, seed: number, act: (observation: number[]) => number): number {
  let observation = [environment.reset(seed) as number | readonly number[]].flat();
  for (let total = 0; ; ) {
    const step = environment.step(act(observation));
    observation = [step.observation as number | readonly number[]].flat();
    total += step.reward;
    if (step.terminated || step.truncated) return total;
  }
}

function statedOptimum(config: string): number {
  return loadConfig({ file: config }).config.prompts.optimum!;
}

const seeds = Array.from({ length: 30 }, (_, seed) => 1000 + seed);

describe('Nim', () => {
  test('gives a return of 1 for always leaving one stick more than a multiple of 4, as the configs state', async () => {
    const nim = await makeEnvironment('Nim-v0');
    const returns = seeds.map((seed) => play(nim, seed, ([sticks]) => (sticks! - 1) % 4 || 1));
    expect(new Set(returns)).toEqual(new Set([1]));
    for (const set of ['numeric', 'semantic']) expect(statedOptimum(`nim-${set}`)).toBe(1);
  });

  test('is lost by taking more sticks than are left, which removes none', async () => {
    const nim = await makeEnvironment('Nim-v0');
    nim.reset(0);
    nim.step(3); // leaves 7, of which the opponent takes 2
    expect(nim.step(3)).toMatchObject({ observation: 1, terminated: false });
    expect(nim.step(2)).toEqual({ observation: 1, reward: -1, terminated: true, truncated: false });
  });
});

describe('Pong', () => {
  test('gives a return of 3 to a policy that follows the ball, as the config states', async () => {
    const pong = await makeEnvironment('Pong-v0');
    // The logits of up, down and stay are 1 · (paddle − ball), 1 · (ball − paddle) and 0.
    const returns = seeds.map((seed) => play(pong, seed, ([paddle, , y]) => (paddle! > y! ? 0 : 1)));
    expect(new Set(returns)).toEqual(new Set([3]));
    expect(statedOptimum('pong-numeric')).toBe(3);
  });

  test('ends without a penalty when the ball is missed', async () => {
    const pong = await makeEnvironment('Pong-v0');
    const returns = seeds.map((seed) => play(pong, seed, ([, , y]) => (y! > 300 ? 0 : 1)));
    expect(Math.min(...returns)).toBe(0);
  });
});

describe('NavigationTrack', () => {
  test('gives a linear policy more than 90 % of the return that the config states', {
    timeout: 30_000,
  }, async () => {
    const track = await makeEnvironment('NavigationTrack-v0');
    const returns = seeds.map((seed) =>
      play(track, seed, ([left, halfLeft, ahead, halfRight, right]) => {
        const forward = 2 * ahead! + 2 * (halfLeft! + halfRight!) - 0.8 * (left! + right!) - 2.2;
        const turn = 4.1 * (halfRight! - halfLeft!) + 1.4 * (right! - left!);
        if (forward >= Math.abs(turn)) return 0;
        return turn >= 0 ? 1 : 2;
      }),
    );
    const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
    expect(mean).toBeGreaterThan(0.9 * statedOptimum('navigation-numeric'));
  });
});
