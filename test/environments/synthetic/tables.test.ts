import { describe, expect, it } from 'vitest';
import { makeSynthetic } from '../../../src/environments/catalogue/synthetic.js';
import type { Environment } from '../../../src/environments/environment.js';
import { createGenerator } from '../../../src/random/generator.js';

const states = ({ observationSpace }: Environment) => (observationSpace as { n: number }).n;

describe('choices', () => {
  it('asks no question twice in an episode', () => {
    const environment = makeSynthetic('synthetic:choices', { seed: 4, states: 12, actions: 3 });
    for (const seed of [1, 2]) {
      const asked = [environment.reset(seed)];
      let step = environment.step(0);
      while (!step.terminated) {
        asked.push(step.observation);
        step = environment.step(0);
      }
      expect(new Set(asked).size).toBe(asked.length);
      expect(asked.length).toBeLessThanOrEqual(12);
    }
  });

  it('has tasks that end after a wrong answer, and tasks that continue', () => {
    const chains = Array.from({ length: 30 }, (_, seed) =>
      makeSynthetic('synthetic:choices', { seed: seed + 1, states: 6, actions: 2 }),
    );
    const lengths = chains.map((environment) => {
      environment.reset(0);
      return environment.step(0).terminated || environment.step(0).terminated;
    });
    expect(lengths).toContain(true);
    expect(lengths).toContain(false);
  });
});

it('heaps has at most 64 positions, and random play sometimes beats its opponent', () => {
  const random = createGenerator(0);
  let [won, lost] = [0, 0];
  for (let seed = 0; seed < 60; seed++) {
    const environment = makeSynthetic('synthetic:heaps', { seed });
    expect(states(environment)).toBeLessThanOrEqual(64);
    for (let episode = 0; episode < 20; episode++) {
      environment.reset(episode);
      let step = environment.step(random.integers(0, (environment.actionSpace as { n: number }).n));
      while (!step.terminated && !step.truncated)
        step = environment.step(random.integers(0, (environment.actionSpace as { n: number }).n));
      expect(step.terminated).toBe(true);
      if (step.reward > 0) won++;
      else lost++;
    }
  }
  expect(won).toBeGreaterThan(60);
  expect(lost).toBeGreaterThan(won);
});
