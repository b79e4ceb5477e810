import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { execute } from '../../../finetune/commands/rl.js';
import { readLineage, trainedEnvironments } from '../../../finetune/dataset/lineage.js';
import { loadPlayConfig } from '../../../src/agents/play-config.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { buildGraph } from '../../../src/models/local/generation/engine.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { visibleText } from '../../web/shown.js';
import { tinyConfig } from '../rl/tiny-learning.js';

const small = { environment: 'bandit', updates: 4, groups: 2, groupSize: 8, checkpointEvery: 2 };

async function learn(folder: string, overrides: readonly string[] = [], more: object = {}) {
  const { context, printed } = recordingContext(folder);
  const args = { config: 'rl.yaml', overrides, quiet: false, json: true, ...more };
  const code = await execute(args, context);
  const lines = printed.flatMap((text) => text.trimEnd().split('\n'));
  return { code, lines, last: JSON.parse(lines.at(-1)!) as Record<string, unknown> };
}

describe('policyloop finetune rl', () => {
  it('ends with a line that contains meanReward, and writes a model, its lineage and a report', async () => {
    const folder = temporaryDirectory();
    tinyConfig({ ...small, environment: 'bandit' }, folder);
    const { code, last, lines } = await learn(folder);
    expect(code).toBe(0);
    expect(last).toMatchObject({
      ended: 'complete',
      step: 4,
      meanReward: expect.any(Number),
      result: 'out/model',
    });
    expect(lines.map((line) => (JSON.parse(line) as { kind?: string }).kind)).toEqual(
      expect.arrayContaining(['start', 'step', 'evaluation', 'checkpoint']),
    );
    const model = join(folder, 'out', 'model');
    const weights = openWeights(model);
    expect(() =>
      buildGraph({ path: model, quantization: 'none' }, readDecoderConfig(model), weights),
    ).not.toThrow();
    expect(trainedEnvironments(readLineage(model)!)).toEqual(['bandit']);
    const page = visibleText(readFileSync(join(folder, 'out', 'index.html'), 'utf8'));
    expect(page).toContain('Best held-out mean return');
    expect(page).toMatch(/Sample replies .* update 0 .*Prompt .* Reply .* return \d/s);
    expect(page).toContain('policyloop play cartpole ');
    expect(page).not.toContain('policyloop run');
    // Repeating the command after the end only prints the result, here as text.
    const { context, printed } = recordingContext(folder);
    await execute({ config: 'rl.yaml', overrides: [], quiet: true, json: false }, context);
    const use = /^run it +policyloop (play cartpole .*)$/m.exec(
      stripVTControlCharacters(printed.join('\n')),
    )?.[1];
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${use} episodes=3`], { encoding: 'utf8' });
    const [, name = '', ...given] = words.trimEnd().split('\n');
    const played = loadPlayConfig(name, given, folder);
    expect(played.config).toMatchObject({
      environment: { id: 'bandit' },
      policy: { kind: 'agent', act: 'text', history: 1000, fallback: 'first' },
      model: { provider: 'local', path: join(folder, 'out', 'model'), maxTokens: 1 },
    });
  });

  it.each([['blackjack-text'], ['cartpole-text'], ['cartpole-lora', 'model=package:models/tiny-improver']])(
    'runs the bundled config %s from any directory',
    async (config, ...overrides) => {
      const folder = temporaryDirectory();
      const { last } = await learn(
        folder,
        [
          'updates=2',
          'groups=2',
          'groupSize=4',
          'evaluation={every: 1, episodes: 4}',
          'agent.maxTurns=8',
          'output=out',
          ...overrides,
        ],
        { config },
      );
      expect(last).toMatchObject({ ended: 'complete', step: 2, meanReward: expect.any(Number) });
    },
  );

  it('writes an adapter without the value head', async () => {
    const folder = temporaryDirectory();
    tinyConfig(
      {
        ...small,
        updates: 1,
        model: 'package:models/tiny-improver',
        method: { kind: 'lora', rank: 2 },
        objective: { kind: 'ppo' },
      },
      folder,
    );
    const { last } = await learn(folder);
    expect(last).toMatchObject({ result: 'out/adapter' });
    const bytes = readFileSync(join(folder, 'out', 'adapter', 'adapter_model.safetensors'));
    const header = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE(0))).toString()) as object;
    expect(Object.keys(header).length).toBeGreaterThan(8);
    expect(Object.keys(header).filter((name) => name.includes('value_head'))).toEqual([]);
  });

  it.each([
    ['groupSize=1', /groupSize=1: .*grpo compares/],
    ['objective={kind: ppo} reward.shuffle=true', /reward\.shuffle=true: ppo/],
    ['objective={kind: ppo} reward.gamma=0.9', /reward\.gamma=0\.9: .*ppo/],
    ['objective={kind: reinforce} epochs=2', /epochs=2: .*reinforce/],
  ])('rejects %s and names the field', async (override, message) => {
    const folder = temporaryDirectory();
    tinyConfig(small, folder);
    await expect(learn(folder, override.split(/ (?=\w+[.=])/))).rejects.toThrow(message);
  });
});
