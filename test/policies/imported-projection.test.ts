import { expect, it } from 'vitest';
import { parseConfig } from '../../src/config/load.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import { quick, runExperimentFrom } from '../support/experiments.js';

const projected = (seed: number, low = -6) => ({
  kind: 'linear' as const,
  projection: { rank: 4, seed },
  low,
});

type Policy = ReturnType<typeof projected> & { readonly bias?: boolean };

const configWith = (policy: Policy | undefined, warmup: object = {}) => ({
  ...quick,
  model: { provider: 'random' } as const,
  policy,
  warmup,
});

it('warmup.from imports policies only from a run whose policy has the same settings, except its range', async () => {
  const earlier = await runExperimentFrom(configWith(projected(1), { policies: 4 }));
  const assembled = (policy?: Policy) =>
    assemble(parseConfig(configWith(policy, { from: earlier.path })), {});
  for (const policy of [projected(1), projected(1, -7)])
    expect((await assembled(policy)).imported.length).toBeGreaterThan(3);
  for (const policy of [projected(2), { ...projected(1), bias: false }, undefined])
    await expect(assembled(policy)).rejects.toThrow(
      /warmup\.from: .*differs in more than low, high and decimals/,
    );
});
