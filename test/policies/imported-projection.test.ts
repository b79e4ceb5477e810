import { expect, it } from 'vitest';
import { parseConfig } from '../../src/config/load.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import { quick, runExperimentFrom } from '../support/experiments.js';

interface Settings {
  readonly seed: number;
  readonly low?: number;
  readonly bias?: boolean;
}

const configWith = ({ seed, ...policy }: Settings, warmup: object) => {
  const projection = { rank: 4, seed };
  return {
    ...quick,
    model: { provider: 'random' },
    policy: { kind: 'linear', projection, ...policy },
    warmup,
  } as const;
};

it('warmup.from imports policies only from a run whose policy has the same settings, except its range', async () => {
  const { path: from } = await runExperimentFrom(configWith({ seed: 1 }, { policies: 4 }));
  const assembled = (settings: Settings) => assemble(parseConfig(configWith(settings, { from })), {});
  for (const settings of [{ seed: 1 }, { seed: 1, low: -7 }])
    expect((await assembled(settings)).imported.length).toBeGreaterThan(3);
  for (const settings of [{ seed: 2 }, { seed: 1, bias: false }])
    await expect(assembled(settings)).rejects.toThrow(/warmup\.from: .* more than low, high and decimals/);
});
