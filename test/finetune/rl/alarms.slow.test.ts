import { describe, expect, it } from 'vitest';
import type { OpenedLearning } from '../../../finetune/rl/assemble.js';
import type { Episode } from '../../../finetune/rl/learning/episode.js';
import { policyChecks, watchFor } from '../../../finetune/train/alarms.js';
import type { Alarm, PolicyStep, TrainingEvent } from '../../../finetune/train/events.js';
import { learnt, tinyConfig } from './tiny-learning.js';

const bandit = { environment: 'bandit', updates: 24, groups: 4, groupSize: 16, learningRate: 1e-2 };

/** The alarms that these events raise, with their steps. */
function raised(events: readonly TrainingEvent[], compares = true) {
  const watch = watchFor(policyChecks(compares));
  return events.flatMap((event) => watch(event).map((alarm) => ({ step: event.step, ...alarm })));
}

/** The alarms of a learning, in their order. */
async function alarmsOf(written: object, change?: (learning: OpenedLearning) => OpenedLearning) {
  const config = tinyConfig(written);
  const { events } = await learnt(config, {}, change);
  return raised(events, config.objective.kind !== 'ppo');
}

const figures = { totalSteps: 30, episodes: 1, mismatch: 0, valid: 1, flat: 0 };
const stepsOf = (each: readonly object[]) =>
  each.map((one, i) => ({ kind: 'step', step: i + 1, ...figures, ...one }) as unknown as PolicyStep);

/** Episodes as they would be with something else about them. */
const changed =
  (change: (episode: Episode) => Partial<Episode>) =>
  (learning: OpenedLearning): OpenedLearning => ({
    ...learning,
    task: {
      ...learning.task,
      play: async (...given) =>
        (await learning.task.play(...given)).map((group) =>
          group.map((episode) => ({ ...episode, ...change(episode) })),
        ),
    },
  });

const earning = (reward: (episode: Episode) => number) =>
  changed((episode) => ({ rewards: episode.rewards.map(() => reward(episode)) }));

const names = (alarms: readonly Alarm[]) => alarms.map(({ alarm }) => alarm);

describe('alarms', () => {
  it('are not raised while a run learns well', async () => {
    const { best, events } = await learnt(
      tinyConfig({ ...bandit, updates: 40, groupSize: 32, learningRate: 5e-2 }),
    );
    expect(best!.meanReward).toBeGreaterThan(0.95);
    expect(raised(events)).toEqual([]);
  });

  it('no variance: raised once, with a hint, when all episodes earn the same', async () => {
    const alarms = await alarmsOf(
      bandit,
      earning(() => 0),
    );
    expect(alarms).toEqual([
      expect.objectContaining({
        alarm: 'no-variance',
        step: 10,
        hint: expect.stringMatching(/groupSize/),
      }),
    ]);
  });

  it('no variance: not raised for PPO, whose value function needs no groups', async () => {
    const ppo = { ...bandit, objective: { kind: 'ppo' }, groups: 16, groupSize: 1, updates: 12 };
    expect(names(await alarmsOf(ppo))).not.toContain('no-variance');
  });

  it('entropy collapse: raised when a policy stops exploring although better returns were seen', async () => {
    // What is earned most is earned once: an early fluke shows that there is more to get.
    let played = 0;
    const fluke = changed(({ rewards }) => ({ rewards: played++ === 3 ? [10] : rewards }));
    const alarms = await alarmsOf({ ...bandit, updates: 30, groupSize: 32, learningRate: 5e-2 }, fluke);
    expect(names(alarms)).toContain('entropy-collapse');
    expect(alarms.find(({ alarm }) => alarm === 'entropy-collapse')!.hint).toMatch(/learning rate|entropy/);
  });

  it('entropy collapse: detected by the fifth update', () => {
    const entropies = [0.62, 0.4, 0.04, ...Array.from({ length: 12 }, () => 0.02)];
    const usual = { flat: 1, reward: 9, lowest: 8, highest: 20, replyTokens: 2 };
    const alarms = raised(stepsOf(entropies.map((entropy) => ({ ...usual, entropy }))), false);
    expect(alarms.find(({ alarm }) => alarm === 'entropy-collapse')!.step).toBe(5);
  });

  it('mismatch: raised when the sampler’s probabilities differ from the trainer’s', async () => {
    const noisy = changed(({ sequences }) => ({
      sequences: sequences.map((one) => ({ ...one, samplerLogp: one.samplerLogp.map((logp) => logp - 0.5) })),
    }));
    const written = { ...bandit, updates: 10, learningRate: 1e-6 };
    const [alarm] = await alarmsOf(written, noisy);
    expect(alarm).toMatchObject({ alarm: 'mismatch', hint: expect.stringMatching(/method\.quantization/) });
    expect(names(await alarmsOf(written))).not.toContain('mismatch');
  });

  it('format loss: raised when replies become unreadable or were never readable', async () => {
    // Half of the replies could be read at first, and these cost something.
    const readable = ({ sequences }: Episode) => sequences[0]!.completionIds[0]! % 2 === 1;
    const judged = (price: number) =>
      changed((episode) => ({ valid: [readable(episode)], rewards: [readable(episode) ? price : 0] }));
    const alarms = await alarmsOf({ ...bandit, updates: 40 }, judged(-1));
    expect(alarms.find(({ alarm }) => alarm === 'format-loss')).toMatchObject({
      message: expect.stringMatching(/\d %.*\d\d %/),
      hint: expect.stringMatching(/reward\.invalid/),
    });
    expect(names(await alarmsOf({ ...bandit, updates: 40 }, judged(1)))).not.toContain('format-loss');
    const never = await alarmsOf(
      { ...bandit, updates: 10 },
      changed(() => ({ valid: [false] })),
    );
    expect(never.find(({ alarm }) => alarm === 'format-loss')!.message).toMatch(/repl/);
  });

  it('length drift: raised when replies get shorter or longer', async () => {
    const talkative = {
      ...bandit,
      updates: 40,
      learningRate: 2e-2,
      agent: { maxTokens: 24, fallback: 'end' },
    };
    const short = await alarmsOf(
      talkative,
      earning(({ tokens }) => -tokens),
    );
    expect(short.find(({ alarm }) => alarm === 'length-drift')).toMatchObject({
      message: expect.stringMatching(/tokens.*\d+\.\d/),
      hint: expect.stringMatching(/dr_grpo/),
    });
    const same = await alarmsOf(
      talkative,
      earning(({ tokens }) => tokens),
    );
    expect(names(same)).not.toContain('length-drift');
    const usual = { reward: 0.5, lowest: 0, highest: 1, entropy: 1 };
    const longer = Array.from({ length: 30 }, (_, i) => ({ ...usual, replyTokens: 6 + 2 * i }));
    expect(raised(stepsOf(longer))).toEqual([
      expect.objectContaining({ alarm: 'length-drift', hint: expect.stringMatching(/maxTokens/) }),
    ]);
  });
});
