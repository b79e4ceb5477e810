/** The tutorial as configs: games, imitation, reinforcement. */
import { expect, it } from 'vitest';
import { loadRlConfig, usageOf } from '../../finetune/rl/rl-config.js';
import { loadTrainConfig } from '../../finetune/train/train-config.js';
import { loadPlayConfig } from '../../src/agents/play-config.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { commandsOf, commentBlock, policyloopWords } from '../docs/blocks.js';

const games = loadPlayConfig('cooking-gold').config;

it('gold paths of 600 games fit into the step limit of cooking-gold; some exceed 16 steps', async () => {
  for (const fold of ['train', 'test']) {
    const world = await makeEnvironment('text:cooking', { ...games.environment.options, fold });
    let longest = 0;
    for (let seed = 0; seed < 300; seed++) {
      world.reset(seed);
      longest = Math.max(longest, world.gold!()!.length);
    }
    expect(longest).toBeLessThanOrEqual(world.maxSteps!);
    expect(longest).toBeGreaterThan(16);
  }
});

it('the RL configs use the same games, prompts and history as the agent config', () => {
  const { environment, policy } = games;
  for (const name of ['cooking-rl', 'cooking-scratch']) {
    const { agent, environment: played } = loadRlConfig(name, []);
    expect(played).toEqual(environment);
    expect(agent).toMatchObject({
      prompts: policy.prompts,
      history: policy.history,
      maxTurns: environment.options.max_episode_steps,
    });
  }
  expect(games).toMatchObject({ player: 'expert', episodes: 900 });
  const training = loadTrainConfig('cooking-imitation', ['dataset=./none']);
  expect(training.method).toMatchObject({ kind: 'lora', rank: 4, alpha: 32, dropout: 0.25 });
  const scratch = loadTrainConfig('cooking-scratch', ['dataset=./none']);
  expect(scratch).toMatchObject({ method: { kind: 'scratch' }, packing: 'conversations' });
  expect(scratch.model).toMatch(/tiny-words$/);
});

it('the two commands in the comment of rl/cooking-rl select GRPO and PPO', () => {
  const objectives = commandsOf(commentBlock('configs/rl/cooking-rl.yaml')).map((command) => {
    const [, , config, ...overrides] = policyloopWords(command)!;
    return loadRlConfig(config!, overrides).objective;
  });
  expect(objectives).toEqual([
    expect.objectContaining({ kind: 'grpo' }),
    expect.objectContaining({ kind: 'ppo', discount: 1, lambda: 0.95, kl: 0.2 }),
  ]);
});

it('the command that plays the trained agent samples at the temperature of the training', () => {
  const command = (...overrides: string[]) => usageOf(loadRlConfig('cooking-rl', overrides), 'base', 'out');
  expect(command('agent.temperature=0.9')).toBe(`${command()} model.temperature=0.9`);
});
