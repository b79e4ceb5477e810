import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkConfigByKind } from '../../../finetune/rl/kinds/kinds.js';
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

const agent = `environment: CartPole-v1
player: random
episodes: 2
`;

async function check(configs: readonly string[], offline = false) {
  const folder = temporaryDirectory();
  tinyConfig(learning, folder);
  writeFileSync(join(folder, 'numbers.yaml'), numbers);
  writeFileSync(join(folder, 'agent.yaml'), agent);
  writeFileSync(join(folder, 'train.yaml'), 'model: package:models/tiny-improver\ndataset: ./mine\n');
  writeFileSync(join(folder, 'no-dataset.yaml'), 'model: package:models/tiny-improver\nepochs: 2\n');
  const { context, printed } = recordingContext(folder);
  const args = { configs: [...configs], offline, strict: false, json: true };
  const code = await checkCommand(args, context, checkConfigByKind);
  const { configs: checked } = JSON.parse(printed.at(-1)!) as {
    configs: readonly { findings: readonly { level: string; field: string; message: string }[] }[];
  };
  expect(existsSync(join(folder, 'tuned'))).toBe(false);
  return { code, findings: checked[0]!.findings };
}

const commands = {
  'rl.yaml': 'finetune rl',
  'numbers.yaml': 'finetune rl',
  'rl/bandit': 'finetune rl',
  'agent.yaml': 'play',
  'agents/cooking': 'play',
  'train.yaml': 'finetune train',
};

describe('policyloop check with a config for a command other than run', () => {
  it.each(Object.entries(commands))('finds no error in %s, which is for %s', async (config, command) => {
    const { code, findings } = await check([config]);
    expect(code).toBe(0);
    expect(findings).toEqual([{ level: 'ok', field: 'config', message: `valid; for policyloop ${command}` }]);
  });

  it.each([
    ['rl.yaml', 'groupSize=1', 'groupSize'],
    ['agent.yaml', 'parallel=0', 'parallel'],
    ['agent.yaml', 'player=model', 'model'],
    ['train.yaml', 'epochs=0', 'epochs'],
    ['training/lora', 'epochs=1', 'dataset'],
    ['no-dataset.yaml', 'learningRate=0.001', 'dataset'],
  ])('reports an error with its field: %s %s', async (config, override, field) => {
    const { code, findings } = await check([config, override]);
    expect(code).toBe(2);
    expect(findings).toMatchObject([{ level: 'error', field }]);
  });
});
