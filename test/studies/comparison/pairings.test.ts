import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compareRuns } from '../../../src/studies/comparison/compare.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { writeRun } from '../../support/written-runs.js';

it('compare says which seeds are paired, and how to get pairs', () => {
  const cwd = temporaryDirectory();
  const write = (provider: 'random' | 'hill-climb' | 'cma-es', seeds: readonly number[]) => {
    for (const seed of seeds) {
      const config = { model: { provider } } as const;
      writeRun(join(cwd, 'buffers', `${provider}-${seed}`), { seed, confirmed: seed, config });
    }
  };
  write('random', [1, 2, 3]);
  write('hill-climb', [2, 3, 1]);
  write('cma-es', [7, 8, 9]);
  const asked = { runs: ['*'], runsDir: 'buffers', by: ['model'], unfinished: false, json: true };
  const { tasks } = JSON.parse(compareRuns(asked, { columns: 200, cwd }));
  const [apart, paired] = (tasks[0].pairings as string[]).toSorted();
  expect(apart).toMatch(/no seeds are shared; for pairs, run both .* policyloop sweep/);
  expect(paired).toMatch(/^(random − hill-climb|hill-climb − random): paired by seed (1|2|3), /);
  expect(compareRuns({ ...asked, json: false }, { columns: 200, cwd })).toContain('paired by seed');
});
