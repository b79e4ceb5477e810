import { describe, expect, it } from 'vitest';
import type { SampledReply } from '../../../finetune/engine/sampler.js';
import { assignCredit, returnsOf } from '../../../finetune/rl/credit.js';
import { type Episode, episodeOf } from '../../../finetune/rl/learning/episode.js';
import { episodeStatistics } from '../../../finetune/rl/online.js';
import { objectiveSchema } from '../../../finetune/train/objectives/settings.js';
import type { Game } from '../../../src/agents/player.js';

const reply = (promptIds: readonly number[], ids: readonly number[]): SampledReply => ({
  text: '',
  promptIds,
  ids,
  logp: ids.map((id) => -id),
  allowed: ids.map(() => null),
  isComplete: true,
});

/** Two turns; the second prompt extends the first by 8, 9. */
const game: Game<SampledReply> = {
  turns: [
    { message: 'a', reply: reply([1, 2], [3, 4]), action: 0, valid: true, reward: 2 },
    { message: 'b', reply: reply([1, 2, 3, 4, 8, 9], [5]), action: 0, valid: false, reward: 4 },
  ],
  return: 6,
  terminated: true,
  truncated: false,
  last: '',
  objective: undefined,
  info: undefined,
};

const episode = episodeOf(game);
const [sequence] = episode.sequences;
const plain = { gamma: 1, invalid: 0, assignment: 'return', shuffle: false } as const;

describe('an episode', () => {
  it('is one sequence, with untrained environment tokens, when each prompt extends the previous tokens', () => {
    expect(episode).toMatchObject({ ends: [2, 3], rewards: [2, 4], valid: [true, false], tokens: 3 });
    expect(episode.sequences).toEqual([
      {
        promptIds: [1, 2],
        completionIds: [3, 4, 8, 9, 5],
        trained: [true, true, false, false, true],
        samplerLogp: [-3, -4, 0, 0, -5],
      },
    ]);
  });

  it('is one sequence per turn when prompts do not extend the previous tokens', () => {
    const [first, second] = game.turns;
    const apart = episodeOf({ ...game, turns: [first!, { ...second!, reply: reply([7], [5]) }] });
    expect(apart.sequences).toMatchObject([
      { promptIds: [1, 2], completionIds: [3, 4] },
      { promptIds: [7], completionIds: [5] },
    ]);
    expect(apart.ends).toEqual([2, 3]);
  });
});

describe('an episode with forced turns', () => {
  const [first] = game.turns;
  const forced = { ...first!, reply: { ...reply([6], [7, 0]), logp: [0, 0], allowed: [[7], [0]] } };
  const chosen = { ...first!, reply: { ...reply([8], [5, 0]), logp: [-1, 0], allowed: [[5, 9], [0]] } };
  const played = episodeOf({ truncated: false, turns: [forced, chosen, forced] });

  it('keeps only turns with a choice, each cut after its last choice', () => {
    expect(played.sequences).toEqual([
      { promptIds: [8], completionIds: [5], trained: [true], allowed: [[5, 9]], samplerLogp: [-1] },
    ]);
    expect(played.ends).toEqual([0, 1, 1]);
  });

  it('credits a choice with the rewards of its own and later turns', () => {
    const found = assignCredit([[played]], [[6]], (one) => ({ ...one, oldValues: [0] }), {
      objective: objectiveSchema.parse({ kind: 'ppo', rewardScale: 0.5 }),
      advantages: 'none',
      reward: plain,
    });
    expect(found.map(({ returns }) => returns)).toEqual([[2]]);
  });
});

describe('the return', () => {
  it('discounts later rewards and adds the penalty for invalid replies', () => {
    const of = (settings: object) => returnsOf([[episode]], { ...plain, ...settings }, 0);
    expect(of({})).toEqual([[6]]);
    expect(of({ gamma: 0.5 })).toEqual([[4]]);
    expect(of({ invalid: -1 })).toEqual([[5]]);
    const twice = { ...episode, valid: [false, false] };
    expect(returnsOf([[twice]], { ...plain, invalid: -1 }, 0)).toEqual([[4]]);
  });

  it('is shuffled only within its group', () => {
    const groups = [0, 10].map((base) =>
      Array.from({ length: 8 }, (_, i): Episode => ({ ...episode, rewards: [base + i] })),
    );
    const returns = returnsOf(groups, { ...plain, shuffle: true }, 1);
    const sorted = returns.map((group) => group.toSorted((a, b) => a - b));
    expect(sorted).toEqual(returnsOf(groups, plain, 1));
    expect(returns).not.toEqual(sorted);
  });
});

