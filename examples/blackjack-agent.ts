/**
 * A short agent that learns Blackjack by PPO while it plays, offline, with a tiny model from scratch.
 *
 * Run: npm run build && npx tsx examples/blackjack-agent.ts [SEED] [EPISODES]
 */
import { createGenerator, makeEnvironment } from 'policyloop';
import { openAgent } from 'policyloop/finetune';

const [seed = 1, episodes = 6000] = process.argv.slice(2).map(Number);
const random = createGenerator(seed);
const game = await makeEnvironment('Blackjack-v1', { sab: false });
const agent = await openAgent(
  {
    formatObservation: (hand) => String(hand),
    extractAction: (reply) => ({ s: 0, h: 1 })[reply],
  },
  {
    model: 'package:models/tiny-bytes',
    method: { kind: 'scratch' },
    agent: { maxTokens: 1, history: 0 },
    ...{ batch: 64, learningRate: 1e-2, invalid: -1, seed },
  },
);

let returns: number[] = [];
for (let episode = 0; episode < episodes; episode++) {
  let observation = game.reset(1_000_000 * seed + episode);
  for (let done = false; !done; ) {
    // If the reply names no action, choose one at random.
    const step = game.step((await agent.act(observation)) ?? random.integers(0, 2));
    agent.assignReward(step.reward);
    ({ observation, terminated: done } = step);
  }
  const { return: earned } = await agent.endEpisode();
  returns.push(earned);
  if (returns.length < Math.min(1000, episodes / 2)) continue;
  const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
  const row = { seed, episodes: episode + 1, meanReturn: Number(mean.toFixed(3)) };
  process.stdout.write(`${JSON.stringify(row)}\n`);
  returns = [];
}
await agent.close();
