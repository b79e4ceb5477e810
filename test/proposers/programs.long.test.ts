import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import {
  type EvaluatedProgram,
  makeGeneticProgramSearch,
  type ProgramSearch,
  randomProgramSearch,
} from '../../src/proposers/programs.js';

describe('genetic programming on Pendulum', () => {
  it('beats random programs', { timeout: 200_000 }, async () => {
    const environment = await makeEnvironment('Pendulum-v1');
    const score = (source: string) => {
      const found = source.split('\n')[0]!.matchAll(/(k\d+): ([-\d.e]+)/g);
      const constants = Object.fromEntries([...found].map(([, name, value]) => [name, Number(value)]));
      const act = new Function(`${source}; return act;`)();
      let sum = 0;
      for (let episode = 0; episode < 5; episode++) {
        let step = { observation: environment.reset(episode), reward: 0, truncated: false };
        while (!step.truncated) {
          step = environment.step(act(step.observation, {}, constants));
          sum += step.reward;
        }
      }
      return sum / 5;
    };
    const bestOf = (search: ProgramSearch, seed: number) => {
      const history: EvaluatedProgram[] = [];
      const known = new Set<string>();
      for (let i = 0; i < 150; i++) {
        const task = { environment, history, isKnown: (source: string) => known.has(source) };
        const source = search(task, createGenerator(seed, [i]));
        known.add(source);
        history.push({ source, score: score(source) });
      }
      return Math.max(...history.map((one) => one.score));
    };
    const seeds = [0, 1, 2, 3, 4, 5];
    const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[3]!;
    const searches = [makeGeneticProgramSearch({ population: 20, tournament: 3 }), randomProgramSearch];
    const [genetic, random] = searches.map((search) => seeds.map((seed) => bestOf(search, seed)));
    expect(median(genetic!)).toBeGreaterThan(median(random!) + 50);
  });
});
