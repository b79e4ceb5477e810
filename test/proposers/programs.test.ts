import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { createGenerator } from '../../src/base/random/generator.js';
import type { EnvironmentSpec } from '../../src/environments/environment.js';
import { randomProgram } from '../../src/policies/program/grammar.js';
import { parseTrees, spacesOf } from '../../src/policies/program/tree.js';
import {
  type EvaluatedProgram,
  makeGeneticProgramSearch,
  type ProgramSearch,
  randomProgramSearch,
} from '../../src/proposers/programs.js';

const environment: EnvironmentSpec = {
  id: 'sum',
  observationSpace: { kind: 'box', low: [-1, -1], high: [1, 1] },
  actionSpace: { kind: 'box', low: [-10], high: [10] },
};
const isKnownIn =
  (history: readonly EvaluatedProgram[]) =>
  (source: string): boolean =>
    history.some((one) => one.source === source);

/** Minus the mean squared difference from 2x + y³ on a grid. */
function score(source: string): number {
  const found = source.split('\n')[0]!.matchAll(/(k\d+): ([-\d.e]+)/g);
  const constants = Object.fromEntries([...found].map(([, name, value]) => [name, Number(value)]));
  const act = new Function(`${source}; return act;`)();
  let sum = 0;
  for (let x = -1; x <= 1; x += 0.25) {
    for (let y = -1; y <= 1; y += 0.25) sum += (act([x, y], {}, constants)[0] - 2 * x - y ** 3) ** 2;
  }
  return -sum / 81;
}

function searched(search: ProgramSearch, evaluations: number, seed: number): readonly EvaluatedProgram[] {
  const history: EvaluatedProgram[] = [];
  for (let i = 0; i < evaluations; i++) {
    const task = { environment, history, isKnown: isKnownIn(history) };
    const source = search(task, createGenerator(seed, [i]));
    history.push({ source, score: score(source) });
  }
  return history;
}

const genetic = () => makeGeneticProgramSearch({ population: 20, tournament: 3 });

describe('random programs', () => {
  it('avoid known programs, and stop after 100 tries', () => {
    const history = searched(randomProgramSearch, 60, 1);
    expect(new Set(history.map(({ source }) => source)).size).toBe(60);
    let tries = 0;
    const isKnown = () => ++tries > 0;
    randomProgramSearch({ environment, history: [], isKnown }, createGenerator(1));
    expect(tries).toBe(99);
  });
});

describe('genetic programming', () => {
  it('starts like random programs, then continues differently', () => {
    const [some, others] = [searched(genetic(), 21, 3), searched(randomProgramSearch, 21, 3)];
    expect(some.slice(0, 20)).toEqual(others.slice(0, 20));
    expect(some[20]).not.toEqual(others[20]);
  });

  it('is a pure function of the history', () => {
    const history = searched(genetic(), 40, 2);
    const again = { environment, history: history.slice(0, 39), isKnown: isKnownIn(history.slice(0, 39)) };
    expect(genetic()(again, createGenerator(2, [39]))).toBe(history[39]!.source);
  });

  it('prefers the shorter of equally good programs as a parent', () => {
    const sources = Array.from({ length: 400 }, (_, seed) =>
      randomProgram(environment, createGenerator(seed)),
    );
    const byLength = sources.toSorted((a, b) => a.length - b.length);
    const short = byLength.filter((source) => !source.includes('sin')).slice(0, 5);
    const long = byLength.filter((source) => source.includes('sin')).slice(-5);
    const children = (score: number) => {
      const history = [
        ...long.map((source) => ({ source, score })),
        ...short.map((source) => ({ source, score: 1 })),
      ];
      const task = { environment, history, isKnown: isKnownIn(history) };
      const search = makeGeneticProgramSearch({ population: 5, tournament: 3 });
      return Array.from({ length: 40 }, (_, seed) => search(task, createGenerator(seed)));
    };
    const withSine = (score: number) => children(score).filter((source) => source.includes('sin')).length;
    // Negative control: with a higher score, the long ones are the parents.
    expect(withSine(2)).toBeGreaterThan(2 * withSine(1));
  });

  it("proposes random programs if the grammar can't generate the parents", () => {
    const history = Array.from({ length: 20 }, (_, i) => ({ source: `const act = () => [${i}];`, score: i }));
    const source = genetic()({ environment, history, isKnown: isKnownIn(history) }, createGenerator(1));
    expect(parseTrees(source, spacesOf(environment))).toBeDefined();
  });

  it('rejects text environments', () => {
    const text: EnvironmentSpec = {
      id: 'game',
      observationSpace: { kind: 'text' },
      actionSpace: { kind: 'text' },
    };
    const task = { environment: text, history: [], isKnown: () => false };
    expect(() => genetic()(task, createGenerator(1))).toThrow(UserError);
  });
});
