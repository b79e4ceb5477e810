import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute } from '../../../finetune/commands/rl.js';
import { readLineage, trainedEnvironments } from '../../../finetune/dataset/lineage.js';
import { recordingContext } from '../../support/experiments.js';
import { visibleText } from '../../web/shown.js';
import { configured } from './proposer-config.js';

async function learn(folder: string, overrides: readonly string[] = [], more: object = {}) {
  const { context, printed } = recordingContext(folder);
  const args = { config: 'rl.yaml', overrides, quiet: false, json: true, ...more };
  const code = await execute(args, context);
  return { code, last: JSON.parse(printed.join('\n').trimEnd().split('\n').at(-1)!) as object };
}

describe('policyloop finetune rl with a proposer', () => {
  it('writes an adapter with its lineage, and a report that compares it with search baselines', async () => {
    const folder = configured();
    const { code, last } = await learn(folder);
    expect(code).toBe(0);
    expect(last).toMatchObject({
      ended: 'complete',
      step: 3,
      result: 'out/adapter',
      meanReward: expect.any(Number),
      policyReturn: expect.any(Number),
    });
    const lineage = readLineage(join(folder, 'out', 'adapter'))!;
    expect(trainedEnvironments(lineage)).toEqual(['CartPole-v1', 'Pendulum-v1']);
    const page = visibleText(readFileSync(join(folder, 'out', 'index.html'), 'utf8'));
    for (const text of [
      'Best held-out share of baselines beaten',
      'random search',
      'hill climbing',
      'CMA-ES',
      'Means over the held-out runs',
      'Sample replies',
    ])
      expect(page).toContain(text);
    expect(page).toContain('policyloop run CONFIG model.provider=local');
  });
});
