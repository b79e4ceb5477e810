import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Candidate,
  type CandidateGroup,
  openReward,
  rewardSchema,
} from '../../../../finetune/rl/proposer/reward.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';

const scored = (score: number): Candidate => ({
  kind: 'evaluated',
  text: '',
  parameters: [score],
  returns: [score],
  score,
});
const unreadable: Candidate = { kind: 'unreadable', text: '?', failure: 'missing' };

const group = (candidates: readonly Candidate[], history: readonly number[] = [0, 10]): CandidateGroup => ({
  history: history.map((score) => ({ parameters: [score], score })),
  candidates,
  environment: 'E',
});

async function rewarded(written: object, given: CandidateGroup): Promise<readonly number[]> {
  return (await openReward(rewardSchema.parse(written)))(given);
}

describe('the improvement reward', () => {
  it("is relative to the best policy in the history, in standard deviations of the run's returns", async () => {
    const spread = Math.sqrt(50);
    const found = await rewarded({ kind: 'improvement' }, group([scored(20), scored(4)]));
    expect(found).toEqual([10 / spread, -6 / spread]);
  });

  it('is not divided by a spread of 0, and grows with the return if there is no history', async () => {
    expect(await rewarded({ kind: 'improvement' }, group([scored(3), scored(3)], [1, 1]))).toEqual([2, 2]);
    const [high, low] = await rewarded({ kind: 'improvement' }, group([scored(3), scored(1)], []));
    expect(high! > low!).toBe(true);
  });
});

describe('the return reward', () => {
  it('is scaled and clipped, as in clip((R + 200) / 300)', async () => {
    const given = group([-500, -200, -50, 85, 100, 120].map(scored));
    expect(await rewarded({ kind: 'return', low: -200, high: 100 }, given)).toEqual([0, 0, 0.5, 0.95, 1, 1]);
  });

  it('requires both bounds', () => {
    for (const bound of [{ low: 1 }, { high: 1 }])
      expect(rewardSchema.safeParse({ kind: 'return', ...bound }).success).toBe(false);
  });
});

describe('the rank reward', () => {
  it('ranges from 1/n to 1 at any scale, and equal returns share a rank', async () => {
    const ranks = [0.25, 0.625, 1, 0.625];
    expect(await rewarded({ kind: 'rank' }, group([1, 2, 3, 2].map(scored)))).toEqual(ranks);
    expect(await rewarded({ kind: 'rank' }, group([1, 2e9, 3e9, 2e9].map(scored)))).toEqual(ranks);
  });
});

describe('a reply that repeats a policy from the history', () => {
  const repeated = { ...scored(20), isRepeat: true };

  it.each([
    [{ kind: 'rank' }, [1, 0, 0.5]],
    [{ kind: 'improvement' }, [5 / Math.sqrt(50), -1, -6 / Math.sqrt(50)]],
    [{ kind: 'return', low: 0, high: 20 }, [0.75, 1, 0.2]],
  ])('earns the lowest reward, except from the return reward: %j', async (written, expected) => {
    expect(await rewarded(written, group([scored(15), repeated, scored(4)]))).toEqual(expected);
  });
});

describe('an unreadable reply', () => {
  it.each([
    [{ kind: 'improvement' }, -1],
    [{ kind: 'improvement', invalid: -9 }, -9],
    [{ kind: 'return', low: 0, high: 1 }, 0],
    [{ kind: 'rank' }, 0],
  ])('earns the reward that %j gives invalid replies', async (written, expected) => {
    const [, worst] = await rewarded(written, group([scored(20), unreadable]));
    expect(worst).toBe(expected);
  });

  it('never earns more than the worst readable reply', async () => {
    const found = await rewarded({ kind: 'improvement' }, group([scored(-50), scored(11), unreadable]));
    const spread = Math.sqrt(50);
    expect(found).toEqual([-60 / spread, 1 / spread, -60 / spread]);
  });

  it('earns the same as all others if no reply is readable', async () => {
    expect(await rewarded({ kind: 'improvement' }, group([unreadable, unreadable]))).toEqual([-1, -1]);
  });
});

describe("a user's reward module", () => {
  async function given(body: string) {
    const file = join(temporaryDirectory(), 'reward.js');
    writeFileSync(file, `export default { create: () => ({ candidates, history }) => ${body} };`);
    return rewarded({ kind: 'module', path: file }, group([scored(5), unreadable, scored(1)]));
  }

  it('receives the whole group; unreadable replies earn no more than the worst readable one', async () => {
    expect(await given('candidates.map(({ score }) => score ?? 99)')).toEqual([5, 0, 1]);
    expect(await given('candidates.map(() => history.length)')).toEqual([2, 0, 2]);
  });

  it('is rejected when it does not return one finite number per candidate', async () => {
    await expect(given('[1]')).rejects.toThrow(/3 finite numbers/);
    await expect(given('candidates.map(() => NaN)')).rejects.toThrow(/3 finite numbers/);
  });
});
