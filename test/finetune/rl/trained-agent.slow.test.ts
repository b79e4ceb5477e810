import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type AgentTraining,
  openTrainedAgent,
  type TrainedAgent,
} from '../../../finetune/rl/trained-agent.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { built } from '../../support/built.js';
import { temporaryDirectory } from '../../support/experiments.js';

const opened: TrainedAgent<number>[] = [];

async function open(training: Partial<AgentTraining> = {}): Promise<TrainedAgent<number>> {
  const agent = await openTrainedAgent(
    {
      formatObservation: String,
      extractAction: (reply) => (/^[AB]$/.test(reply) ? Number(reply === 'B') : undefined),
    },
    {
      model: 'package:models/tiny-bytes',
      method: { kind: 'scratch' },
      agent: { maxTokens: 1, history: 0 },
      batch: 32,
      learningRate: 5e-3,
      epochs: 2,
      threads: 1,
      ...training,
    },
    process.cwd(),
  );
  opened.push(agent);
  return agent;
}

afterEach(async () => {
  for (const agent of opened.splice(0)) await agent.close();
});

/** Shows up or down; A is right for up, and B for down. `pay` returns the reward of a right or wrong action. */
async function play(agent: TrainedAgent<number>, episodes: number, pay: (right: boolean) => number) {
  const rights: number[] = [];
  const updates: number[] = [];
  for (let episode = 0; episode < episodes; episode++) {
    const isDown = episode % 2;
    const action = await agent.act(isDown ? 'down' : 'up');
    rights.push(Number(action === isDown));
    agent.assignReward(pay(action === isDown));
    const { update } = await agent.endEpisode();
    if (update !== undefined) updates.push(episode + 1);
  }
  return { rights, updates };
}

describe('an agent that learns while it plays', () => {
  it('learns the rewarded actions, updates after each full batch and is reproducible', {
    timeout: 60_000,
  }, async () => {
    const agent = await open();
    const { rights, updates } = await play(agent, 1600, Number);
    expect(updates).toEqual(Array.from({ length: 50 }, (_, i) => 32 * (i + 1)));
    expect(mean(rights.slice(0, 200))).toBeLessThan(0.1);
    expect(mean(rights.slice(-200))).toBeGreaterThan(0.85);
    const again = await play(await open(), 320, Number);
    expect(again.rights).toEqual(rights.slice(0, 320));
  });

  it('learns nothing when every action earns the same', { timeout: 60_000 }, async () => {
    const { rights } = await play(await open(), 1200, () => 1);
    expect(mean(rights.slice(-200))).toBeLessThan(0.1);
  });

  it('reports the return and turns of each episode and the statistics of each update', async () => {
    const agent = await open({ batch: 2, agent: { maxTokens: 1 } });
    for (const turn of [1, 2, 3]) {
      await agent.act(`turn ${turn}`);
      agent.assignReward(turn);
      agent.assignReward(0.5);
    }
    expect(await agent.endEpisode()).toEqual({ return: 7.5, turns: 3 });
    await agent.act('turn 1');
    const { update, ...ended } = await agent.endEpisode(true);
    expect(ended).toEqual({ return: 0, turns: 1 });
    expect(update).toMatchObject({ number: 1, turns: 2, reward: 3.75, replyTokens: 1 });
    for (const number of [update!.loss, update!.entropy, update!.gradientNorm])
      expect(Number.isFinite(number)).toBe(true);
    expect(update!.largestMismatch).toBeLessThan(1e-4);
  });

  it('saves its model, or its adapter when it trains one', async () => {
    const agent = await open();
    const output = temporaryDirectory();
    expect(await agent.save(output)).toBe(join(output, 'model'));
    expect(existsSync(join(output, 'model', 'config.json'))).toBe(true);
    const learner = await open({ model: 'package:models/tiny-improver', method: { kind: 'lora', rank: 2 } });
    expect(existsSync(join(await learner.save(output), 'adapter_config.json'))).toBe(true);
  });

  it('rejects rewards without a reply and invalid settings', async () => {
    const agent = await open();
    expect(() => agent.assignReward(1)).toThrow('this episode has no reply');
    await expect(agent.endEpisode()).rejects.toThrow('this episode has no reply');
    await expect(open({ learningRate: -1 })).rejects.toThrow('learningRate');
    await expect(open({ batch: 0 })).rejects.toThrow('groups');
    await expect(open({ model: 'no-such-model' })).rejects.toThrow('no-such-model');
  });
});

it("the blackjack example runs with the package's exports", { timeout: 120_000 }, () => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, { default: string }>;
  };
  const exported = (name: string) => pathToFileURL(built(exports[name]!.default.replace('./dist/', ''))).href;
  const text = readFileSync('examples/learning-agent/blackjack.mts', 'utf8')
    .replace("'policyloop'", `'${exported('.')}'`)
    .replace("'policyloop/finetune'", `'${exported('./finetune')}'`);
  const file = join(temporaryDirectory(), 'example.mts');
  writeFileSync(file, text);
  const output = execFileSync(process.execPath, ['--import', 'tsx', file, '1', '130'], { encoding: 'utf8' });
  const rows = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { episodes: number; meanReturn: number });
  expect(rows.map(({ episodes }) => episodes)).toEqual([65, 130]);
  for (const { meanReturn } of rows) expect(Math.abs(meanReturn)).toBeLessThanOrEqual(1);
});
