import fc from 'fast-check';
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

/** The definition, by matrices, from the names of the parameters alone. */
function byNames(names: readonly string[], values: readonly number[], widths: readonly number[]) {
  const find = (name: string) => values[names.indexOf(name)]!;
  const activation = Math.tanh;
  return (observation: readonly number[]) => {
    let inputs = observation;
    for (let l = 1; l < widths.length; l++) {
      const last = l === widths.length - 1;
      const from = (i: number) => (l === 1 ? `observation[${i}]` : `unit ${i}`);
      const to = (j: number) => (last ? `action[${j}]` : `unit ${j}`);
      inputs = Array.from({ length: widths[l]! }, (_, j) => {
        const sum = inputs.reduce(
          (total, input, i) => total + input * find(`layer ${l}: weight of ${from(i)} for ${to(j)}`),
          find(`layer ${l}: bias of ${to(j)}`),
        );
        return last ? sum : activation(sum);
      });
    }
    return inputs;
  };
}

const width = fc.integer({ min: 1, max: 4 });
const value = fc.double({ min: -6, max: 6, noNaN: true });

describe('networks', () => {
  it('compute the function that their parameter names describe, for any shape', () => {
    fc.assert(
      fc.property(
        width,
        fc.array(width, { minLength: 1, maxLength: 3 }),
        width,
        fc.infiniteStream(value),
        (n, hidden, m, stream) => {
          const family = createPolicyFamily(network({ hidden }), withSpaces(box(n), box(m)));
          const draw = () => stream.next().value as number;
          const vector = Array.from({ length: family.parameters.count }, draw);
          const observation = Array.from({ length: n }, draw);
          const expected = byNames(family.parameters.names!, vector, [n, ...hidden, m])(observation);
          const action = family.build(vector)(observation) as readonly number[];
          expect(action).toHaveLength(m);
          for (const [a, one] of action.entries()) expect(one).toBeCloseTo(expected[a]!, 9);
        },
      ),
    );
  });

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
  });

  it('scale a negative sum by 0.2 with leaky-relu, and set it to 0 with relu', () => {
    const act = (activation: MlpConfig['activation']) =>
      createPolicyFamily(network({ hidden: [1], activation }), withSpaces(box(1), box(1))).build([
        1, 0, 1, 0,
      ])([-2]);
    expect(act('leaky-relu')).toEqual([-0.4]);
    expect(act('relu')).toEqual([0]);
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

  it('refuse too many weights, with the maximum and a hint', () => {
    const problem = refusal(network({ hidden: [100, 100] }), box(17), box(6));
    expect(problem).toMatchObject({ field: 'policy.hidden', value: [100, 100] });
    expect(problem.message).toBe('this network would have 12506 weights and biases; the maximum is 5000');
    expect(problem.hint).toMatch(/fewer hidden units.*projection.*finetune rl/);
    const projected = createPolicyFamily(
      network({ hidden: [100], projection: { rank: 4, seed: 0 } }),
      withSpaces(box(17), box(6)),
    );
    expect(projected.parameters.count).toBe(4);
    expect(
      refusal(network({ hidden: [1000], projection: { rank: 4, seed: 0 } }), box(17), box(6)).message,
    ).toMatch(/24006 weights and biases; the maximum is 20000 with policy\.projection/);
  });

  it('refuse discrete observations, and suggest q-table', () => {
    const expected = { field: 'policy.kind', value: 'mlp', alternatives: ['q-table'] };
    expect(refusal(network(), discrete(16), discrete(4))).toMatchObject(expected);
  });
});
