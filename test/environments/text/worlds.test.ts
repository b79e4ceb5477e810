import { describe, expect, it } from 'vitest';
import { foldOf, folds } from '../../../src/environments/text/folds.js';
import { textWorlds } from '../../../src/environments/text/worlds/worlds.js';
import { createGenerator } from '../../../src/random/generator.js';

/** Games of each world that are played here; `npm run test:worlds` plays a thousand. */
const games = 60;

describe.each(textWorlds)('$name', (world) => {
  const game = (seed: number, options = {}) => world.game(options, createGenerator(seed));

  it('each game is won by its gold path, of admissible commands, with the score rising to 1', () => {
    for (let seed = 0; seed < games; seed++) {
      const one = game(seed);
      one.start();
      for (const command of one.gold!) {
        expect(one.won || one.lost).toBe(false);
        expect(one.admissible).toContain(command);
        expect(one.step(command).understood).toBe(true);
      }
      expect({ seed, won: one.won, score: one.score }).toEqual({ seed, won: true, score: one.maxScore });
      expect(one.gold!.length).toBeLessThanOrEqual(world.maxSteps);
    }
  });

  it('one seed makes one game', () => {
    const [one, other] = [game(7), game(7)];
    expect(one.start()).toBe(other.start());
    for (const command of one.gold!) expect(one.step(command)).toEqual(other.step(command));
    expect(new Set(Array.from({ length: 20 }, (_, seed) => game(seed).gold!.join())).size).toBeGreaterThan(5);
  });

  it('admissible commands are sorted, each once, and each is understood', () => {
    const random = createGenerator(1);
    for (let seed = 0; seed < 10; seed++) {
      const one = game(seed);
      one.start();
      for (let step = 0; step < 40 && !one.won && !one.lost; step++) {
        const [admissible, moves] = [one.admissible!, one.moves!];
        expect(admissible).toEqual([...new Set(admissible)].toSorted());
        expect(one.step(admissible[random.integers(0, admissible.length)]!).understood).toBe(true);
        expect(one.moves).toBe(moves + 1);
        expect(one.score).toBeGreaterThanOrEqual(0);
        expect(one.score).toBeLessThanOrEqual(1);
      }
    }
  });

  it('other commands change nothing and never throw', () => {
    const random = createGenerator(2);
    const one = game(3);
    one.start();
    const state = () => [one.admissible, one.score, one.moves, one.won, one.lost];
    const before = state();
    const parts = one.admissible!.flatMap((command) => command.split(' '));
    for (let i = 0; i < 1000; i++) {
      const command = Array.from(
        { length: random.integers(0, 5) },
        () => parts[random.integers(0, parts.length)]!,
      ).join(random.random() < 0.9 ? ' ' : '\u0000');
      if (one.admissible!.includes(command)) continue;
      expect(one.step(command).understood).toBe(false);
    }
    expect(state()).toEqual(before);
  });

  it('starts anew', () => {
    const one = game(4);
    const first = one.start();
    for (const command of one.gold!) one.step(command);
    expect(one.start()).toBe(first);
    expect(one).toMatchObject({ won: false, lost: false, moves: 0 });
  });
});

describe('folds', () => {
  it('no recipe is in two of them', () => {
    const cooking = textWorlds.find(({ name }) => name === 'cooking')!;
    const recipes = folds.map((fold) => {
      const texts = Array.from({ length: 40 }, (_, seed) => {
        const one = cooking.game({ fold, ingredients: 1, rooms: 1 }, createGenerator(seed));
        one.start();
        return one.step('read cookbook').text;
      });
      return new Set(texts);
    });
    for (const [i, one] of recipes.entries())
      for (const other of recipes.slice(i + 1))
        for (const recipe of other) expect(one.has(recipe)).toBe(false);
  });

  it('eight of ten descriptions are for training', () => {
    const counts = { train: 0, dev: 0, test: 0 };
    for (let i = 0; i < 5000; i++) counts[foldOf(`${i}`)]++;
    expect(counts.train / 5000).toBeCloseTo(0.8, 1);
    expect(counts.dev / 5000).toBeCloseTo(0.1, 1);
  });
});

describe('cooking', () => {
  const cooking = textWorlds.find(({ name }) => name === 'cooking')!;

  it('a wrong preparation loses', () => {
    const one = cooking.game({ rooms: 1, distractors: 0 }, createGenerator(11));
    one.start();
    const [food] = /Ingredients: (\w+)/.exec(one.step('read cookbook').text)!.slice(1);
    for (const command of one.gold!.filter((text) => /^(open|take)/.test(text))) one.step(command);
    expect(one.admissible).toContain(`eat ${food}`);
    expect(one.step(`eat ${food}`).text).toContain('You have lost.');
    expect(one).toMatchObject({ lost: true, won: false });
  });

  it('a meal is made when everything is ready, and not before', () => {
    const one = cooking.game({ rooms: 3 }, createGenerator(5));
    one.start();
    for (const command of one.gold!) {
      if (command !== 'prepare meal') {
        if (!one.admissible!.includes('prepare meal')) one.step(command);
        else one.step(command);
        continue;
      }
      expect(one.admissible).toContain('prepare meal');
      one.step(command);
    }
    expect(one.won).toBe(true);
  });

  it('a capacity is kept', () => {
    const one = cooking.game({ capacity: 4, ingredients: 3 }, createGenerator(6));
    one.start();
    for (const command of one.gold!) one.step(command);
    expect(one.won).toBe(true);
    expect(() => cooking.game({ capacity: 3, ingredients: 3 }, createGenerator(6))).toThrow();
  });
});
