import { describe, expect, it } from 'vitest';
import { createAlarmWatch, policyChecks } from '../../../finetune/train/alarms.js';
import type { PolicyStep } from '../../../finetune/train/events.js';

/** A run that learns well. */
const usual = {
  kind: 'step',
  flat: 0,
  reward: 0.5,
  lowest: 0,
  highest: 1,
  entropy: 1,
  mismatch: 0,
  valid: 1,
  replyTokens: 10,
};

/** The alarms of a run whose updates differ from the usual ones in these figures. */
function raised(updates: number, figures: (update: number) => object, compares = true) {
  const watch = createAlarmWatch(policyChecks(compares));
  return Array.from({ length: updates }, (_, i) => i + 1).flatMap((step) =>
    watch({ ...usual, step, ...figures(step) } as unknown as PolicyStep).map((alarm) => ({ step, ...alarm })),
  );
}

describe('alarms of reinforcement learning', () => {
  it('are not raised while a run learns well, or when it has solved its task', () => {
    expect(raised(40, (update) => ({ reward: update / 40, entropy: 1 / update }))).toEqual([]);
    expect(raised(40, () => ({ reward: 1, flat: 1, entropy: 0.01 }))).toEqual([]);
  });

  it('report missing variance once, with a hint, but not with a value head', () => {
    const found = raised(24, () => ({ flat: 1, reward: 0, highest: 0 }));
    expect(found).toMatchObject([
      { step: 10, alarm: 'no-variance', hint: expect.stringMatching(/groupSize/) },
    ]);
    // A value head needs no groups.
    expect(raised(24, () => ({ flat: 1, reward: 0, highest: 0 }), false)).toEqual([]);
  });

  it('report an entropy collapse within five updates, although better returns were seen', () => {
    const entropies = [0.62, 0.4, 0.04];
    const found = raised(15, (update) => ({ flat: 1, entropy: entropies[update - 1] ?? 0.02 }), false);
    expect(found).toMatchObject([
      { step: 5, alarm: 'entropy-collapse', hint: expect.stringMatching(/learning rate/) },
    ]);
  });

  it("report a mismatch when the sampler's probabilities differ from the trainer's", () => {
    const found = raised(10, () => ({ mismatch: 0.1 }));
    expect(found).toMatchObject([{ alarm: 'mismatch', hint: expect.stringMatching(/method\.quantization/) }]);
  });

  it('report a format loss when replies become unreadable or were never readable', () => {
    const found = raised(40, (update) => ({ valid: update > 10 ? 0.2 : 1 }));
    expect(found).toMatchObject([
      {
        alarm: 'format-loss',
        message: expect.stringMatching(/\d %.*100 %/),
        hint: expect.stringMatching(/invalid/),
      },
    ]);
    expect(raised(10, () => ({ valid: 0 }))).toMatchObject([{ alarm: 'format-loss' }]);
  });

  it('are raised again only if their problem goes away and comes back', () => {
    const found = raised(60, (update) => ({ mismatch: update > 20 && update < 40 ? 0 : 0.1 }));
    expect(found.map(({ alarm }) => alarm)).toEqual(['mismatch', 'mismatch']);
  });
});
