import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import type { MlpConfig } from '../../src/policies/settings.js';
import { box, discrete, withSpaces } from '../support/fixed-environment.js';

const network = (config: Partial<MlpConfig> = {}): MlpConfig => ({
  kind: 'mlp',
  hidden: [3],
  activation: 'tanh',
  low: -6,
  high: 6,
  decimals: 1,
  ...config,
});

describe('networks', () => {
  it('are laid out layer by layer: weights row by row, then biases', () => {
    const family = createPolicyFamily(
      network({ hidden: [2], activation: 'relu' }),
      withSpaces(box(2), box(1)),
    );
    // W1 = [[1, 2], [3, 4]], b1 = [0.5, -100], W2 = [[10], [20]], b2 = [0.25]; the second unit is off.
    const policy = family.build([1, 2, 3, 4, 0.5, -100, 10, 20, 0.25]);
    expect(policy([1, 2])).toEqual([10 * (1 + 6 + 0.5) + 0.25]);
    expect(family.parameters.names?.slice(0, 5)).toEqual([
      'layer 1: weight of observation[0] for unit 0',
      'layer 1: weight of observation[0] for unit 1',
      'layer 1: weight of observation[1] for unit 0',
      'layer 1: weight of observation[1] for unit 1',
      'layer 1: bias of unit 0',
    ]);
    expect(family.parameters.names?.at(-1)).toBe('layer 2: bias of action[0]');
    // Two hidden layers, of two units and of one.
    const deep = createPolicyFamily(network({ hidden: [2, 1] }), withSpaces(box(1), box(2)));
    const unit = Math.tanh(0.5 * Math.tanh(0.3 + 0.1) - 0.25 * Math.tanh(2 * 0.3 + 0.4) + 0.6);
    const action = deep.build([1, 2, 0.1, 0.4, 0.5, -0.25, 0.6, 6, 7, 8, 9])([0.3]) as readonly number[];
    expect(action).toEqual([expect.closeTo(6 * unit + 8, 12), expect.closeTo(7 * unit + 9, 12)]);
    const names = ['weight of unit 0 for unit 0', 'weight of unit 1 for unit 0', 'bias of unit 0'];
    expect(deep.parameters.names?.slice(4, 7)).toEqual(names.map((name) => `layer 2: ${name}`));
  });

  it('scale a negative sum by 0.2 with leaky-relu, and set it to 0 with relu', () => {
    const act = (activation: MlpConfig['activation']) =>
      [[-2], [0.5]].map(
        createPolicyFamily(network({ hidden: [1], activation }), withSpaces(box(1), box(1))).build([
          1, 0, 1, 0,
        ]),
      );
    expect(act('leaky-relu')).toEqual([[-0.4], [0.5]]);
    expect(act('relu')).toEqual([[0], [0.5]]);
  });

  it('take the first action on ties, and number actions from `start`', () => {
    const family = createPolicyFamily(network(), withSpaces(box(2), discrete(3, 5)));
    const zeros = Array<number>(family.parameters.count).fill(0);
    expect(family.build(zeros)([1, 1])).toBe(5);
    expect(family.build([...zeros.slice(0, -1), 1])([1, 1])).toBe(7);
  });

  const refusal = (config: MlpConfig, ...spaces: Parameters<typeof withSpaces>) => {
    try {
      createPolicyFamily(config, withSpaces(...spaces));
    } catch (error) {
      if (error instanceof UserError) return error.problems[0]!;
    }
    throw new Error('was accepted');
  };

  it('reject too many weights, with the maximum and a hint', () => {
    const problem = refusal(network({ hidden: [100, 100] }), box(17), box(6));
    expect(problem).toMatchObject({ field: 'policy.hidden', value: [100, 100] });
    expect(problem.message).toBe('this network would have 12506 weights and biases; the maximum is 5000');
    expect(problem.hint).toMatch(/fewer hidden units.*projection.*finetune rl/);
    const count = (config: MlpConfig, ...spaces: Parameters<typeof withSpaces>) =>
      createPolicyFamily(config, withSpaces(...spaces)).parameters.count;
    const projection = { rank: 4, seed: 0 };
    expect(count(network({ hidden: [100], projection }), box(17), box(6))).toBe(4);
    expect(count(network({ hidden: [555] }), box(3), box(5))).toBe(5000);
    const projected = refusal(network({ hidden: [1000], projection }), box(17), box(6));
    expect(projected.message).toMatch(
      /24006 weights and biases; the maximum is 20000 with policy\.projection/,
    );
    expect(refusal(network({ hidden: [2221] }), box(3), box(5)).hint).toContain('projection');
    const large = refusal(network({ hidden: [1000] }), box(17), box(6));
    for (const { hint } of [projected, large]) expect(hint).not.toContain('projection');
  });
});
