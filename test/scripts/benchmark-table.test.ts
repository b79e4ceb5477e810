import { describe, expect, it } from 'vitest';
import { benchmarkFigures } from '../../scripts/tiny-improver/benchmark-figures.js';
import { benchmarkMarkdown } from '../../scripts/tiny-improver/benchmark-markdown.js';
import type { Result } from '../../scripts/tiny-improver/benchmark-plan.js';
import { withBlock } from '../../scripts/tiny-improver/model-card.js';

const run = (task: string, arm: string, seed: number, final: number, more: Partial<Result> = {}): Result => ({
  task,
  arm,
  seed,
  at: { 20: final / 4, 50: final / 2, 100: final },
  evaluations: 100,
  asked: 96,
  failures: {},
  seconds: seed,
  ...more,
});

const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
const results: readonly Result[] = [
  ...seeds.map((seed) => run('CartPole', 'improver', seed, 400 + seed, { failures: { 'no-answer': 2 } })),
  ...seeds.map((seed) => run('CartPole', 'random', seed, 200 - seed)),
  ...seeds.map((seed) => run('CartPole', 'cma-es', seed, 400 + (seed % 2 === 0 ? 50 : -50))),
  ...seeds.map((seed) => run('Pendulum', 'improver', seed, -1200 - seed)),
  ...seeds.map((seed) => run('Pendulum', 'random', seed, -1100 + seed)),
];
const figures = benchmarkFigures(results);
const difference = (task: string, control: string, budget = 100) =>
  figures.differences.find((one) => one.task === task && one.control === control && one.budget === budget);

describe('figures of the benchmark', () => {
  it('summarise what each arm reaches at each budget', () => {
    const reached = figures.reached.filter(({ task, arm }) => task === 'CartPole' && arm === 'improver');
    expect(reached.map(({ budget, iqm, mean, count }) => ({ budget, iqm, mean, count }))).toEqual([
      { budget: 20, iqm: 101.125, mean: 101.125, count: 8 },
      { budget: 50, iqm: 202.25, mean: 202.25, count: 8 },
      { budget: 100, iqm: 404.5, mean: 404.5, count: 8 },
    ]);
    const [low, high] = reached[2]!.iqmInterval!;
    expect(low).toBeGreaterThan(401);
    expect(low).toBeLessThan(404.5);
    expect(high).toBeLessThan(408);
  });

  it('compare runs of the same seed, and say where the interval leaves out 0', () => {
    expect(difference('CartPole', 'random')).toMatchObject({
      pairs: 8,
      iqmDifference: 209,
      winRate: 1,
      evidence: 'higher',
    });
    expect(difference('CartPole', 'cma-es')).toMatchObject({ winRate: 0.5, evidence: null });
    expect(difference('Pendulum', 'random')).toMatchObject({ winRate: 0, evidence: 'lower' });
    expect(difference('Pendulum', 'cma-es')).toBeUndefined();
  });

  it('pair only seeds that both have, and claim nothing from few', () => {
    const few = benchmarkFigures(results.filter(({ arm, seed }) => arm === 'random' || seed <= 5));
    expect(few.differences.filter(({ control }) => control === 'random').map(({ pairs }) => pairs)).toEqual([
      5, 5, 5, 5, 5, 5,
    ]);
    expect(few.differences.every(({ evidence }) => evidence === null)).toBe(true);
  });

  it('count answers of the model only, and a run that was played again once', () => {
    const again = benchmarkFigures([...results, run('CartPole', 'improver', 1, 401, { asked: 100 })]);
    expect(again.arms.find(({ arm }) => arm === 'improver')).toMatchObject({
      runs: 16,
      answers: { asked: 15 * 96 + 100, valid: 15 * 96 + 100 - 14 },
      seconds: 4.5,
    });
    expect(again.arms.find(({ arm }) => arm === 'random')!.answers).toBeNull();
  });

  it('refuse results of what the plan has not, or without the model', () => {
    expect(() => benchmarkFigures([run('Tetris', 'improver', 1, 0)])).toThrow(/Tetris/);
    expect(() => benchmarkFigures(results, 'warm')).toThrow(/no results of the arm warm/);
  });
});

describe('tables of the benchmark', () => {
  const markdown = benchmarkMarkdown(figures);
  const row = (start: string, nth = 0) =>
    markdown
      .split('\n')
      .filter((line) => line.startsWith(`| ${start} |`))
      .map((line) => line.split('|').map((cell) => cell.trim()))[nth]!;

  it('have a row a task with the highest in bold, and a dash for what was not played', () => {
    expect(row('CartPole')[2]).toMatch(/^\*\*404\.5\*\* \[40\d\.\d, 40\d\.\d\] \(404\.5\)$/);
    expect(row('CartPole')[3]).toMatch(/^195\.5 \[/);
    expect(row('Pendulum')[2]).toMatch(/^−1205 \[−12\d\d, −12\d\d\] \(−1205\)$/);
    expect(row('Pendulum')[4]).toBe('–');
  });

  it('follow CartPole over the budgets', () => {
    expect(['20', '50', '100'].map((budget) => row(budget)[2]!.split(' ')[0])).toEqual([
      '**101.1**',
      '**202.3**',
      '**404.5**',
    ]);
  });

  it('mark differences that leave out 0, and count them', () => {
    expect(row('CartPole', 1)[2]).toMatch(/^▲ \+209\.0 \[\d+\.\d, \d+\.\d\], 100 %$/);
    expect(row('CartPole', 1)[3]).toMatch(/^[+−]\d.* 50 %$/);
    expect(row('Pendulum', 1)[2]).toMatch(/^▼ −109\.0 .* 0 %$/);
    expect(row('▲ / ▼').slice(2, 4)).toEqual(['1 / 1 of 2', '0 / 0 of 1']);
    expect(row('mean share of wins')[2]).toBe('50 %');
  });

  it('show raw validity of the model', () => {
    expect(row('tiny improver, T = 1').slice(2, 6)).toEqual(['16', '1536', '98.96 %', '4.5']);
    expect(row('random search').slice(3, 5)).toEqual(['–', '–']);
  });
});

describe('blocks of the model card', () => {
  it('are replaced between their marks, and nothing else is', () => {
    const card = 'a\n<!-- figures -->\nold\n<!-- /figures -->\nb <!-- recipe --><!-- /recipe -->\n';
    expect(withBlock(card, 'figures', 'new\n')).toBe(card.replace('old', 'new'));
    expect(withBlock(withBlock(card, 'figures', 'x'), 'figures', 'old')).toBe(card);
    expect(() => withBlock(card, 'nothing', '')).toThrow(/<!-- nothing -->/);
  });
});
