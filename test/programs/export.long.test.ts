import { describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { randomProgram } from '../../src/programs/grammar.js';
import { createGenerator } from '../../src/random/generator.js';
import {
  blackjack,
  cartPole,
  frozenLake,
  hasPython,
  inModule,
  inPython,
  inSandbox,
  mountainCar,
  observed,
} from './exported.js';

describe.each([
  ['CartPole-v1', cartPole],
  ['MountainCar-v0', mountainCar],
  ['FrozenLake-v1', frozenLake],
  ['Blackjack-v1', blackjack],
] as const)('exported programs for %s', (id, written) => {
  it('choose the same actions as in the sandbox for 10,000 observations', async () => {
    const environment = await makeEnvironment(id);
    const episodes = observed(environment, 50, 200);
    const sources = [
      ...written,
      ...Array.from({ length: 8 }, (_, i) => randomProgram(environment, createGenerator(i))),
    ];
    const translated = hasPython ? inPython(sources, environment, episodes) : [];
    for (const [i, source] of sources.entries()) {
      const actions = await inSandbox(source, environment, episodes);
      expect(await inModule(source, environment, episodes), source).toEqual(actions);
      if (hasPython) expect(translated[i], source).toEqual(actions);
    }
  });
});
