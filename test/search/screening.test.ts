import { expect, it } from 'vitest';
import type { ParameterSpec } from '../../src/policies/policy.js';
import { createGenerator } from '../../src/random/generator.js';
import { createScreening } from '../../src/search/gp.js';

const spec: ParameterSpec = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 };
const random = createGenerator(5);
const point = () => Array.from({ length: 3 }, () => Math.round(10 * (12 * random.random() - 6)) / 10);
const bowl = (parameters: readonly number[]) => -parameters.reduce((sum, x) => sum + (x - 2) ** 2, 0);
const history = Array.from({ length: 30 }, () => {
  const parameters = point();
  return { parameters, score: bowl(parameters) };
});
const task = { parameters: spec, history, warmup: 4 };
const proposals = Array.from({ length: 24 }, () => ({ parameters: point() }));

it('screening chooses better than chance if returns are smooth', async () => {
  const chosen = await createScreening(3)(task, proposals);
  const better = (own: number) => proposals.filter(({ parameters }) => bowl(parameters) > own).length;
  for (const { parameters } of chosen) expect(better(bowl(parameters))).toBeLessThan(10);
  expect(better(Math.max(...chosen.map(({ parameters }) => bowl(parameters))))).toBeLessThan(3);
});

it('screening keeps the order of proposals and depends only on its arguments', async () => {
  const screening = createScreening(4);
  const chosen = await screening(task, proposals);
  expect(chosen.map((one) => proposals.indexOf(one))).toEqual(
    chosen.map((one) => proposals.indexOf(one)).toSorted((a, b) => a - b),
  );
  await screening({ ...task, history: history.slice(0, 11) }, proposals);
  expect(await screening(task, proposals)).toEqual(chosen);
  expect(await createScreening(4)(task, proposals)).toEqual(chosen);
});

it('screening prefers a distant point to a second nearby one', async () => {
  const near = [{ parameters: [2, 2, 2] }, { parameters: [2, 2, 2.1] }, { parameters: [-6, 6, -6] }];
  const flatBut = history.map(({ parameters }, i) => ({ parameters, score: i === 0 ? 1 : 0 }));
  const chosen = await createScreening(2)({ ...task, history: flatBut.slice(0, 5) }, near);
  expect(chosen).toContain(near[2]);
});

it('screening takes the first proposals if the history gives no information', async () => {
  const flat = { ...task, history: history.map(({ parameters }) => ({ parameters, score: -200 })) };
  expect(await createScreening(2)(flat, proposals)).toEqual(proposals.slice(0, 2));
  expect(await createScreening(2)({ ...task, history: [] }, proposals)).toEqual(proposals.slice(0, 2));
  expect(await createScreening(30)(task, proposals)).toBe(proposals);
});