describe('the credit', () => {
  const credit = (objective: object, episodes: readonly Episode[], read = (one: typeof sequence) => one!) =>
    assignCredit([episodes], returnsOf([episodes], plain, 0), (one) => read(one), {
      objective: objectiveSchema.parse(objective),
      advantages: 'none',
      reward: plain,
    });

  it('with a group objective is the advantage of the episode', () => {
    const worse = { ...episode, rewards: [0, 0] };
    expect(credit({ kind: 'grpo' }, [episode, worse]).map(({ advantages }) => advantages)).toEqual([3, -3]);
    expect(credit({ kind: 'rloo' }, [episode, worse]).map(({ advantages }) => advantages)).toEqual([6, -6]);
  });

  it('with a value head is per sampled token, and each reward is at the end of its reply', () => {
    const read = (one: typeof sequence) => ({ ...one!, oldValues: [0, 0, 100, 100, 0] });
    const [found] = credit({ kind: 'ppo', discount: 0.5, lambda: 1 }, [episode], read);
    expect(found!.returns).toEqual([2, 4, 0, 0, 4]);
  });

  it('of a truncated episode includes the value of its last token', () => {
    const read = (one: typeof sequence) => ({ ...one!, oldValues: [0, 0, 0, 0, 10] });
    const cut = { ...episode, truncated: true };
    const [found] = credit({ kind: 'ppo', discount: 0.5, lambda: 1 }, [cut], read);
    expect(found!.returns).toEqual([3.25, 6.5, 0, 0, 9]);
  });

  it('includes the KL penalty for deviating from the reference policy', () => {
    const referenceLogp = [-3, -5, -7, 0, -5];
    const read = (one: typeof sequence) => ({ ...one!, oldValues: [0, 0, 0, 0, 0], referenceLogp });
    const [found] = credit({ kind: 'ppo', kl: 1, lambda: 1 }, [episode], read);
    // log π − log π_ref is 1 at the second token.
    expect(found!.returns).toEqual([5, 5, 0, 0, 4]);
    const worse = { ...episode, rewards: [0, 0], sequences: [{ ...sequence! }] };
    const readFirst = (one: typeof sequence) => (one === sequence ? { ...one!, referenceLogp } : one!);
    const rloo = credit({ kind: 'rloo', kl: 2 }, [episode, worse], readFirst);
    expect(rloo.map(({ advantages }) => advantages)).toEqual([4, -4]);
  });
});

describe('the reward assignment', () => {
  const credit = (
    assignment: 'return' | 'to-go',
    episodes: readonly Episode[],
    { gamma = 1, invalid = 0 } = {},
  ) => {
    const reward = { ...plain, gamma, invalid, assignment };
    return assignCredit([episodes], returnsOf([episodes], reward, 0), (one) => one, {
      objective: objectiveSchema.parse({ kind: 'grpo' }),
      advantages: 'none',
      reward,
    }).map(({ advantages }) => advantages);
  };
  const earning = (rewards: readonly number[]): Episode => ({ ...episode, rewards, valid: [true, true] });
  /** Ends after the first turn. */
  const short: Episode = {
    ...earning([1]),
    ends: [2],
    sequences: [{ ...sequence!, completionIds: [3, 4], trained: [true, true], samplerLogp: [-3, -4] }],
  };

  it('`to-go` compares the rewards of a turn and later ones between episodes that reached the turn', () => {
    const [first, second] = credit('to-go', [earning([2, 4]), earning([0, 0])]);
    expect(first).toEqual([3, 3, 0, 0, 2]);
    expect(second).toEqual([-3, -3, 0, 0, -2]);
    // No other episode reached the second turn, so it teaches nothing.
    const [alone, ended] = credit('to-go', [earning([2, 4]), short]);
    expect(alone).toEqual([2.5, 2.5, 0, 0, 0]);
    expect(ended).toEqual([-2.5, -2.5]);
    expect(credit('to-go', [earning([2, 4]), earning([0, 0])], { gamma: 0.5 })[0]).toEqual([2, 2, 0, 0, 2]);
    const three = { ...earning([1, 2, 4]), ends: [1, 2, 3], valid: [true, true, false] };
    const none = { ...three, rewards: [0, 0, 0], valid: [true, true, true] };
    expect(credit('to-go', [three, none], { invalid: -2 })[0]).toEqual([2.5, 2, 0, 0, 1]);
  });

  it('`to-go` distinguishes turns that `return` credits equally', () => {
    const episodes = [earning([0, 4]), earning([4, 0])];
    expect(credit('return', episodes)).toEqual([0, 0]);
    expect(credit('to-go', episodes)).toEqual([
      [0, 0, 0, 0, 2],
      [0, 0, 0, 0, -2],
    ]);
  });

  it('`to-go` gives advantages of exactly 0 for equal rewards', () => {
    expect(credit('to-go', [earning([0.1, 0.2]), earning([0.1, 0.2])]).flat()).toEqual(Array(10).fill(0));
  });
});

describe('the figures of an update', () => {
  const returnsIn = (...groups: readonly (readonly number[])[]) =>
    episodeStatistics(
      groups.map((group) => group.map(() => episode)),
      groups,
    );

  it('have no spread if returns are equal within each group', () => {
    const equal = [100, 100, 100, 100];
    const figures = { reward: 100, lowest: 100, highest: 100, spread: 0, flat: 1 };
    expect(returnsIn(equal, equal, equal, equal)).toMatchObject(figures);
    expect(returnsIn([1, 1], [5, 5], [9, 9]).spread).toBe(0);
  });

  it('average the standard deviations within the groups', () => {
    const { spread, flat } = returnsIn([0, 2], [10, 10], [1, 2, 3]);
    expect(spread).toBeCloseTo((Math.SQRT2 + 0 + 1) / 3, 12);
    expect(flat).toBeCloseTo(1 / 3, 12);
  });
});
