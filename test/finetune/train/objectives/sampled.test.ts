/** The weights of an update's completions, and of answers and preferences. */
import { expect, it } from 'vitest';
import type { TokenExample } from '../../../../finetune/engine/batch.js';
import { policyObjective } from '../../../../finetune/train/objectives/policy.js';
import { type RlExample, sequenceMean, tokenMean } from '../../../../finetune/train/objectives/sampled.js';
import { objectiveSchema } from '../../../../finetune/train/objectives/settings.js';
import { dpoInputs, sftInputs } from '../../../../finetune/train/objectives/supervised.js';

const of = (tokens: number, more: Partial<RlExample> = {}): RlExample => ({
  promptIds: [1],
  completionIds: Array.from({ length: tokens }, () => 2),
  advantages: 0.5,
  ...more,
});
const update = [of(3), of(5, { trained: [true, false, true, false, true] })];

it('tokenMean weights all trained tokens equally, and sequenceMean weights all completions equally', () => {
  expect(update.map(tokenMean(update))).toEqual([1 / 6, 1 / 6]);
  expect([of(1), of(0)].map((one) => tokenMean([one])(one))).toEqual([1, 1]);
  expect(update.map(sequenceMean(update))).toEqual([1 / 6, 1 / 6]);
  expect([of(4), of(1)].map(sequenceMean([of(4), of(1)]))).toEqual([1 / 8, 1 / 2]);
});

/** The inputs of the first completion. */
function inputsOf(written: object, more: Partial<RlExample> = {}, progress = 0, reused = false) {
  const settings = objectiveSchema.parse({ maxImportance: 0, ...written });
  const context = { temperature: 1, reused, maxCompletionTokens: 10 };
  const first = { ...update[0]!, ...more };
  return policyObjective(settings, context).inputs([first, update[1]!], progress)(first);
}

it.each<readonly [object, Partial<RlExample>, object]>([
  [{ kind: 'reinforce' }, {}, { weights: 1 / 2 }],
  [{ kind: 'rloo' }, { oldLogp: [7] }, { weights: 1 / 6, old_logp: [7] }],
  [{ kind: 'grpo', variant: 'dr_grpo' }, { oldLogp: [7] }, { weights: 1 / 20, old_logp: [7] }],
  [
    { kind: 'grpo', kl: 1, maxImportance: 0.5 },
    { oldLogp: [7], samplerLogp: [8], referenceLogp: [9] },
    { weights: 1 / 6, old_logp: [7], sampler_logp: [8], reference_logp: [9] },
  ],
  [
    { kind: 'ppo' },
    { oldLogp: [7], returns: [8], oldValues: [9] },
    { weights: 1 / 6, old_logp: [7], returns: [8], old_values: [9] },
  ],
])('the objective %j requires exactly these optional inputs: %j', (written, given, inputs) => {
  expect(inputsOf(written, given, 0, true)).toEqual({ advantages: 0.5, ...inputs });
  for (const name of Object.keys(given))
    expect(() => inputsOf(written, { ...given, [name]: undefined }, 0, true)).toThrow(`no ${name}`);
});

it('all trained tokens share a bonus for entropy, which follows its schedule', () => {
  const bonus = (entropy: number | { from: number; to: number }, progress: number) =>
    inputsOf({ kind: 'reinforce', entropy }, {}, progress).entropy_weights;
  expect(bonus(1, 0)).toBeCloseTo(1 / 6, 12);
  expect(bonus({ from: 0.3, to: 0.9 }, 0.5)).toBeCloseTo(0.1, 12);
  expect(bonus(0, 0)).toBeUndefined();
});

it('examples and preference pairs are weighted so that the loss is a mean', () => {
  const answer = (tokens: number, weight: number, more: Partial<TokenExample> = {}) =>
    ({ ...of(tokens), weight, ...more }) as TokenExample;
  const examples = [answer(3, 2), answer(3, -2, { factors: [1, 2, 0.5] })];
  const weights = examples.map((one) => sftInputs(examples)(one).weights);
  expect(weights).toEqual([2 / 13, [-2 / 13, -4 / 13, -1 / 13]]);
  const pairs = [
    [answer(2, 2), answer(3, 2)],
    [answer(1, -1), answer(1, -1)],
  ] as const;
  const compared = new Map(
    pairs.flatMap(([chosen, other]) => [
      [chosen, { isChosen: true, referenceLogp: [4] }],
      [other, { isChosen: false, referenceLogp: [5] }],
    ]),
  );
  expect(pairs.flat().map(dpoInputs(pairs, compared))).toEqual([
    { weights: 2 / 15, signs: 1, reference_logp: [4] },
    { weights: 2 / 15, signs: -1, reference_logp: [5] },
    { weights: -1 / 6, signs: 1, reference_logp: [4] },
    { weights: -1 / 6, signs: -1, reference_logp: [5] },
  ]);
});
