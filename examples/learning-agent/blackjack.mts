/**
 * A short agent that learns Blackjack by PPO while it plays: offline, with a tiny model from scratch, or with an adapter
 * for your own model, which is written to tuned/blackjack.
 *
 * Run: npm run build && npx tsx examples/learning-agent/blackjack.mts [SEED] [EPISODES] [--model PATH]
 */
import { parseArgs } from 'node:util';
import { createGenerator, makeEnvironment } from 'policyloop';
import { openAgent } from 'policyloop/finetune';

const { positionals, values } = parseArgs({ allowPositionals: true, options: { model: { type: 'string' } } });
const [seed = 1, episodes = 6000] = positionals.map(Number);
const random = createGenerator(seed);
const game = await makeEnvironment('Blackjack-v1', { sab: false });
const scratch = {
  functions: {
    formatObservation: (hand: unknown) => String(hand),
    extractAction: (reply: string) => ({ s: 0, h: 1 })[reply],
  },
  training: { model: 'package:models/tiny-bytes', method: { kind: 'scratch' }, learningRate: 1e-2 },
  agent: { maxTokens: 1, history: 0 },
} as const;
const pretrained = {
  functions: {
    systemPrompt: () => 'You play Blackjack. Answer with one word: stick or hit.',
    formatObservation: (hand: unknown) => {
      const [sum, dealer, ace] = hand as readonly number[];
      return `You have ${sum}${ace ? ' with a usable ace' : ''}. The dealer shows ${dealer}. Stick or hit?`;
    },
    extractAction: (reply: string) => {
      const word = reply
        .toLowerCase()
        .match(/stick|hit/g)
        ?.at(-1);
      return word && (word === 'hit' ? 1 : 0);
    },
  },
  training: { model: values.model ?? '', method: { kind: 'lora' }, learningRate: 1e-4 },
  agent: { maxTokens: 4, history: 0 },
} as const;
const { agent: acting, functions, training } = values.model === undefined ? scratch : pretrained;
const agent = await openAgent(functions, { ...training, agent: acting, batch: 64, invalid: -1, seed });

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
if (values.model !== undefined) process.stdout.write(`${await agent.save('tuned/blackjack')}\n`);
await agent.close();
