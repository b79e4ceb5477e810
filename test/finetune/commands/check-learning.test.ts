import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkLearning } from '../../../finetune/rl/kinds/check-learning.js';
import { execute as checkCommand } from '../../../src/commands/check.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { tinyConfig } from '../rl/tiny-learning.js';

const learning = { environment: 'bandit', updates: 2, groups: 2, groupSize: 8 };
const numbers = `environment: CartPole-v1
policy: { kind: mlp, hidden: [4] }
algorithm: { kind: ppo, epochs: 1 }
updates: 2
batchEpisodes: 2
environments: 1
evaluation: { every: 1, episodes: 2 }
baselines: []
`;

async function check(configs: readonly string[], offline = false) {
  const folder = temporaryDirectory();
  tinyConfig(learning, folder);
  writeFileSync(join(folder, 'numbers.yaml'), numbers);
  const { context, printed } = recordingContext(folder);
  const args = { configs: [...configs], offline, strict: false, json: true };
  const code = await checkCommand(args, context, checkLearning);
  const { configs: checked } = JSON.parse(printed.at(-1)!) as {
    configs: readonly { findings: readonly { level: string; field: string; message: string }[] }[];
  };
  expect(existsSync(join(folder, 'tuned'))).toBe(false);
  return { code, findings: checked[0]!.findings };
}

const fieldsOf = ({ findings }: Awaited<ReturnType<typeof check>>) => findings.map(({ field }) => field);

describe('policyloop check of a finetune rl config', () => {
  it.each([['rl.yaml'], ['numbers.yaml'], ['rl/bandit']])('finds nothing wrong with %s', async (config) => {
    const checked = await check([config]);
    expect(checked.code).toBe(0);
    expect(fieldsOf(checked)).toEqual(['config']);
  });

  it('reports an error with its field', async () => {
    const { code, findings } = await check(['rl.yaml', 'groupSize=1']);
    expect(code).toBe(2);
    expect(findings).toMatchObject([{ level: 'error', field: 'groupSize' }]);
  });
});
