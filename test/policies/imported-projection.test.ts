import { expect, it } from 'vitest';
import { parseConfig } from '../../src/config/load.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import { quick, runExperimentFrom } from '../support/experiments.js';

const projected = (seed: number, changes: object = {}) => ({
  ...quick,
  model: { provider: 'random' } as const,
  policy: { kind: 'linear', projection: { rank: 4, seed } } as const,
  ...changes,
});

it('warmup.from imports policies only from a run with the same projection', async () => {
  const earlier = await runExperimentFrom(projected(1));
  const from = { warmup: { from: earlier.path } };
  const { imported } = await assemble(parseConfig(projected(1, from)), {});
  expect(imported.length).toBeGreaterThan(3);
  await expect(assemble(parseConfig(projected(2, from)), {})).rejects.toThrow(
    /warmup\.from: .*its policy differs in kind, projection/,
  );
  const plain = { ...quick, model: { provider: 'random' } as const, ...from };
  await expect(assemble(parseConfig(plain), {})).rejects.toThrow(/differs in kind, projection/);
});
