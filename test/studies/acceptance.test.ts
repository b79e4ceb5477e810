import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { makeSynthetic } from '../../src/environments/catalogue/synthetic.js';
import { createPolicyFamily, defaultPolicy } from '../../src/policies/families.js';
import { acceptanceSchema, findingsOf, gainOf } from '../../src/studies/collection/acceptance.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import {
  checkCollection,
  configOfRun,
  drawRun,
  drawsOf,
} from '../../src/studies/collection/collection-plan.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const folder = temporaryDirectory();
function collectionOf(tasks: string, ...overrides: readonly string[]) {
  const file = join(folder, 'collection.yaml');
  writeFileSync(
    file,
    `runs: 8\nexperiment: { warmup: 4, iterations: 5 }\ntasks:\n${tasks}\nproposers: [{ model: { provider: random } }]\n`,
  );
  return loadCollection(file, overrides);
}
const accept = '{ search: 150, random: 50 }';
const choices = (own = accept) =>
  `  - { environment: { id: synthetic:choices, options: { states: { from: 6, to: 20 } } }, accept: ${own} }`;
const defaults = acceptanceSchema.parse({});

function findings(seed: number, states: number) {
  const environment = makeSynthetic('synthetic:choices', { seed, states });
  const family = createPolicyFamily(defaultPolicy(environment), environment);
  return findingsOf({ environment, family, maxSteps: 200 }, { ...defaults, search: 150, random: 50 }, seed);
}

it('gainOf gives left and begun as shares of the range from the median to the best return', () => {
  expect(gainOf({ median: 0, random: 6, search: 10, warmup: 5 })).toEqual({ left: 0.4, begun: 0.5 });
  expect(gainOf({ median: -20, random: -15, search: -10, warmup: -12 })).toEqual({ left: 0.2, begun: 0.8 });
  expect(gainOf({ median: 3, random: 3, search: 3, warmup: 3 })).toBeUndefined();
});

it('a task is redrawn until search pays off on it, and the draw is reproducible', () => {
  const collection = collectionOf(choices());
  const configs = Array.from({ length: 8 }, (_, i) => configOfRun(collection, drawRun(collection, i)));
  const seeds = configs.map(({ environment }) => Number(environment.options.seed));
  const again = collectionOf(choices(), 'runs=20');
  expect(configOfRun(again, drawRun(again, 5))).toEqual(configs[5]);
  expect(new Set(seeds).size).toBe(8);
  const gains = configs.map(({ environment: { options } }) =>
    gainOf(findings(Number(options.seed), Number(options.states))),
  );
  for (const gain of gains) {
    // The filter stops as soon as the search has found enough: in the end it has found no less.
    expect(gain!.left).toBeGreaterThanOrEqual(0.1);
    expect(gain!.begun).toBeLessThan(0.9);
  }
  expect(gains.filter((gain) => gain!.left >= 0.3).length).toBeGreaterThanOrEqual(3);
  expect(drawsOf(collection)).toMatchObject({ accepted: 8 });
});

it('drawsOf counts rejected tasks, and counts nothing without an accept rule', () => {
  const strict = collectionOf(choices('{ search: 150, random: 50, gain: 0.55, larger: 0 }'));
  for (let i = 0; i < 4; i++) configOfRun(strict, drawRun(strict, i));
  expect(drawsOf(strict).rejected).toBeGreaterThan(0);
  const plain = collectionOf('  - { environment: synthetic:choices }');
  configOfRun(plain, drawRun(plain, 0));
  expect(drawsOf(plain)).toEqual({ accepted: 0, rejected: 0 });
});

it('an error reports that search did not pay off on any of 1000 drawn tasks', () => {
  const hopeless = collectionOf(
    '  - { environment: { id: synthetic:choices, options: { states: 2, actions: 2 } }, accept: { gain: 1, larger: 0, search: 10, random: 20 } }',
  );
  expect(() => configOfRun(hopeless, drawRun(hopeless, 0))).toThrow(
    /tasks\.accept: search didn't pay off on any of 1000 tasks drawn from synthetic:choices/,
  );
});

it.each(['FrozenLake-v1', '"synthetic:balance?seed=3"', '{ id: synthetic:balance, options: { seed: 3 } }'])(
  'accept is refused for %s, which is a fixed task',
  (environment) => {
    const fixed = collectionOf(`  - { environment: ${environment}, accept: {} }`);
    expect(() => checkCollection(fixed)).toThrow(UserError);
    expect(() => checkCollection(fixed)).toThrow(/tasks\.0\.accept: only works for synthetic tasks/);
  },
);
