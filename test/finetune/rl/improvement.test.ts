import { describe, expect, it } from 'vitest';
import { initialState } from '../../../finetune/engine/checkpoint.js';
import { runUpdate, type UpdateSessions } from '../../../finetune/rl/improvement.js';
import { type LearningSettings, learningSettings } from '../../../finetune/rl/learning/settings.js';
import { policyObjective } from '../../../finetune/train/objectives/policy.js';
import type { RlExample } from '../../../finetune/train/objectives/sampled.js';
import { objectiveSchema } from '../../../finetune/train/objectives/settings.js';

const objective = objectiveSchema.parse({
  kind: 'reinforce',
  maxImportance: 0,
  entropy: { from: 0.4, to: 0.2 },
});
const context = { temperature: 1, reused: false, maxCompletionTokens: 1 };
const settings = (more: Partial<LearningSettings>): LearningSettings => ({
  ...learningSettings.parse({ model: 'm', objective, updates: 1, learningRate: 1e-9, seed: 3 }),
  ...more,
});
const sequences = Array.from(
  { length: 9 },
  (_, i): RlExample => ({ promptIds: [100 + i], completionIds: [i], advantages: 1, samplerLogp: [-1] }),
);

/** The targets and entropy weights of each step. */
async function steps(more: Partial<LearningSettings>, some = sequences) {
  const seen: { readonly targets: readonly number[]; readonly bonus: number }[] = [];
  let rest: number[] = [];
  const training: UpdateSessions['training'] = {
    async run(_, batch) {
      const targets = [...batch.targets!.values];
      rest.push(...targets);
      const bonus = [...batch.entropy_weights!.values].reduce((sum, weight) => sum + weight, 0);
      seen.push({ targets: rest.toSorted((a, b) => a - b), bonus });
      rest = [];
      const numbers = Float64Array.from(targets, () => -1);
      return { loss: 0, logp: numbers, outputs: { entropy: numbers }, gradients: new Map() };
    },
    close: async () => undefined,
  };
  const given = settings({ ...more, batchTokens: 10_000 });
  await runUpdate(
    { training, reading: undefined, close: training.close },
    policyObjective(objective, context),
    initialState([]),
    some,
    given,
  );
  return seen;
}

describe('an update', () => {
  it('trains on all replies in each epoch', async () => {
    const found = await steps({ epochs: 2 });
    expect(found.map(({ targets }) => targets)).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7, 8],
      [0, 1, 2, 3, 4, 5, 6, 7, 8],
    ]);
  });

  it('with minibatches uses each reply once per epoch, in a different order in the next epoch', async () => {
    const found = (await steps({ epochs: 2, minibatches: 3 })).map(({ targets }) => targets);
    expect(found.map(({ length }) => length)).toEqual([3, 3, 3, 3, 3, 3]);
    const [one, other] = [found.slice(0, 3), found.slice(3)];
    for (const epoch of [one, other]) expect(epoch.flat().toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(other).not.toEqual(one);
  });

  it('uses all replies in every step when there are fewer replies than minibatches', async () => {
    const found = await steps({ minibatches: 4 }, sequences.slice(0, 3));
    expect(found.map(({ targets }) => targets)).toEqual(Array(4).fill([0, 1, 2]));
  });

  it('changes the entropy bonus linearly over training', async () => {
    const bonuses = (await steps({ epochs: 10 })).map(({ bonus }) => bonus);
    const expected = [0.4, 0.38, 0.36, 0.34, 0.32, 0.3, 0.28, 0.26, 0.24, 0.22];
    bonuses.forEach((bonus, step) => {
      expect(bonus).toBeCloseTo(expected[step]!, 12);
    });
  });
});
