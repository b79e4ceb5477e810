import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { confirmationSeeds } from '../../src/base/random/seeds.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { readPlayableRun } from '../../src/runs/open-run.js';

const path = resolve(import.meta.dirname, '../../buffers/example-cartpole');

describe('the example run in the repository', () => {
  it('has the first returns and the confirmed mean that this version gives for its seeds', async () => {
    const { config, family, manifest, recorded } = await readPlayableRun(path);
    expect(manifest.status).toBe('completed');
    const environment = await makeEnvironment(manifest.environment, config.environment.options);
    const setting = { environment, family, maxSteps: config.evaluation.maxSteps, record: 'none' } as const;
    for (const entry of recorded.entries) {
      const seed = [...recorded.episodes].find(
        ({ iteration, candidate }) => iteration === entry.iteration && candidate === entry.candidate,
      )!.seed;
      const { returns } = await evaluate(setting, entry.parameters, [seed]);
      expect(returns[0]).toBe(entry.returns[0]);
    }
    const final = manifest.confirmations.at(-1)!;
    const seeds = confirmationSeeds(manifest.seed, 'final', final.episodes);
    expect((await evaluate(setting, final.parameters, seeds)).score).toBe(final.mean);
  });
});
