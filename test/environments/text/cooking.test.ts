import { describe, expect, it } from 'vitest';
import { createGenerator, type RandomGenerator } from '../../../src/base/random/generator.js';
import { cookingGame, cookingOptions } from '../../../src/environments/text/cooking/cooking.js';
import { foldOf, folds, type TextGame } from '../../../src/environments/text/text-game.js';
import { checkGold, fuzzCommands } from './checks.js';

const games = 100;

const game = (seed: number, options: Readonly<Record<string, unknown>> = {}) =>
  cookingGame(cookingOptions.parse(options), createGenerator(seed));

const world = {
  maxSteps: 100,
  game: (random: RandomGenerator) => cookingGame(cookingOptions.parse({}), random),
};

describe('every cooking game', () => {
  it('is won by its gold path, with admissible commands and within the step limit', () => {
    for (let seed = 0; seed < games; seed++)
      expect({ seed, failure: checkGold(world, seed) }).toEqual({ seed });
  });

  it('is the same for the same seed', () => {
    const [one, other] = [game(7), game(7)];
    expect(one.start()).toBe(other.start());
    for (const command of one.gold!) expect(one.step(command)).toEqual(other.step(command));
    expect(new Set(Array.from({ length: 20 }, (_, seed) => game(seed).gold!.join())).size).toBeGreaterThan(5);
  });

  it('lists admissible commands in order and without duplicates, and understands them', () => {
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

  it('never throws on made-up commands, and changes nothing when it rejects them', () => {
    const { refused, failures } = fuzzCommands(world, 1500);
    expect(failures).toEqual([]);
    expect(refused).toBeGreaterThan(800);
  });

  it('can be restarted', () => {
    const one = game(4);
    const first = one.start();
    for (const command of one.gold!) one.step(command);
    expect(one.start()).toBe(first);
    expect(one).toMatchObject({ won: false, lost: false, moves: 0 });
  });
});

describe('the checks report', () => {
  /** A world of one room with a bell: whoever rings twice has won. */
  const bell = (change: Partial<Bell>) => ({ maxSteps: 5, game: () => Object.assign(new Bell(), change) });

  it.each([
    ['nothing if nothing is wrong', {}, undefined],
    ['a path that does not win', { gold: ['ring'] }, 'it ends with the score 0.5'],
    ['a path of inadmissible commands', { gold: ['sing'] }, 'sing is not admissible in step 0'],
    ['a path that continues after the end', { gold: ['ring', 'ring', 'ring'] }, 'it ends before step 2'],
    ['a path that is too long', { gold: Array<string>(6).fill('ring') }, 'the gold path has 6 steps of 5'],
  ])('%s', (_, change, failure) => {
    expect(checkGold(bell(change), 1)).toBe(failure);
  });

  it('a rejected command that changes something, and a command that throws', () => {
    expect(fuzzCommands(bell({}), 200).failures).toEqual([]);
    expect(fuzzCommands(bell({ whenRefused: 'counts' }), 200).failures[0]).toContain('changes something');
    expect(fuzzCommands(bell({ whenRefused: 'throws' }), 200).failures[0]).toContain('throws');
  });
});

class Bell implements TextGame {
  readonly maxScore = 1;
  readonly admissible = ['ring'];
  readonly lost = false;
  gold: readonly string[] = ['ring', 'ring'];
  whenRefused: 'nothing' | 'counts' | 'throws' = 'nothing';
  moves = 0;

  get score(): number {
    return this.moves / 2;
  }
  get won(): boolean {
    return this.moves === 2;
  }

  start(): string {
    this.moves = 0;
    return 'A bell.';
  }

  step(command: string) {
    const understood = command === 'ring';
    if (understood || this.whenRefused === 'counts') this.moves++;
    if (!understood && this.whenRefused === 'throws') throw new Error('no');
    return { text: 'Ding.', understood };
  }
}

describe('the folds of cooking games', () => {
  it('share no recipe', () => {
    const recipes = folds.map((fold) => {
      const texts = Array.from({ length: 40 }, (_, seed) => {
        const one = game(seed, { fold, ingredients: 1, rooms: 1 });
        one.start();
        return one.step('read cookbook').text;
      });
      return new Set(texts);
    });
    for (const [i, one] of recipes.entries())
      for (const other of recipes.slice(i + 1))
        for (const recipe of other) expect(one.has(recipe)).toBe(false);
  });

  it('assign about eight of ten descriptions to training', () => {
    const counts = { train: 0, dev: 0, test: 0 };
    for (let i = 0; i < 5000; i++) counts[foldOf(`${i}`)]++;
    expect(counts.train / 5000).toBeCloseTo(0.8, 1);
    expect(counts.dev / 5000).toBeCloseTo(0.1, 1);
  });
});

describe('a cooking game', () => {
  it.each([1, 2])('is lost by eating an ingredient (number of ingredients: %i)', (ingredients) => {
    const one = game(11, { rooms: 1, distractors: 0, ingredients });
    one.start();
    const [food] = /Ingredients: (\w+)/.exec(one.step('read cookbook').text)!.slice(1);
    for (const command of one.gold!.filter((text) => /^(open|take)/.test(text))) one.step(command);
    expect(one.admissible).toContain(`eat ${food}`);
    const { score } = one;
    expect(one.step(`eat ${food}`).text).toContain('You have lost.');
    expect(one.score).toBe(score);
    expect(one).toMatchObject({ lost: true, won: false });
  });

  it('is won by a path that prepares the meal as soon as that is admissible', () => {
    const one = game(5, { rooms: 3 });
    one.start();
    const prepared = one.gold!.indexOf('prepare meal');
    for (const [index, command] of one.gold!.entries()) {
      expect(one.admissible!.includes('prepare meal')).toBe(index === prepared);
      one.step(command);
    }
    expect(one.won).toBe(true);
  });
});
